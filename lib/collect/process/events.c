#include "collect/process/events.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "collect/collector.h"
#include "collect/process/event_filter.h"
#include "collect/process/proc_events.h"
#include "collect/process/taskstats.h"

/* gt_events_next does one of these now. A record is fetched before, and told after, all the forks that wait: so the fork of its task
 * has been told by then. */
enum stage { FETCH_RECORDS, TELL_FORKS, TELL_RECORDS };

struct gt_events {
    bool has_forks, has_records;
    struct gt_proc_events proc_events;
    struct gt_taskstats taskstats;
    struct gt_event_filter *filter; /* NULL: the whole machine's events come */
    uint32_t passed;                /* what it had counted when gt_events_may_wait was last asked */
    bool is_settled; /* as many as the time before: all that was counted had been queued when it was read */
    enum stage stage;
    bool fetched; /* the last FETCH_RECORDS brought some: there may be more */
};

static int open_sources(struct gt_events *events, const struct gt_root *root, unsigned wanted,
                        struct gt_availability availability[GT_EVENTS_SOURCES], struct gt_error *error)
{
    int result = 0;
    if (wanted & 1u << GT_EVENTS_FORKS) {
        result = gt_proc_events_open(&events->proc_events, &availability[GT_EVENTS_FORKS], error);
        events->has_forks = result == 0 && availability[GT_EVENTS_FORKS].state == GT_READY;
    }
    if (result == 0 && wanted & 1u << GT_EVENTS_RECORDS) {
        result = gt_taskstats_open(&events->taskstats, root, &availability[GT_EVENTS_RECORDS], error);
        events->has_records = result == 0 && availability[GT_EVENTS_RECORDS].state == GT_READY;
    }
    if (events->has_forks)
        events->filter = gt_event_filter_new(events->proc_events.fd, events->has_records ? events->taskstats.fd : -1);
    return result;
}

/* This was opened early, and may be in use. */
static struct {
    struct gt_events *events;
    struct gt_availability availability[GT_EVENTS_SOURCES];
    atomic_flag is_taken;
} early = {.is_taken = ATOMIC_FLAG_INIT};

void gt_events_open_early(const struct gt_root *root)
{
    gt_events_open(&early.events, root, 1u << GT_EVENTS_FORKS | 1u << GT_EVENTS_RECORDS, early.availability, NULL);
}

bool gt_events_has_early(enum gt_event_source source)
{
    return early.events && early.availability[source].state == GT_READY;
}

int gt_events_open(struct gt_events **ret, const struct gt_root *root, unsigned wanted,
                   struct gt_availability availability[GT_EVENTS_SOURCES], struct gt_error *error)
{
    *ret = NULL;
    for (int source = 0; source < GT_EVENTS_SOURCES; source++) {
        availability[source] = (struct gt_availability){.source = "kernel events about processes"};
        gt_unavailable(&availability[source], GT_ABSENT, NULL,
                       root->is_machine ? "not asked for" : "a stored machine has no events");
    }
    if (!root->is_machine)
        return 0;
    if (early.events && !atomic_flag_test_and_set(&early.is_taken)) {
        memcpy(availability, early.availability, sizeof early.availability);
        *ret = early.events;
        if (early.events->filter)
            gt_event_filter_reset(early.events->filter);
        early.events->is_settled = false;
        return 0;
    }
    struct gt_events *events = calloc(1, sizeof *events);
    if (!events)
        return gt_error_system(error, ENOMEM, "process events");
    int result = open_sources(events, root, wanted, availability, error);
    if (result < 0 || (!events->has_forks && !events->has_records))
        gt_events_close(events);
    else
        *ret = events;
    return result;
}

int gt_events_fd(const struct gt_events *events, enum gt_event_source source)
{
    if (source == GT_EVENTS_FORKS)
        return events->has_forks ? events->proc_events.fd : -1;
    return events->has_records ? events->taskstats.fd : -1;
}

void gt_events_mark(struct gt_events *events, pid_t task)
{
    if (events->filter)
        gt_event_filter_mark(events->filter, task);
}

bool gt_events_narrow(struct gt_events *events, bool is_narrow)
{
    if (events->filter)
        gt_event_filter_narrow(events->filter, is_narrow);
    return events->filter;
}

/* An event is counted just before it is queued: so it is looked for twice. */
bool gt_events_may_wait(struct gt_events *events)
{
    if (!events->filter)
        return true;
    uint32_t passed = gt_event_filter_passed(events->filter);
    bool is_same = passed == events->passed, may_wait = !(is_same && events->is_settled);
    events->passed = passed;
    events->is_settled = is_same;
    return may_wait;
}

/* 1: *ret says that records were lost; 0: fetched what there is, perhaps nothing. */
static int fetch_records(struct gt_events *events, struct gt_event *ret)
{
    int count = events->has_records ? gt_taskstats_receive(&events->taskstats) : 0;
    if (count == -ENOBUFS) {
        *ret = (struct gt_event){.kind = GT_EVENT_LOST, .source = GT_EVENTS_RECORDS};
        return 1;
    }
    if (count < 0)
        return count;
    events->fetched = count > 0;
    events->stage = TELL_FORKS;
    return 0;
}

int gt_events_next(struct gt_events *events, struct gt_event *ret, struct gt_error *error)
{
    for (;;) {
        int result = 0;
        switch (events->stage) {
        case FETCH_RECORDS: result = fetch_records(events, ret); break;
        case TELL_FORKS:
            result = events->has_forks ? gt_proc_events_next(&events->proc_events, ret) : 0;
            if (result == 0)
                events->stage = TELL_RECORDS;
            break;
        case TELL_RECORDS:
            result = events->fetched ? gt_taskstats_next(&events->taskstats, ret) : 0;
            if (result == 0) {
                events->stage = FETCH_RECORDS;
                if (!events->fetched)
                    return 0;
            }
            break;
        }
        if (result < 0)
            return gt_error_system(error, -result, "process events");
        if (result > 0)
            return 1;
    }
}

void gt_events_close(struct gt_events *events)
{
    if (!events)
        return;
    if (events == early.events) {
        atomic_flag_clear(&early.is_taken);
        return;
    }
    if (events->has_forks)
        gt_proc_events_close(&events->proc_events);
    if (events->has_records)
        gt_taskstats_close(&events->taskstats);
    gt_event_filter_free(events->filter);
    free(events);
}
