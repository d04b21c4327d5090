/* A scan cuts JSON text into events, in place.
 *
 * It reads blocks and finds where events begin and end, by braces outside of strings; it does not look into them.
 * Texts are arrays of events, objects with an array "traceEvents" among other members, or lines of one object each.
 * Damage is passed over: an event that never ends (cut off, or a quote too many) is left out and the search goes on at
 * the next event that begins a line or follows a comma. */
#ifndef GT_TRACE_INPUT_SCAN_H
#define GT_TRACE_INPUT_SCAN_H

#include "trace/input/input.h"
#include "trace/input/walk.h"
#include "trace/trace.h"

#define GT_SCAN_PAD 64                    /* readable bytes behind the text of a batch */
#define GT_SCAN_EVENT_CEILING (64u << 20) /* a longer event is damage */
#define GT_SCAN_MEMBER_CEILING (1u << 20) /* longer members beside the events are passed over */

enum gt_scan_form { GT_SCAN_EVENTS, GT_SCAN_LINES };

struct gt_scan_entry {
    size_t key, key_length;     /* a member beside the events: its key, else 0 and SIZE_MAX */
    size_t value, value_length; /* the event from brace to brace, the line, or the member's value */
};

/* A batch is some text with the entries found in it. */
struct gt_batch {
    char *text;
    size_t length, capacity;
    struct gt_scan_entry *entry;
    size_t count, entries;
    uint64_t offset; /* of the text in the file */
    struct gt_trace_damage damage;
};

struct gt_scan;

/* Opens a scan that reads `block` bytes at a time, 0: 256 KiB. The input stays the caller's. */
int gt_scan_open(struct gt_scan **ret, struct gt_input *input, enum gt_scan_form form, size_t block);
/* Fills a batch anew, with what was lost on the way, and returns 1; 0 at the end, where `damage` may still tell
 * something; the negative errors of the input. */
int gt_scan_next(struct gt_scan *scan, struct gt_batch *batch, struct gt_error *error);
uint64_t gt_scan_bytes(const struct gt_scan *scan); /* read so far */
bool gt_scan_has_list(const struct gt_scan *scan);  /* a list of events was found, though it may be empty */
void gt_scan_close(struct gt_scan *scan);
void gt_batch_release(struct gt_batch *batch);

/* Returns the end of the object that begins at `from` ('{'), behind its last brace; 0 when it does not end before
 * `length`, or a string before its end begins where none can: quotes went wrong. It reads up to GT_SCAN_PAD bytes past `length`. The
 * others do the same on processors without AVX2, and a byte at a time. */
size_t gt_scan_object_end(const char *text, size_t from, size_t length);
size_t gt_scan_object_end_narrow(const char *text, size_t from, size_t length);
size_t gt_scan_object_end_plain(const char *text, size_t from, size_t length);

#endif
