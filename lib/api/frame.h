/* Building frames. */
#ifndef GT_API_FRAME_H
#define GT_API_FRAME_H

#include "gpu_tracker.h"

/* Columns first, then the cells of each row from the left. Failures of memory are kept until gt_frame_finish. */
struct gt_frame *gt_frame_new(void);
void gt_frame_add_column(struct gt_frame *frame, const char *name, enum gt_frame_kind kind);
void gt_frame_number(struct gt_frame *frame, double value); /* NaN: missing */
void gt_frame_integer(struct gt_frame *frame, int64_t value);
void gt_frame_text(struct gt_frame *frame, const char *value);
/* Turn a column of numbers into integers, unless one is missing or not whole. */
void gt_frame_make_integer(struct gt_frame *frame, size_t column);
/* 0, or -ENOMEM with the frame freed; `subject` is named. */
int gt_frame_finish(struct gt_frame **ret, struct gt_frame *frame, const char *subject, struct gt_error *error);

#endif
