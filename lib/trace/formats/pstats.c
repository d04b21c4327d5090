/* cProfile's dumps: marshal of {(file, line, function): (primitive calls, calls, seconds in it, seconds with what it
 * called, {caller: the same four, or a number of calls})}. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "trace/formats/marshal.h"
#include "trace/formats/smdebug_names.h"
#include "trace/formats/python_profile.h"

static int probe_pstats(const struct gt_trace_probe *probe)
{
    if (probe->length < 2 || (probe->head[0] & 0x7f) != '{')
        return 0;
    char second = probe->head[1] & 0x7f;
    return second == '(' || second == ')' ? 90 : second == '0' && probe->length == 2 ? 90 : 0;
}

static const struct gt_marshal_value *child(const struct gt_marshal *marshal, const struct gt_marshal_value *of,
                                            uint32_t i)
{
    return &marshal->value[marshal->child[of->first + i]];
}

static bool read_number(const struct gt_marshal_value *value, double *ret)
{
    *ret = value->type == GT_MARSHAL_INTEGER ? (double)value->integer : value->number;
    return value->type == GT_MARSHAL_INTEGER || value->type == GT_MARSHAL_DOUBLE;
}

static int64_t read_function(struct gt_profile_maker *maker, const struct gt_marshal *marshal,
                             const struct gt_marshal_value *key)
{
    if (key->type != GT_MARSHAL_TUPLE || key->count != 3)
        return -EBADMSG;
    const struct gt_marshal_value *file = child(marshal, key, 0), *line = child(marshal, key, 1),
                                  *name = child(marshal, key, 2);
    if (file->type != GT_MARSHAL_TEXT || line->type != GT_MARSHAL_INTEGER || name->type != GT_MARSHAL_TEXT)
        return -EBADMSG;
    return gt_profile_function(maker, file->text, line->integer, name->text);
}

struct four {
    int64_t primitive, total;
    double total_time, cumulative_time;
};

static bool read_four(const struct gt_marshal *marshal, const struct gt_marshal_value *value, struct four *ret)
{
    if (value->type == GT_MARSHAL_INTEGER) { /* of old profilers: calls alone */
        *ret = (struct four){-1, value->integer, NAN, NAN};
        return true;
    }
    if (value->type != GT_MARSHAL_TUPLE || value->count < 4)
        return false;
    const struct gt_marshal_value *primitive = child(marshal, value, 0), *total = child(marshal, value, 1);
    ret->primitive = primitive->integer;
    ret->total = total->integer;
    return primitive->type == GT_MARSHAL_INTEGER && total->type == GT_MARSHAL_INTEGER &&
           read_number(child(marshal, value, 2), &ret->total_time) &&
           read_number(child(marshal, value, 3), &ret->cumulative_time);
}

static int read_callers(struct gt_profile_maker *maker, const struct gt_marshal *marshal,
                        const struct gt_marshal_value *callers)
{
    for (uint32_t i = 0; i + 1 < callers->count; i += 2) {
        int64_t function = read_function(maker, marshal, child(marshal, callers, i));
        struct four four;
        if (function < 0)
            return (int)function;
        if (!read_four(marshal, child(marshal, callers, i + 1), &four))
            return -EBADMSG;
        struct gt_trace_caller *caller = GT_GROW(maker, caller);
        if (!caller)
            return -ENOMEM;
        *caller = (struct gt_trace_caller){(uint32_t)function, four.primitive, four.total, four.total_time,
                                           four.cumulative_time};
    }
    return 0;
}

static int take_entry(struct gt_profile_maker *maker, const struct gt_marshal *marshal, uint32_t key, uint32_t value)
{
    const struct gt_marshal_value *about = &marshal->value[value];
    struct four four;
    if (about->type != GT_MARSHAL_TUPLE || about->count != 5 || !read_four(marshal, about, &four) ||
        child(marshal, about, 4)->type != GT_MARSHAL_DICT)
        return -EBADMSG;
    int64_t number = read_function(maker, marshal, &marshal->value[key]);
    if (number < 0)
        return (int)number;
    uint32_t first = (uint32_t)maker->caller_count;
    int status = read_callers(maker, marshal, child(marshal, about, 4));
    if (status < 0)
        maker->caller_count = first;
    struct gt_trace_function *function = &maker->function[number];
    function->primitive_calls = four.primitive;
    function->total_calls = four.total;
    function->total_time = four.total_time;
    function->cumulative_time = four.cumulative_time;
    function->caller = first;
    function->callers = (uint32_t)maker->caller_count - first;
    return status;
}

/* Entry by entry, so that a dump that is cut off gives those before. */
static int take_entries(struct gt_profile_maker *maker, struct gt_marshal *marshal, struct gt_trace_file *file,
                        const unsigned char *bytes)
{
    int status = gt_marshal_enter_dict(marshal);
    while (status >= 0) {
        uint64_t place = (uint64_t)(marshal->at - bytes);
        int64_t key = gt_marshal_next(marshal);
        if (key >= 0 && marshal->value[key].type == GT_MARSHAL_END)
            return 0;
        int64_t value = key < 0 ? key : gt_marshal_next(marshal);
        if (value == -EBADMSG) {
            file->damage.cut_off = true;
            file->damage.lost_bytes += (uint64_t)(marshal->end - bytes) - place;
            gt_damage_note(&file->damage, place, "the dump ends or is damaged here");
            return 0;
        }
        status = value < 0 ? (int)value : take_entry(maker, marshal, (uint32_t)key, (uint32_t)value);
        if (status == -EBADMSG) {
            file->damage.bad_events++;
            gt_damage_note(&file->damage, place, "no function and its times");
            status = 0;
        }
        file->read += status >= 0;
    }
    return status;
}

static int read_pstats(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    struct gt_profile_maker maker = {.reading = reading};
    struct gt_trace_file *file = gt_reading_file(reading);
    struct gt_marshal marshal;
    char *bytes = NULL;
    size_t length = 0;
    int status = gt_python_profile_bytes(reading, path, &bytes, &length, error);
    if (status < 0)
        return status;
    gt_marshal_open(&marshal, bytes, length);
    status = take_entries(&maker, &marshal, file, (const unsigned char *)bytes);
    gt_marshal_close(&marshal);
    struct gt_trace_profile *profile = status < 0 ? NULL : gt_reading_profile(reading);
    if (status >= 0)
        status = profile ? gt_names_profile(reading, path, profile) : -ENOMEM;
    if (status >= 0) {
        profile->profiler = GT_PROFILER_CPROFILE;
        status = gt_profile_finish(&maker, profile);
    }
    gt_profile_release(&maker);
    free(bytes);
    return status;
}

const struct gt_trace_format gt_trace_pstats = {
    .name = "pstats",
    .help = "cProfile dumps: python_stats of SMDebug, .prof and .pstats files",
    .probe = probe_pstats,
    .read = read_pstats,
};
