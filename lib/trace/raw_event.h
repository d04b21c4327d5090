/* An event of the Trace Event Format is read as it stands in the text.
 * The format: "Trace Event Format", N. Duca and D. Sinclair, Google, 2016. */
#ifndef GT_TRACE_RAW_EVENT_H
#define GT_TRACE_RAW_EVENT_H

#include "trace/input/scan.h"

enum { GT_RAW_EVENT_TIME = 1, GT_RAW_EVENT_DURATION = 2, GT_RAW_EVENT_MENDED = 4 };

/* Spans are raw: escapes not undone; strings without quotes but for `id`, `args` and `text`. */
struct gt_raw_event {
    struct gt_span text; /* the whole object */
    struct gt_span name, category, pid, tid, id, args;
    struct gt_span real_pid, real_tid, label; /* args.pid, args.thread_id; args.layer_name or args.name */
    int64_t start, duration;                  /* ns, as the file counts; 0 when not given */
    int64_t bytes;                            /* args.bytes_fetched, bytes, Bytes; -1 */
    uint64_t correlation, external;           /* GT_TRACE_NO_ID */
    int32_t step;                             /* args.step_num; GT_TRACE_NO_STEP */
    char phase;                               /* "ph" */
    uint8_t has;                              /* the bits above */
    bool has_others; /* there are members but those above, "ph", "ts" and "dur", or two "cat" */
};

/* Returns an event that lasts `duration` from `start` on ("ph": "X"), and of which nothing else is told. */
struct gt_raw_event gt_raw_event_of(struct gt_span name, int64_t start, int64_t duration);

/* Reads an event. Returns 0; 1 for an empty object, as TensorFlow ends its lists with; -EBADMSG where it is no JSON,
 * has no "ph" or a time that is no number. Only after 0 does *item mean something. */
int gt_raw_event_parse(struct gt_raw_event *item, struct gt_span text);

/* Makes it an event of which nothing but its text is told. */
void gt_raw_event_begin(struct gt_raw_event *item, struct gt_span text);
/* These read one member of an event, one of its arguments (span `value` as it stands), and forget what all arguments told.
 * -EBADMSG as above. */
int gt_raw_event_take_member(struct gt_raw_event *item, struct gt_span key, struct gt_span value);
void gt_raw_event_take_argument(struct gt_raw_event *item, struct gt_span key, struct gt_span value);
void gt_raw_event_forget_arguments(struct gt_raw_event *item);

/* Reads the columns again from item->args, which was changed. Returns 0 or -EBADMSG. */
int gt_raw_event_arguments(struct gt_raw_event *item);

#endif
