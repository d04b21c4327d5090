/* Pairing B with E: by process and thread, innermost first, within one file and in its order. */
#ifndef GT_TRACE_PAIR_H
#define GT_TRACE_PAIR_H

#include "trace/format.h"

struct gt_pairing; /* of one file */

/* Takes whole events: phase X, arguments united. The item is borrowed for the call. */
struct gt_pair_receiver {
    void *context;
    int (*event)(void *context, const struct gt_raw_event *item, uint8_t flag);
};

int gt_pairing_open(struct gt_pairing **ret, struct gt_reading *reading, const struct gt_pair_receiver *receiver);
/* The lane, a track of the file, saw this moment (file time). */
int gt_pairing_time(struct gt_pairing *pairing, uint32_t track, int64_t time);
int gt_pairing_begin(struct gt_pairing *pairing, const struct gt_raw_event *item, uint32_t track);
/* An E without a thread, and without a B of that, closes the latest B of its process. */
int gt_pairing_end(struct gt_pairing *pairing, const struct gt_raw_event *item, uint32_t track);
/* Those still open are handed on, flagged, up to the last time of their track. */
int gt_pairing_finish(struct gt_pairing *pairing);
void gt_pairing_close(struct gt_pairing *pairing);

#endif
