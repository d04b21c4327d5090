/* A sentence tells what two traces do differently. */
#ifndef GT_ANALYSE_TRACE_DIFF_WORDS_H
#define GT_ANALYSE_TRACE_DIFF_WORDS_H

#include <stddef.h>

#include "base/buffer.h"

struct gt_diff_change {
    const char *name;
    size_t count[2]; /* how often in A and in B */
    double us[2];    /* in all, or in each step */
};

/* What the changes are part of. */
struct gt_diff_whole {
    const char *what, *each; /* "GPUs work", " a step" */
    double us[2];
};

/* Adds up the changes of each side. */
struct gt_diff_whole gt_diff_sum(const struct gt_diff_change *change, size_t count, const char *what, const char *each);
/* Sorts the changes, and appends "WHAT 5 ms EACH in B, 4 ms in A (+25 %): f takes 1 ms more EACH (+50 %); ..." with the largest
 * changes, of those that are 1 % of the whole. */
void gt_diff_words(struct gt_diff_change *change, size_t count, const struct gt_diff_whole *sum, const char *each,
                   struct gt_buffer *out);

#endif
