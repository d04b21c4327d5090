/* Pieces of text are put into the order of time, however many there are, in bounded memory: sorted runs are laid aside in a
 * file without a name, and merged at the end. Pieces of one time stand by rank, those of one rank in the
 * order in which they came. */
#ifndef GT_ANALYSE_MERGE_SORTED_TEXT_H
#define GT_ANALYSE_MERGE_SORTED_TEXT_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

struct gt_sorted_text;

/* `beside` is a path in whose folder the file lies; `memory` is how much text is held, 0: 16 MiB. */
int gt_sorted_text_open(struct gt_sorted_text **ret, const char *beside, size_t memory, struct gt_error *error);
/* Returns the text to whose end the next piece is written. */
struct gt_buffer *gt_sorted_text_end(struct gt_sorted_text *sorted);
/* What was written since the last call is a piece. */
int gt_sorted_text_add(struct gt_sorted_text *sorted, int64_t time, int64_t rank, struct gt_error *error);
/* Hands over all pieces in their order. Negative values of `take` end it and are returned. */
int gt_sorted_text_take(struct gt_sorted_text *sorted,
                        int (*take)(void *context, const char *text, size_t length, struct gt_error *error),
                        void *context, struct gt_error *error);
void gt_sorted_text_close(struct gt_sorted_text *sorted); /* NULL does nothing */

#endif
