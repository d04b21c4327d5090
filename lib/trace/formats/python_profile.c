/* Profiles of Python programs: cProfile's dumps and pyinstrument's JSON. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/json.h"
#include "trace/formats/smdebug.h"
#include "trace/input/pickle.h"
#include "trace/profile_maker.h"

enum { MOST_BYTES = 256 << 20 };

/* ---- cProfile ----
 * cProfile's dumps: marshal of {(file, line, function): (primitive calls, calls, seconds in it, seconds with what it
 * called, {caller: (calls, primitive calls, and the same times), or a number of calls})}. */

static int probe_pstats(const struct gt_trace_probe *probe)
{
    if (probe->length < 2 || (probe->head[0] & 0x7f) != '{')
        return 0;
    char second = probe->head[1] & 0x7f;
    return second == '(' || second == ')' ? 90 : second == '0' && probe->length == 2 ? 90 : 0;
}

static bool is_kind(const struct gt_pickle_value *value, enum gt_pickle_kind kind)
{
    return value && value->kind == kind;
}

static bool read_number(const struct gt_pickle_value *value, double *ret)
{
    bool is_integer = is_kind(value, GT_PICKLE_INTEGER);
    *ret = is_integer ? (double)value->integer : is_kind(value, GT_PICKLE_FLOAT) ? value->number : NAN;
    return is_integer || is_kind(value, GT_PICKLE_FLOAT);
}

static int64_t read_function(struct gt_profile_maker *maker, const struct gt_pickle_value *key)
{
    const struct gt_pickle_value *file = gt_pickle_item(key, 0), *line = gt_pickle_item(key, 1),
                                 *name = gt_pickle_item(key, 2);
    if (!is_kind(file, GT_PICKLE_TEXT) || !is_kind(line, GT_PICKLE_INTEGER) || !is_kind(name, GT_PICKLE_TEXT) ||
        key->count != 3)
        return -EBADMSG;
    return gt_profile_function(maker, (struct gt_span){file->text, file->length}, line->integer,
                               (struct gt_span){name->text, name->length});
}

struct four {
    int64_t primitive, total;
    double total_time, cumulative_time;
};

static bool read_four(const struct gt_pickle_value *value, struct four *ret)
{
    if (is_kind(value, GT_PICKLE_INTEGER)) { /* of old profilers: calls alone */
        *ret = (struct four){-1, value->integer, NAN, NAN};
        return true;
    }
    const struct gt_pickle_value *primitive = gt_pickle_item(value, 0), *total = gt_pickle_item(value, 1);
    if (!is_kind(primitive, GT_PICKLE_INTEGER) || !is_kind(total, GT_PICKLE_INTEGER))
        return false;
    ret->primitive = primitive->integer;
    ret->total = total->integer;
    return read_number(gt_pickle_item(value, 2), &ret->total_time) &&
           read_number(gt_pickle_item(value, 3), &ret->cumulative_time);
}

static int read_callers(struct gt_profile_maker *maker, const struct gt_pickle_value *callers)
{
    for (uint32_t i = 0; i + 1 < callers->count; i += 2) {
        int64_t function = read_function(maker, callers->item[i]);
        struct four four;
        if (function < 0)
            return (int)function;
        if (!read_four(callers->item[i + 1], &four))
            return -EBADMSG;
        struct gt_trace_caller *caller = GT_GROW(maker, caller);
        if (!caller)
            return -ENOMEM;
        bool has_primitive = four.primitive >= 0; /* of a caller, cProfile writes all calls first */
        *caller = (struct gt_trace_caller){(uint32_t)function, has_primitive ? four.total : -1,
                                           has_primitive ? four.primitive : four.total, four.total_time,
                                           four.cumulative_time};
    }
    return 0;
}

static int take_entry(struct gt_profile_maker *maker, const struct gt_pickle_value *key,
                      const struct gt_pickle_value *about)
{
    const struct gt_pickle_value *callers = gt_pickle_item(about, 4);
    struct four four;
    if (!is_kind(callers, GT_PICKLE_DICT) || about->count != 5 || !read_four(about, &four))
        return -EBADMSG;
    int64_t number = read_function(maker, key);
    if (number < 0)
        return (int)number;
    uint32_t first = (uint32_t)maker->caller_count;
    int status = read_callers(maker, callers);
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

static int take_entries(struct gt_profile_maker *maker, struct gt_reading *reading, const struct gt_pickle_value *root)
{
    int status = 0;
    for (uint32_t i = 0; i + 1 < root->count && status >= 0; i += 2) {
        status = take_entry(maker, root->item[i], root->item[i + 1]);
        if (status == -EBADMSG) {
            gt_reading_bad(reading, i / 2, "no function and its times");
            status = 0;
        }
        gt_reading_file(reading)->read += status >= 0;
    }
    return status;
}

/* A dump that is cut off gives the entries before. */
static int read_pstats(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    struct gt_profile_maker maker = {.trace = reading->trace};
    struct gt_pickle *dump = NULL;
    char *bytes = NULL;
    size_t length = 0, end = 0;
    int status = gt_reading_whole(reading, path, MOST_BYTES, &bytes, &length, error);
    if (status < 0)
        return status;
    status = gt_marshal_read(&dump, bytes, length, &end);
    bool is_cut_off = status > 0;
    if (status >= 0)
        status = take_entries(&maker, reading, gt_pickle_root(dump));
    if (status >= 0 && is_cut_off)
        gt_reading_cut_off(reading, end, length - end, "the dump ends or is damaged here");
    gt_pickle_free(dump);
    struct gt_trace_profile *profile = status < 0
                                           ? NULL
                                           : gt_reading_profile(reading, GT_PROFILER_CPROFILE, GT_PROFILE_SECONDS);
    if (status >= 0)
        status = profile ? gt_names_profile(reading, path, profile) : -ENOMEM;
    if (status >= 0)
        status = gt_profile_finish(&maker, profile);
    gt_profile_maker_release(&maker);
    free(bytes);
    return status;
}

const struct gt_trace_format gt_trace_pstats = {
    .name = "pstats",
    .help = "cProfile dumps: python_stats of SMDebug, .prof and .pstats files",
    .probe = probe_pstats,
    .read = read_pstats,
};

/* ---- pyinstrument ----
 * pyinstrument's JSON: a tree of frames with the seconds spent in each and in what it called. */

static int probe_pyinstrument(const struct gt_trace_probe *probe)
{
    const char *text = probe->head + strspn(probe->head, " \t\r\n");
    return *text == '{' && strstr(text, "\"root_frame\"") && strstr(text, "\"sample_count\"") ? 85 : 0;
}

static struct gt_span text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? gt_span_of(text) : gt_span_of("");
}

/* Newer versions write what a function did itself as a child of it. */
static bool is_own_time(const json_t *frame)
{
    const char *function = json_string_value(json_object_get(frame, "function")),
               *path = json_string_value(json_object_get(frame, "file_path"));
    return function && strcmp(function, "[self]") == 0 && (!path || !*path);
}

/* Recursion is bounded by the depth that the JSON parser allows. */
static int walk(struct gt_profile_maker *maker, const json_t *frame, uint32_t parent)
{
    const json_t *children = json_object_get(frame, "children"), *child;
    double time = json_number_value(json_object_get(frame, "time")), own = time;
    size_t i;
    if (!json_is_object(frame))
        return -EBADMSG;
    json_array_foreach (children, i, child)
        own -= is_own_time(child) ? 0 : json_number_value(json_object_get(child, "time"));
    int64_t number = gt_profile_function(maker, text_of(frame, "file_path"),
                                         json_integer_value(json_object_get(frame, "line_no")),
                                         text_of(frame, "function"));
    if (number >= 0)
        number = gt_profile_timed_frame(maker, parent, (uint32_t)number, time, own > 0 ? own : 0);
    int status = number < 0 ? (int)number : 0;
    for (i = 0; i < json_array_size(children) && status >= 0; i++)
        if (!is_own_time(json_array_get(children, i)))
            status = walk(maker, json_array_get(children, i), (uint32_t)number);
    return status;
}

/* A file that is no JSON is damage: 0 without a document. */
static int load(struct gt_reading *reading, const char *path, json_t **ret, struct gt_error *error)
{
    json_error_t problem;
    size_t length = 0;
    char *text = NULL;
    int status = gt_reading_whole(reading, path, MOST_BYTES, &text, &length, error);
    *ret = status < 0 ? NULL : json_loadb(text, length, 0, &problem);
    if (status >= 0 && !*ret)
        gt_reading_cut_off(reading, 0, length, problem.text);
    free(text);
    return status;
}

/* The page that pyinstrument may have written beside it. */
static int find_page(struct gt_reading *reading, const char *path, struct gt_trace_profile *profile)
{
    size_t length = strlen(path);
    char *page = NULL;
    if (length < 5 || strcmp(path + length - 5, ".json") != 0)
        return 0;
    if (asprintf(&page, "%.*s.html", (int)length - 5, path) < 0)
        return -ENOMEM;
    int64_t number = GT_TRACE_NONE;
    if (access(page, R_OK) == 0)
        number = gt_strings_add(&reading->trace->strings, page, strlen(page));
    free(page);
    profile->report = (uint32_t)number;
    return number < 0 ? (int)number : 0;
}

static void take_times(struct gt_reading *reading, const json_t *document, struct gt_trace_profile *profile)
{
    const json_t *start = json_object_get(document, "start_time"), *duration = json_object_get(document, "duration");
    struct gt_trace_file *file = gt_reading_file(reading);
    double begin = json_number_value(start), length = json_number_value(duration);
    if (profile->start != -GT_TRACE_EVER || !json_is_number(start) || !json_is_number(duration) ||
        !(fabs(begin) < 9e9 && length >= 0 && length < 1e9))
        return;
    profile->start = file->first = (int64_t)(begin * 1e6) * 1000;
    profile->end = file->last = profile->start + (int64_t)(length * 1e9);
    file->clock = GT_CLOCK_RECORD;
}

static int read_tree(struct gt_reading *reading, const char *path, const json_t *document)
{
    struct gt_profile_maker maker = {.trace = reading->trace};
    const json_t *root = json_object_get(document, "root_frame");
    int status = json_is_object(root) ? walk(&maker, root, GT_TRACE_NONE) : 0;
    if (status == -EBADMSG) {
        gt_reading_bad(reading, 0, "a frame that is not an object");
        status = 0;
    }
    gt_reading_file(reading)->read = maker.frame_count;
    if (status >= 0)
        status = gt_profile_sum_timed(&maker, false);
    struct gt_trace_profile *profile = status < 0
                                           ? NULL
                                           : gt_reading_profile(reading, GT_PROFILER_PYINSTRUMENT, GT_PROFILE_SECONDS);
    if (status >= 0)
        status = profile ? gt_names_profile(reading, path, profile) : -ENOMEM;
    if (status >= 0)
        status = find_page(reading, path, profile);
    if (status >= 0) {
        take_times(reading, document, profile);
        status = gt_profile_finish(&maker, profile);
    }
    gt_profile_maker_release(&maker);
    return status;
}

static int read_pyinstrument(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    json_t *document;
    int status = load(reading, path, &document, error);
    if (document)
        status = read_tree(reading, path, document);
    json_decref(document);
    return status;
}

const struct gt_trace_format gt_trace_pyinstrument = {
    .name = "pyinstrument",
    .help = "pyinstrument JSON: python_stats.json of SMDebug, and other files",
    .probe = probe_pyinstrument,
    .read = read_pyinstrument,
};
