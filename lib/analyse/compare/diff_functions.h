/* Functions of Python profiles are matched over two traces, for what is compared of these. */
#ifndef GT_ANALYSE_COMPARE_DIFF_FUNCTIONS_H
#define GT_ANALYSE_COMPARE_DIFF_FUNCTIONS_H

#include "analyse/compare/diff_words.h"
#include "analyse/trace/analysis.h"

struct gt_diff_functions {
    struct gt_diff_change *change; /* self times in all; calls */
    size_t count;
    bool is_counted; /* else the profilers count no calls: that of a function that is there is 1 */
    char **title;
    size_t titles;
};

/* Functions of one file and name are one, though their lines have moved, where both sides have as many of them; else those
 * of the same line are. Returns 0 or -ENOMEM. */
int gt_diff_functions_find(const struct gt_analysis_input *const inputs[2], struct gt_diff_functions *ret);
void gt_diff_functions_release(struct gt_diff_functions *functions);

#endif
