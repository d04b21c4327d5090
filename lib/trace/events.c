/* The columns of events: how they grow, and what few events have. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/trace.h"

/* ---- what few events have ---- */

/* Where the event stands in the list, or would stand. */
static size_t place_of(const struct gt_trace_rare *rare, size_t event)
{
    size_t low = 0, high = rare->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rare->event[middle] < event)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
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

void gt_trace_events_release(struct gt_trace_events *events)
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
