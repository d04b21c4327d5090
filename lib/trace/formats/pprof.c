/* pprof's profiles (profile.proto, mostly gzipped): of Go programs, of memory by JAX, of what Austin and other tools convert. Each
 * sample is a stack, innermost location first, with a value for each sort of sample; the default sort, else the last, is
 * read. The layout: https://github.com/google/pprof/blob/main/proto/profile.proto */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/number.h"
#include "trace/format.h"
#include "trace/profile_maker.h"
#include "trace/input/protobuf.h"

enum { MOST_BYTES = 1 << 30, ENOUGH_FIELDS = 8 };

/* Numbers of fields. */
enum {
    SORT = 1,
    SAMPLE = 2,
    LOCATION = 4,
    FUNCTION = 5,
    STRING = 6,
    TIME = 9,
    DURATION = 10,
    PERIOD_SORT = 11,
    DEFAULT_SORT = 14,
    LAST_FIELD = 15
};

/* ---- what the file is: it has no mark at its begin ---- */

static bool is_sort(struct gt_span bytes)
{
    struct gt_proto proto = gt_proto_of(bytes);
    struct gt_proto_field field;
    int more, fields = 0;
    while ((more = gt_proto_next(&proto, &field)) > 0) {
        if (field.number > 2 || field.bytes.text || field.value > INT32_MAX)
            return false;
        fields++;
    }
    return more == 0 && fields;
}

static int probe_pprof(const struct gt_trace_probe *probe)
{
    struct gt_proto proto = gt_proto_of((struct gt_span){probe->head, probe->length});
    struct gt_proto_field field;
    int more, fields = 0;
    bool has_sort = false, has_string = false;
    while ((more = gt_proto_next(&proto, &field)) > 0) {
        bool is_message = field.number <= STRING || field.number == PERIOD_SORT;
        if (field.number > LAST_FIELD || (is_message && !field.bytes.text) ||
            (field.number == SORT && !is_sort(field.bytes)) ||
            (field.number == STRING && !has_string && field.bytes.length))
            return 0;
        has_sort |= field.number == SORT;
        has_string |= field.number == STRING;
        fields++;
    }
    bool is_good = probe->is_whole && more == 0 ? has_sort && has_string : has_sort && fields >= ENOUGH_FIELDS;
    return is_good ? 55 : 0;
}

/* ---- tables, which may stand behind what uses them ---- */

struct function {
    uint64_t id, name, system_name, file;
    int64_t line;
    int64_t number; /* in the maker; -1: not yet */
};

struct location {
    uint64_t id, address;
    struct gt_span message;
};

struct pprof {
    struct gt_reading *reading;
    struct gt_profile_maker maker;
    struct gt_span *string;
    size_t string_count, string_capacity;
    struct function *function;
    size_t function_count, function_capacity;
    struct location *location;
    size_t location_count, location_capacity;
    struct gt_span *sort;
    size_t sort_count, sort_capacity;
    int64_t time, duration;
    uint64_t default_sort;
};

static struct gt_span text_of(const struct pprof *pprof, uint64_t number)
{
    return number < pprof->string_count ? pprof->string[number] : gt_span_of("");
}

static int add_span(struct gt_span **list, size_t *count, size_t *capacity, struct gt_span span)
{
    struct gt_span *place = gt_grow((void **)(void *)list, count, capacity, sizeof **list);
    if (!place)
        return -ENOMEM;
    *place = span.text ? span : gt_span_of("");
    return 0;
}

static int add_function(struct pprof *pprof, struct gt_span bytes)
{
    struct gt_proto proto = gt_proto_of(bytes);
    struct gt_proto_field field;
    struct function function = {.number = -1};
    while (gt_proto_next(&proto, &field) > 0) { /* a plain switch */
        switch (field.number) {
        case 1: function.id = field.value; break;
        case 2: function.name = field.value; break;
        case 3: function.system_name = field.value; break;
        case 4: function.file = field.value; break;
        case 5: function.line = (int64_t)field.value; break;
        default: break;
        }
    }
    struct function *place = GT_GROW(pprof, function);
    if (!place)
        return -ENOMEM;
    *place = function;
    return 0;
}

static int add_location(struct pprof *pprof, struct gt_span bytes)
{
    struct gt_proto proto = gt_proto_of(bytes);
    struct gt_proto_field field;
    struct location *location = GT_GROW(pprof, location);
    if (!location)
        return -ENOMEM;
    *location = (struct location){.message = bytes};
    while (gt_proto_next(&proto, &field) > 0) {
        location->id = field.number == 1 ? field.value : location->id;
        location->address = field.number == 3 ? field.value : location->address;
    }
    return 0;
}

static int take_table(struct pprof *pprof, const struct gt_proto_field *field)
{
    switch (field->number) { /* a plain switch */
    case SORT: return add_span(&pprof->sort, &pprof->sort_count, &pprof->sort_capacity, field->bytes);
    case STRING: return add_span(&pprof->string, &pprof->string_count, &pprof->string_capacity, field->bytes);
    case FUNCTION: return add_function(pprof, field->bytes);
    case LOCATION: return add_location(pprof, field->bytes);
    case TIME: pprof->time = (int64_t)field->value; return 0;
    case DURATION: pprof->duration = (int64_t)field->value; return 0;
    case DEFAULT_SORT: pprof->default_sort = field->value; return 0;
    default: return 0;
    }
}

/* Both begin with it. */
static int by_id(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return GT_ORDER(*x, *y);
}

static void sort_tables(struct pprof *pprof)
{
    if (pprof->function_count)
        qsort(pprof->function, pprof->function_count, sizeof *pprof->function, by_id);
    if (pprof->location_count)
        qsort(pprof->location, pprof->location_count, sizeof *pprof->location, by_id);
}

/* ---- stacks ---- */

static int push_function(struct pprof *pprof, uint64_t id)
{
    struct function wanted = {.id = id};
    struct function *found = pprof->function_count
                                 ? bsearch(&wanted, pprof->function, pprof->function_count, sizeof wanted, by_id)
                                 : NULL;
    if (found && found->number < 0) {
        struct gt_span name = text_of(pprof, found->name), file = text_of(pprof, found->file);
        name = name.length ? name : text_of(pprof, found->system_name);
        found->number = file.length ? gt_profile_function(&pprof->maker, file, found->line, name)
                                    : gt_profile_function_of(&pprof->maker, name);
    }
    return gt_profile_push(&pprof->maker,
                           found ? found->number : gt_profile_function_of(&pprof->maker, gt_span_of("?")));
}

/* A location has several lines where functions were inlined, the innermost first, and none where nothing is known of it
 * but its address. */
static int push_location(struct pprof *pprof, uint64_t id)
{
    struct location wanted = {.id = id};
    const struct location *found = pprof->location_count
                                       ? bsearch(&wanted, pprof->location, pprof->location_count, sizeof wanted, by_id)
                                       : NULL;
    struct gt_proto proto = gt_proto_of(found ? found->message : (struct gt_span){0}), line;
    struct gt_proto_field field, member;
    size_t before = pprof->maker.stack_count;
    int status = 0;
    while (status >= 0 && gt_proto_next(&proto, &field) > 0) {
        if (field.number != 4 || !field.bytes.text)
            continue;
        line = gt_proto_of(field.bytes);
        while (status >= 0 && gt_proto_next(&line, &member) > 0)
            status = member.number == 1 ? push_function(pprof, member.value) : 0;
    }
    if (status >= 0 && pprof->maker.stack_count == before) {
        char address[24];
        snprintf(address, sizeof address, "0x%" PRIx64, found ? found->address : id);
        status = gt_profile_push(&pprof->maker, gt_profile_function_of(&pprof->maker, gt_span_of(address)));
    }
    return status;
}

/* Numbers stand one a field, or all in one. */
static int take_numbers(struct pprof *pprof, const struct gt_proto_field *field, size_t *values, size_t wanted,
                        int64_t *value)
{
    struct gt_proto packed = gt_proto_of(field->bytes);
    uint64_t number = field->value;
    int status = 0;
    bool more = !field->bytes.text || gt_proto_varint(&packed, &number);
    while (more && status >= 0) {
        if (field->number == 1)
            status = pprof->maker.stack_count <= GT_PROFILE_DEEPEST ? push_location(pprof, number) : 0;
        else if ((*values)++ == wanted)
            *value = (int64_t)number;
        more = field->bytes.text && gt_proto_varint(&packed, &number);
    }
    return status;
}

static int take_sample(struct pprof *pprof, struct gt_span bytes, size_t wanted, double factor)
{
    struct gt_proto proto = gt_proto_of(bytes);
    struct gt_proto_field field;
    size_t values = 0;
    int64_t value = 0;
    int status = 0, more = 0;
    pprof->maker.stack_count = 0;
    while (status >= 0 && (more = gt_proto_next(&proto, &field)) > 0)
        if (field.number == 1 || field.number == 2)
            status = take_numbers(pprof, &field, &values, wanted, &value);
    if (status < 0)
        return status;
    if (more < 0 || values <= wanted) {
        gt_reading_bad(pprof->reading, 0, "a sample that is damaged, or without a value");
        return 0;
    }
    gt_reading_file(pprof->reading)->read++;
    return gt_profile_stack(&pprof->maker, true, (double)value * factor);
}

/* ---- the profile ---- */

static uint64_t member_of(struct gt_span message, uint32_t number)
{
    struct gt_proto proto = gt_proto_of(message);
    struct gt_proto_field field;
    uint64_t value = 0;
    while (gt_proto_next(&proto, &field) > 0)
        value = field.number == number ? field.value : value;
    return value;
}

static size_t wanted_sort(const struct pprof *pprof)
{
    for (size_t i = 0; i < pprof->sort_count && pprof->default_sort; i++)
        if (member_of(pprof->sort[i], 1) == pprof->default_sort)
            return i;
    return pprof->sort_count ? pprof->sort_count - 1 : 0;
}

static int finish(struct pprof *pprof, struct gt_span name, enum gt_profile_unit unit)
{
    int status = gt_profile_sum(&pprof->maker, false);
    int64_t thread = status < 0 ? status : gt_strings_add(&pprof->reading->trace->strings, name.text, name.length);
    unit = gt_span_is(name, "alloc_space")     ? GT_PROFILE_ALLOCATED
           : gt_span_is(name, "alloc_objects") ? GT_PROFILE_ALLOCATIONS
                                               : unit;
    struct gt_trace_profile *profile = thread < 0 ? NULL : gt_reading_profile(pprof->reading, GT_PROFILER_PPROF, unit);
    struct gt_trace_file *file = gt_reading_file(pprof->reading);
    if (!profile)
        return thread < 0 ? (int)thread : -ENOMEM;
    profile->thread = (uint32_t)thread;
    if (pprof->time > 0 &&
        !__builtin_add_overflow(pprof->time, pprof->duration > 0 ? pprof->duration : 0, &profile->end)) {
        profile->start = file->first = pprof->time;
        file->last = profile->end;
        file->clock = GT_CLOCK_RECORD;
    } else {
        profile->end = GT_TRACE_EVER;
    }
    return gt_profile_finish(&pprof->maker, profile);
}

static int read_message(struct pprof *pprof, struct gt_span bytes)
{
    struct gt_trace_damage *damage = &gt_reading_file(pprof->reading)->damage;
    struct gt_proto proto = gt_proto_of(bytes), again = proto;
    struct gt_proto_field field;
    double factor;
    int status = 0, more = 0;
    while (status >= 0 && (more = gt_proto_next(&proto, &field)) > 0)
        status = take_table(pprof, &field);
    if (status < 0)
        return status;
    if (more < 0) {
        damage->cut_off = true;
        damage->lost_bytes += (uint64_t)(proto.end - proto.at);
        gt_damage_note(damage, (uint64_t)(proto.at - again.at), "the profile ends or is damaged here");
    }
    sort_tables(pprof);
    size_t wanted = wanted_sort(pprof);
    struct gt_span sort = pprof->sort_count ? pprof->sort[wanted] : (struct gt_span){0};
    enum gt_profile_unit unit = gt_profile_unit_of(text_of(pprof, member_of(sort, 2)), &factor);
    while (status >= 0 && gt_proto_next(&again, &field) > 0)
        if (field.number == SAMPLE && field.bytes.text)
            status = take_sample(pprof, field.bytes, wanted, factor);
    return status < 0 ? status : finish(pprof, text_of(pprof, member_of(sort, 1)), unit);
}

static int read_pprof(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    struct pprof pprof = {.reading = reading, .maker = {.trace = reading->trace}};
    char *bytes = NULL;
    size_t length = 0;
    int status = gt_reading_whole(reading, path, MOST_BYTES, &bytes, &length, error);
    if (status < 0)
        return status;
    status = read_message(&pprof, (struct gt_span){bytes, length});
    gt_profile_maker_release(&pprof.maker);
    free(pprof.string);
    free(pprof.function);
    free(pprof.location);
    free(pprof.sort);
    free(bytes);
    return status;
}

const struct gt_trace_format gt_trace_pprof = {
    .name = "pprof",
    .help = "pprof's profiles (profile.proto): Go, JAX's memory profiles",
    .probe = probe_pprof,
    .read = read_pprof,
};
