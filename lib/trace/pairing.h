/* Begins and ends of events are paired lane by lane, innermost first. */
#ifndef GT_TRACE_PAIRING_H
#define GT_TRACE_PAIRING_H

#include <stddef.h>
#include <stdint.h>

#include "trace/trace.h"

/* An event that has begun. */
struct gt_open_event {
    int64_t start;
    uint32_t lane, below;    /* below: the one it lies in on its lane */
    uint32_t name, category; /* strings */
    char *text;              /* of the event or its arguments; may be NULL */
    size_t length;
};

/* All zero is empty. */
struct gt_pairing {
    struct gt_open_event *open; /* in file order; `lane` is GT_TRACE_NONE where it has ended */
    size_t open_count, open_capacity;
    struct gt_lane {
        int64_t last; /* moment that it saw */
        uint32_t top; /* its innermost open event, or GT_TRACE_NONE */
    } * lane;
    size_t lane_count, lane_capacity;
};

/* Returns a lane, new or known; NULL without memory. */
struct gt_lane *gt_pairing_lane(struct gt_pairing *pairing, uint32_t lane);
/* Notes that the lane saw a moment. Returns 0 or -ENOMEM. */
int gt_pairing_see(struct gt_pairing *pairing, uint32_t lane, int64_t time);
/* Begins an event, whose text is copied. Returns 0 or -ENOMEM; 1: too many are open, and it is left out. */
int gt_pairing_begin(struct gt_pairing *pairing, const struct gt_open_event *event);
/* Ends an open event, and returns it. The caller frees its text. */
struct gt_open_event gt_pairing_end(struct gt_pairing *pairing, size_t open);
void gt_pairing_release(struct gt_pairing *pairing);

#endif
