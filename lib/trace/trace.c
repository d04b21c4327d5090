#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "trace/source.h"

const char *gt_trace_text(const struct gt_trace *trace, uint32_t string)
{
    return gt_strings_text(&trace->strings, string);
}

uint32_t gt_trace_find(const struct gt_trace *trace, const char *text)
{
    int64_t number = gt_strings_find(&trace->strings, text, strlen(text));
    return number < 0 ? GT_TRACE_NONE : (uint32_t)number;
}

const struct gt_trace_process *gt_trace_process_of(const struct gt_trace *trace, size_t event)
{
    return &trace->process[trace->track[trace->events.track[event]].process];
}

const struct gt_trace_file *gt_trace_file_of(const struct gt_trace *trace, size_t event)
{
    return &trace->file[gt_trace_process_of(trace, event)->file];
}

bool gt_trace_is_slice(const struct gt_trace *trace, size_t event)
{
    return trace->events.phase[event] == 'X' && !(trace->events.flag[event] & GT_TRACE_NO_TIME);
}

uint32_t gt_trace_node_of(const struct gt_trace *trace, uint32_t file)
{
    uint32_t node = trace->file[file].node;
    return node != GT_TRACE_NONE ? node : gt_trace_find(trace, trace->file[file].path);
}

struct place {
    int64_t start, duration;
    uint32_t event;
};

static int by_start(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->duration != y->duration)
        return x->duration > y->duration ? -1 : 1;
    return x->event < y->event ? -1 : 1;
}

uint32_t *gt_trace_order(const struct gt_trace *trace)
{
    const struct gt_trace_events *events = &trace->events;
    struct place *place = malloc((events->count + 1) * sizeof *place);
    uint32_t *order = malloc((events->count + 1) * sizeof *order);
    if (place && order) {
        for (size_t i = 0; i < events->count; i++)
            place[i] = (struct place){events->start[i], events->duration[i], (uint32_t)i};
        qsort(place, events->count, sizeof *place, by_start);
        for (size_t i = 0; i < events->count; i++)
            order[i] = place[i].event;
    } else {
        free(order);
        order = NULL;
    }
    free(place);
    return order;
}

const struct gt_trace_argument *gt_trace_argument(const struct gt_trace *trace, size_t event, uint32_t key)
{
    const struct gt_trace_events *events = &trace->events;
    size_t end = event + 1 < events->count ? events->argument[event + 1] : trace->argument_count;
    const struct gt_trace_argument *found = NULL; /* of several with one name the last counts */
    for (size_t i = events->argument[event]; i < end; i++)
        if (trace->argument[i].key == key)
            found = &trace->argument[i];
    return found;
}

void gt_trace_profile_release(struct gt_trace_profile *profile)
{
    free(profile->function);
    free(profile->caller);
    free(profile->frame);
}

static void release_events(struct gt_trace_events *events)
{
    void *const columns[] = {events->start, events->duration, events->id,       events->external,
                             events->bytes, events->name,     events->category, events->track,
                             events->step,  events->argument, events->phase,    events->flag};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        free(columns[i]);
}

void gt_trace_close(struct gt_trace *trace)
{
    if (!trace)
        return;
    release_events(&trace->events);
    free(trace->samples.time);
    free(trace->samples.value);
    free(trace->samples.series);
    for (size_t i = 0; i < trace->file_count; i++)
        free(trace->file[i].path);
    for (size_t i = 0; i < trace->profile_count; i++)
        gt_trace_profile_release(&trace->profile[i]);
    void *const arrays[] = {trace->file, trace->process, trace->track,   trace->series,
                            trace->step, trace->profile, trace->argument};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    gt_strings_release(&trace->strings);
    free(trace);
}

/* ---- damage ---- */

void gt_damage_note(struct gt_trace_damage *damage, uint64_t place, const char *format, ...)
{
    if (damage->first[0] && damage->first_place <= place)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(damage->first, sizeof damage->first, format, arguments);
    va_end(arguments);
    damage->first_place = place;
}

void gt_damage_add(struct gt_trace_damage *damage, const struct gt_trace_damage *more)
{
    damage->bad_events += more->bad_events;
    damage->lost_bytes += more->lost_bytes;
    damage->mended += more->mended;
    damage->unclosed += more->unclosed;
    damage->unopened += more->unopened;
    damage->bad_samples += more->bad_samples;
    damage->cut_off |= more->cut_off;
    if (more->first[0])
        gt_damage_note(damage, more->first_place, "%s", more->first);
}

/* ---- the sink that fills the columns ---- */

static int grow_column(void *column, size_t capacity, size_t size)
{
    void **array = column, *grown = realloc(*array, capacity * size);
    if (!grown)
        return -ENOMEM;
    *array = grown;
    return 0;
}

/* Half as much again: what was not yet written costs no memory, and pages move without copying. */
static int grow_events(struct gt_trace_events *events)
{
    size_t capacity = events->capacity ? events->capacity + events->capacity / 2 : 1024;
    if (capacity >= GT_TRACE_NONE)
        capacity = GT_TRACE_NONE - 1;
    if (capacity <= events->capacity)
        return -EOVERFLOW;
#define COLUMN(name) grow_column(&events->name, capacity, sizeof *events->name) < 0
    if (COLUMN(start) || COLUMN(duration) || COLUMN(id) || COLUMN(external) || COLUMN(bytes) || COLUMN(name) ||
        COLUMN(category) || COLUMN(track) || COLUMN(step) || COLUMN(argument) || COLUMN(phase) || COLUMN(flag))
        return -ENOMEM;
#undef COLUMN
    events->capacity = capacity;
    return 0;
}

static int64_t intern(struct gt_trace *trace, struct gt_span value)
{
    struct gt_span text = gt_span_unquoted(value);
    if (*value.text != '"' || !gt_span_has_escape(text))
        return gt_strings_add(&trace->strings, text.text, text.length);
    struct gt_buffer plain = {0};
    int64_t number = gt_span_unescape(text, &plain);
    if (number >= 0)
        number = gt_strings_add(&trace->strings, plain.data, plain.length);
    gt_buffer_release(&plain);
    return number;
}

static int keep_argument(struct gt_trace *trace, uint32_t key, struct gt_span value)
{
    double number = NAN;
    int64_t text = GT_TRACE_NONE;
    if (*value.text == 't' || *value.text == 'f')
        number = *value.text == 't';
    else if (*value.text == '"' || *value.text == '{' || *value.text == '[')
        text = intern(trace, value);
    else
        gt_span_double(value, &number);
    if (text < 0)
        return (int)text;
    struct gt_trace_argument *argument = GT_GROW(trace, argument);
    if (!argument)
        return -ENOMEM;
    *argument = (struct gt_trace_argument){key, (uint32_t)text, number};
    return 0;
}

static int keep_arguments(struct gt_columns_sink *columns, struct gt_span args)
{
    const char *const *wanted = columns->options->arguments;
    struct gt_walk walk;
    struct gt_span key, value;
    if (!wanted || !args.text || *args.text != '{')
        return 0;
    gt_walk_open(&walk, args);
    while (gt_walk_member(&walk, &key, &value) > 0)
        for (uint32_t i = 0; wanted[i]; i++)
            if (gt_span_is(key, wanted[i])) {
                int status = keep_argument(columns->trace, i, value);
                if (status < 0)
                    return status;
            }
    return 0;
}

static int take_event(void *context, const struct gt_trace_event *event, struct gt_error *error)
{
    struct gt_columns_sink *columns = context;
    struct gt_trace_events *events = &columns->trace->events;
    if (event->phase == 'M' || columns->options->no_events)
        return 0;
    int status = events->count == events->capacity ? grow_events(events) : 0;
    if (status >= 0 && columns->trace->argument_count >= GT_TRACE_NONE)
        status = -EOVERFLOW;
    size_t at = events->count;
    if (status >= 0) {
        events->argument[at] = (uint32_t)columns->trace->argument_count;
        status = keep_arguments(columns, event->item->args);
    }
    if (status < 0)
        return gt_error_system(error, -status, "keeping events");
    events->start[at] = event->start;
    events->duration[at] = event->duration;
    events->id[at] = event->id;
    events->external[at] = event->item->external;
    events->bytes[at] = event->item->bytes;
    events->name[at] = event->name;
    events->category[at] = event->category;
    events->track[at] = event->track;
    events->step[at] = event->step;
    events->phase[at] = event->phase;
    events->flag[at] = event->flag;
    events->count++;
    return 0;
}

static int take_sample(void *context, uint32_t series, int64_t time, double value, struct gt_error *error)
{
    struct gt_columns_sink *columns = context;
    struct gt_trace_samples *samples = &columns->trace->samples;
    if (columns->options->no_samples)
        return 0;
    if (samples->count == samples->capacity) {
        size_t capacity = samples->capacity ? samples->capacity * 2 : 1024;
        if (grow_column(&samples->time, capacity, sizeof *samples->time) < 0 ||
            grow_column(&samples->value, capacity, sizeof *samples->value) < 0 ||
            grow_column(&samples->series, capacity, sizeof *samples->series) < 0)
            return gt_error_system(error, ENOMEM, "keeping samples");
        samples->capacity = capacity;
    }
    samples->time[samples->count] = time;
    samples->value[samples->count] = value;
    samples->series[samples->count++] = series;
    return 0;
}

static int begin_file(void *context, uint32_t file, struct gt_error *error)
{
    (void)error;
    struct gt_columns_sink *columns = context;
    struct gt_trace *trace = columns->trace;
    if (columns->has_begun && columns->file == file) {
        trace->events.count = columns->events;
        trace->samples.count = columns->samples;
        trace->argument_count = columns->arguments;
    }
    columns->has_begun = true;
    columns->file = file;
    columns->events = trace->events.count;
    columns->samples = trace->samples.count;
    columns->arguments = trace->argument_count;
    return 0;
}

struct gt_trace_sink gt_columns_sink(struct gt_columns_sink *columns)
{
    return (struct gt_trace_sink){columns, begin_file, take_event, take_sample};
}
