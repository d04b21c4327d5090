/* A sentence tells what two traces do differently. */
#ifndef GT_ANALYSE_COMPARE_DIFF_WORDS_H
#define GT_ANALYSE_COMPARE_DIFF_WORDS_H

#include <stddef.h>

#include "base/buffer.h"

struct gt_diff_change {
    const char *name;
    size_t count[2]; /* how often in A and in B */
    double us[2];    /* in all, or in each step */
};

/* Sorts the changes, and appends "WHAT 5 ms EACH in B, 4 ms in A (+25 %): f takes 1 ms more OF (+50 %); ..." with the largest
 * changes, of those that are 1 % of the whole in A and in B: that is the sum of the changes, where `whole` is NULL. */
void gt_diff_words(struct gt_diff_change *change, size_t count, const char *what, const char *each, const char *of,
                   const double whole[2], struct gt_buffer *out);

#endif
