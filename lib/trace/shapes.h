/* Shapes are how the events of a file are written. A program writes all its events in a few ways, which differ in their
 * strings and numbers alone: the text between these is learnt, and is then compared where it would have to be read. */
#ifndef GT_TRACE_SHAPES_H
#define GT_TRACE_SHAPES_H

#include "trace/raw_event.h"

struct gt_shapes;

int gt_shapes_open(struct gt_shapes **ret); /* 0 or -ENOMEM */
/* Does what gt_raw_event_parse does, for texts behind which GT_SCAN_PAD bytes can be read. */
int gt_shapes_parse(struct gt_shapes *shapes, struct gt_raw_event *item, struct gt_span text);
uint64_t gt_shapes_met(const struct gt_shapes *shapes); /* how many events were of a shape that was known */
void gt_shapes_close(struct gt_shapes *shapes);         /* NULL does nothing */

/* Returns the first quote, backslash or control character; `text` has one. The other does it a byte at a time. */
const char *gt_shapes_string_end(const char *text);
const char *gt_shapes_string_end_plain(const char *text);
/* Returns where the number ends that begins here, NULL where it is none. */
const char *gt_shapes_number_end(const char *text);

#endif
