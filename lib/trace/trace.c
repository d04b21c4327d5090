#include "trace/trace.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/number.h"

/* ---- What few events have ---- */

/* Where the event stands in the list, or would stand. */
static size_t place_of(const struct gt_trace_rare *rare, size_t event)
{
    return GT_SEARCH(0, rare->count, middle, rare->event[middle] < event);
}

int64_t gt_trace_rare(const struct gt_trace_rare *rare, size_t event, int64_t otherwise)
{
    size_t at = place_of(rare, event);
    return at < rare->count && rare->event[at] == event ? rare->value[at] : otherwise;
}

/* ---- columns that grow ---- Half as much again: what was not yet written costs no memory, and pages move without
 * copying. */

static int grow_column(void *column, size_t capacity, size_t size)
{
    void **array = column, *grown = realloc(*array, capacity * size);
    if (!grown)
        return -ENOMEM;
    *array = grown;
    return 0;
}

static size_t larger(size_t capacity)
{
    return capacity ? capacity + capacity / 2 : 1024;
}

static int rare_room(struct gt_trace_rare *rare)
{
    size_t capacity = larger(rare->capacity);
    if (rare->count < rare->capacity)
        return 0;
    if (grow_column(&rare->event, capacity, sizeof *rare->event) < 0 ||
        grow_column(&rare->value, capacity, sizeof *rare->value) < 0)
        return -ENOMEM;
    rare->capacity = capacity;
    return 0;
}

static int rare_set(struct gt_trace_rare *rare, size_t event, int64_t value)
{
    size_t at = rare->count && rare->event[rare->count - 1] < event ? rare->count : place_of(rare, event);
    bool is_new = at == rare->count || rare->event[at] != event;
    if (is_new && rare_room(rare) < 0)
        return -ENOMEM;
    if (is_new) {
        memmove(rare->event + at + 1, rare->event + at, (rare->count - at) * sizeof *rare->event);
        memmove(rare->value + at + 1, rare->value + at, (rare->count - at) * sizeof *rare->value);
        rare->count++;
    }
    rare->event[at] = (uint32_t)event;
    rare->value[at] = value;
    return 0;
}

int gt_trace_event_room(struct gt_trace_events *events)
{
    if (events->count < events->capacity)
        return 0;
    size_t capacity = larger(events->capacity);
    if (capacity >= GT_TRACE_NONE)
        capacity = GT_TRACE_NONE - 1;
    if (capacity <= events->capacity)
        return -EOVERFLOW;
#define COLUMN(name) grow_column(&events->name, capacity, sizeof *events->name) < 0
    if (COLUMN(start) || COLUMN(short_duration) || COLUMN(short_id) || COLUMN(short_external) || COLUMN(name) ||
        COLUMN(category) || COLUMN(track) || COLUMN(step) || COLUMN(phase) || COLUMN(flag) ||
        (events->argument && COLUMN(argument)))
        return -ENOMEM;
#undef COLUMN
    events->capacity = capacity;
    return 0;
}

int gt_trace_argument_room(struct gt_trace_events *events)
{
    if (events->argument)
        return 0;
    events->argument = calloc(events->capacity, sizeof *events->argument);
    return events->argument ? 0 : -ENOMEM;
}

/* ---- values ---- */

static int set_short(uint32_t *column, struct gt_trace_rare *rare, size_t event, uint64_t value)
{
    bool is_short = value < GT_TRACE_LONG || value == GT_TRACE_NO_ID;
    column[event] = is_short ? (uint32_t)value : GT_TRACE_LONG; /* the lower half of "none" is "none" */
    return is_short ? 0 : rare_set(rare, event, (int64_t)value);
}

int gt_trace_set_duration(struct gt_trace_events *events, size_t event, int64_t duration)
{
    return set_short(events->short_duration, &events->long_duration, event, (uint64_t)duration);
}

int gt_trace_set_ids(struct gt_trace_events *events, size_t event, uint64_t id, uint64_t external)
{
    int status = set_short(events->short_id, &events->long_id, event, id);
    return status < 0 ? status : set_short(events->short_external, &events->long_external, event, external);
}

int gt_trace_set_bytes(struct gt_trace_events *events, size_t event, int64_t bytes)
{
    return bytes == gt_trace_bytes(events, event) ? 0 : rare_set(&events->bytes, event, bytes);
}

static void rare_cut(struct gt_trace_rare *rare, size_t count)
{
    rare->count = place_of(rare, count);
}

void gt_trace_events_cut(struct gt_trace_events *events, size_t count)
{
    events->count = count;
    rare_cut(&events->long_duration, count);
    rare_cut(&events->long_id, count);
    rare_cut(&events->long_external, count);
    rare_cut(&events->bytes, count);
}

static void events_release(struct gt_trace_events *events)
{
    const struct gt_trace_rare *const rare[] = {&events->long_duration, &events->long_id, &events->long_external,
                                                &events->bytes};
    void *const columns[] = {events->start,    events->short_duration, events->short_id, events->short_external,
                             events->name,     events->category,       events->track,    events->step,
                             events->argument, events->phase,          events->flag};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        free(columns[i]);
    for (size_t i = 0; i < sizeof rare / sizeof *rare; i++) {
        free(rare[i]->event);
        free(rare[i]->value);
    }
}

/* ---- Whose steps a file without steps of its own goes with ----
 * Horovod's and TensorFlow's timelines are written by one process of a host, or name the host alone. */

/* "algo-1-33" is process 33 of host algo-1, "33-worker" of host worker; other names are hosts. */
struct node_place {
    const char *host;
    size_t length;
    int64_t number; /* -1: not told */
};

static struct node_place node_place_of(const char *node)
{
    static const char algorithm[] = "algo-";
    const size_t digits = strspn(node, "0123456789");
    struct node_place place = {node, strlen(node), -1};
    if (digits && node[digits] == '-' && node[digits + 1])
        return (struct node_place){node + digits + 1, place.length - digits - 1, strtoll(node, NULL, 10)};
    if (strncmp(node, algorithm, sizeof algorithm - 1) != 0)
        return place;
    size_t end = sizeof algorithm - 1 + strspn(node + sizeof algorithm - 1, "0123456789");
    const char *rest = node + end;
    if (*rest == '-' && rest[1] && strspn(rest + 1, "0123456789") == strlen(rest + 1)) {
        place.number = strtoll(rest + 1, NULL, 10);
        place.length = end;
    }
    return place;
}

static bool may_join(const struct gt_trace_file *file)
{
    static const char *const formats[] = {"smdebug", "horovod", "tensorflow"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(file->format, formats[i]) == 0)
            return file->read;
    return false;
}

static bool has_steps(const struct gt_trace *trace, uint32_t node)
{
    for (size_t i = 0; i < trace->step_count; i++)
        if (trace->step[i].node == node)
            return true;
    return false;
}

/* The same rank or process of the host, else the first of the host. Steps stand node by node. */
static uint32_t find(const struct gt_trace *trace, const char *name)
{
    struct node_place wanted = node_place_of(name), best = {0};
    uint32_t found = GT_TRACE_NONE;
    for (size_t i = 0; i < trace->step_count; i++) {
        uint32_t node = trace->step[i].node;
        struct node_place place = node_place_of(gt_trace_text(trace, node));
        if (place.length != wanted.length || memcmp(place.host, wanted.host, place.length) != 0)
            continue;
        bool is_same = wanted.number >= 0 && place.number == wanted.number;
        if (found == GT_TRACE_NONE || is_same || (place.number < best.number && best.number != wanted.number)) {
            found = node;
            best = place;
        }
    }
    return found;
}

/* Rank 0 writes the timeline of Horovod, which names no node itself. */
static uint32_t first_rank(const struct gt_trace *trace, const struct gt_trace_file *of)
{
    if (strcmp(of->format, "horovod") != 0 || of->clock == GT_CLOCK_UNKNOWN)
        return GT_TRACE_NONE;
    for (size_t i = 0; i < trace->file_count; i++)
        if (trace->file[i].rank == 0 && trace->file[i].node != GT_TRACE_NONE && has_steps(trace, trace->file[i].node))
            return trace->file[i].node;
    return GT_TRACE_NONE;
}

void gt_nodes_join(struct gt_trace *trace)
{
    for (uint32_t i = 0; i < trace->file_count; i++) {
        struct gt_trace_file *file = &trace->file[i];
        if (!may_join(file) || (file->node != GT_TRACE_NONE && has_steps(trace, file->node)))
            continue;
        uint32_t node = file->node == GT_TRACE_NONE ? first_rank(trace, file)
                                                    : find(trace, gt_trace_text(trace, file->node));
        file->node = node != GT_TRACE_NONE ? node : file->node;
    }
}

/* ---- Names, samples, profiles, and a trace as a whole ---- */

const char *gt_trace_text(const struct gt_trace *trace, uint32_t string)
{
    return gt_strings_text(&trace->strings, string);
}

const char *const gt_trace_clock_names[] = {"unknown", "in the file", "in its name"};
const char *const gt_trace_profiler_names[] = {"cprofile", "pyinstrument", "stacks",         "speedscope",
                                               "perf",     "events",       "memory snapshot"};

const char *gt_trace_unit_name(enum gt_profile_unit unit)
{
    static const char *const names[] = {"seconds", "samples", "bytes", "bytes", "allocations"};
    return names[unit];
}

const char *gt_trace_measure_name(enum gt_profile_unit unit)
{
    static const char *const names[] = {"seconds", "samples", "bytes", "bytes held at the peak", "allocations"};
    return names[unit];
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

bool gt_trace_lasts(const struct gt_trace *trace, size_t event)
{
    return trace->events.phase[event] == 'X' && !(trace->events.flag[event] & GT_TRACE_NO_TIME);
}

bool gt_trace_is_slice(const struct gt_trace *trace, size_t event)
{
    return gt_trace_lasts(trace, event) && !(trace->events.flag[event] & GT_TRACE_HIDDEN);
}

uint32_t gt_trace_node_of(const struct gt_trace *trace, uint32_t file)
{
    uint32_t node = trace->file[file].node;
    return node != GT_TRACE_NONE ? node : gt_trace_find(trace, trace->file[file].path);
}

bool gt_is_node(const struct gt_trace *trace, const struct gt_trace_file *file, const char *wanted)
{
    char rank[16];
    const char *name = file->node == GT_TRACE_NONE ? file->path : gt_trace_text(trace, file->node);
    snprintf(rank, sizeof rank, "%d", (int)file->rank);
    return strcmp(wanted, name) == 0 || (file->rank >= 0 && strcmp(wanted, rank) == 0);
}

struct place {
    int64_t start, duration;
    uint32_t event;
};

static int longer_first(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->start, y->start), GT_ORDER(y->duration, x->duration), GT_ORDER(x->event, y->event));
}

uint32_t *gt_trace_order(const struct gt_trace *trace)
{
    const struct gt_trace_events *events = &trace->events;
    struct place *place = malloc((events->count + 1) * sizeof *place);
    uint32_t *order = malloc((events->count + 1) * sizeof *order);
    if (place && order) {
        for (size_t i = 0; i < events->count; i++)
            place[i] = (struct place){events->start[i], gt_trace_duration(events, i), (uint32_t)i};
        qsort(place, events->count, sizeof *place, longer_first);
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
    const struct gt_trace_argument *found = NULL; /* of several with one name the last counts */
    if (!events->argument)
        return NULL;
    size_t end = event + 1 < events->count ? events->argument[event + 1] : trace->argument_count;
    for (size_t i = events->argument[event]; i < end; i++)
        if (trace->argument[i].key == key)
            found = &trace->argument[i];
    return found;
}

void gt_trace_profile_init(struct gt_trace_profile *profile, uint32_t file, uint32_t node)
{
    *profile = (struct gt_trace_profile){.file = file,
                                         .thread = GT_TRACE_NONE,
                                         .framework = GT_TRACE_NONE,
                                         .node = node,
                                         .start_mode = GT_TRACE_NONE,
                                         .end_mode = GT_TRACE_NONE,
                                         .start_phase = GT_TRACE_NONE,
                                         .end_phase = GT_TRACE_NONE,
                                         .start_step = NAN,
                                         .end_step = NAN,
                                         .start = -GT_TRACE_EVER,
                                         .end = GT_TRACE_EVER,
                                         .report = GT_TRACE_NONE};
}

void gt_trace_profile_release(struct gt_trace_profile *profile)
{
    free(profile->function);
    free(profile->caller);
    free(profile->frame);
}

void gt_trace_close(struct gt_trace *trace)
{
    if (!trace)
        return;
    events_release(&trace->events);
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

/* ---- samples ---- */

int gt_trace_add_sample(struct gt_trace_samples *samples, uint32_t series, int64_t time, double value)
{
    if (samples->count == samples->capacity) {
        size_t capacity = samples->capacity ? samples->capacity * 2 : 1024;
        if (grow_column(&samples->time, capacity, sizeof *samples->time) < 0 ||
            grow_column(&samples->value, capacity, sizeof *samples->value) < 0 ||
            grow_column(&samples->series, capacity, sizeof *samples->series) < 0)
            return -ENOMEM;
        samples->capacity = capacity;
    }
    samples->time[samples->count] = time;
    samples->value[samples->count] = value;
    samples->series[samples->count++] = series;
    return 0;
}

struct gt_trace_file *gt_trace_add_file(struct gt_trace *trace, const char *path, const char *format)
{
    struct gt_trace_file *file = GT_GROW(trace, file);
    char *copy = file ? strdup(path) : NULL;
    if (copy)
        *file = (struct gt_trace_file){.path = copy,
                                       .format = format,
                                       .node = GT_TRACE_NONE,
                                       .rank = -1,
                                       .first = INT64_MAX,
                                       .last = INT64_MIN,
                                       .part_of = GT_TRACE_NONE,
                                       .recording = -1};
    trace->file_count -= file && !copy;
    return copy ? file : NULL;
}

void gt_trace_file_widen(struct gt_trace_file *file, int64_t start, int64_t end)
{
    file->first = start < file->first ? start : file->first;
    file->last = end > file->last ? end : file->last;
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

/* ---- steps ---- */

/* By node, mode and number first, to find the parts of one step. */
static int by_identity(const void *a, const void *b)
{
    const struct gt_trace_step *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->node, y->node), GT_ORDER(x->mode, y->mode), GT_ORDER(x->step, y->step));
}

static int by_start(const void *a, const void *b)
{
    const struct gt_trace_step *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->node, y->node), GT_ORDER(x->start, y->start), by_identity(a, b));
}

int gt_steps_combine(struct gt_trace *trace)
{
    size_t count = 0;
    struct gt_trace_step *step = trace->step;
    for (size_t i = 0; i < trace->step_count; i++)
        step[i].node = gt_trace_node_of(trace, step[i].node);
    if (trace->step_count)
        qsort(step, trace->step_count, sizeof *step, by_identity);
    if (gt_steps_name(trace) < 0)
        return -ENOMEM;
    if (trace->step_count)
        qsort(step, trace->step_count, sizeof *step, by_identity);
    for (size_t i = 0; i < trace->step_count; i++) {
        if (step[i].start > step[i].end) /* of a reading that was begun again */
            continue;
        if (count && by_identity(&step[count - 1], &step[i]) == 0) {
            struct gt_trace_step *known = &step[count - 1];
            known->start = step[i].start < known->start ? step[i].start : known->start;
            known->end = step[i].end > known->end ? step[i].end : known->end;
        } else {
            step[count++] = step[i];
        }
    }
    trace->step_count = count;
    if (count)
        qsort(step, count, sizeof *step, by_start);
    return 0;
}

bool gt_steps_is_whole(const struct gt_trace *trace, const struct gt_trace_step *step)
{
    const char *mode = gt_trace_text(trace, step->mode);
    return strncmp(mode, "Step:", 5) == 0 || strcmp(mode, "ProfilerStep") == 0;
}

/* Steps stand node by node. Those of one node are appended; returns past its last one. */
static size_t add_node(const struct gt_trace *trace, size_t from, struct gt_step_windows *windows)
{
    uint32_t node = trace->step[from].node;
    size_t to = from;
    bool has_whole = false;
    for (; to < trace->step_count && trace->step[to].node == node; to++)
        has_whole |= gt_steps_is_whole(trace, &trace->step[to]);
    int64_t latest = INT64_MIN;
    for (size_t i = from; i < to; i++) {
        const struct gt_trace_step *step = &trace->step[i];
        if (has_whole && !gt_steps_is_whole(trace, step))
            continue;
        latest = step->end > latest ? step->end : latest;
        windows->latest[windows->count] = latest;
        windows->step[windows->count++] = *step;
    }
    return to;
}

int gt_step_windows_open(struct gt_step_windows *ret, const struct gt_trace *trace)
{
    *ret = (struct gt_step_windows){calloc(trace->step_count + 1, sizeof *ret->step),
                                    calloc(trace->step_count + 1, sizeof *ret->latest), 0};
    if (!ret->step || !ret->latest) {
        gt_step_windows_release(ret);
        return -ENOMEM;
    }
    for (size_t from = 0; from < trace->step_count;)
        from = add_node(trace, from, ret);
    return 0;
}

void gt_step_windows_release(struct gt_step_windows *windows)
{
    free(windows->step);
    free(windows->latest);
    *windows = (struct gt_step_windows){0};
}

/* The latest window of the node that began and holds the moment. */
int32_t gt_step_windows_find(const struct gt_step_windows *windows, uint32_t node, int64_t time)
{
    const struct gt_trace_step *step = windows->step;
    size_t low = GT_SEARCH(0, windows->count, middle,
                           step[middle].node != node ? step[middle].node < node : step[middle].start <= time);
    while (low > 0 && windows->step[low - 1].node == node && windows->latest[low - 1] >= time)
        if (windows->step[--low].end >= time)
            return windows->step[low].step;
    return GT_TRACE_NO_STEP;
}

static void assign(struct gt_trace *trace, const struct gt_step_windows *windows)
{
    struct gt_trace_events *events = &trace->events;
    uint32_t known = GT_TRACE_NONE, node = GT_TRACE_NONE;
    for (size_t i = 0; i < events->count; i++) {
        if (events->step[i] != GT_TRACE_NO_STEP || events->flag[i] & GT_TRACE_NO_TIME)
            continue;
        uint32_t file = trace->process[trace->track[events->track[i]].process].file;
        node = file == known ? node : gt_trace_node_of(trace, file);
        known = file;
        events->step[i] = gt_step_windows_find(windows, node, events->start[i]);
        events->flag[i] |= GT_TRACE_IN_STEP;
    }
}

int gt_steps_assign(struct gt_trace *trace)
{
    struct gt_step_windows windows;
    if (!trace->step_count || !trace->events.count)
        return 0;
    int status = gt_step_windows_open(&windows, trace);
    if (status >= 0)
        assign(trace, &windows);
    gt_step_windows_release(&windows);
    return status;
}
