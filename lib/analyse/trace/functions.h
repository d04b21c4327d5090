/* Python functions added up over the dumps of profilers. */
#ifndef GT_ANALYSE_FUNCTIONS_H
#define GT_ANALYSE_FUNCTIONS_H

#include "analyse/trace/analysis.h"

/* The keys by which pstats sorts, too. */
enum { GT_TOTAL_TIME, GT_CUMULATIVE_TIME, GT_PRIMITIVE_CALLS, GT_TOTAL_CALLS, GT_FUNCTION_FIGURES };
extern const char *const gt_function_figures[GT_FUNCTION_FIGURES + 1]; /* NULL-terminated */

/* What dumps are put together by. */
enum gt_dump_group {
    GT_DUMPS_ALL,
    GT_DUMPS_EACH,
    GT_DUMPS_STEP,
    GT_DUMPS_MODE,
    GT_DUMPS_TRAINING_PHASE,
    GT_DUMPS_JOB_PHASE
};
extern const char *const gt_dump_groups[]; /* their names, NULL-terminated */

enum { GT_FUNCTION_KEYS = 5 };

/* One function, of one dump or of all of a group. */
struct gt_function_sum {
    uint32_t key[GT_FUNCTION_KEYS]; /* group, profiler, file and function as places, line */
    double figure[GT_FUNCTION_FIGURES];
    const struct gt_trace_profile *profile;
    size_t function;
};

struct gt_function_sums {
    char **group; /* titles, by the first dump; "" for GT_DUMPS_ALL */
    size_t groups;
    struct gt_function_sum *each; /* of every dump, sorted by key */
    struct gt_function_sum *sum;  /* added up, sorted by key */
    size_t each_count, count;
};

/* Of the dumps that options->phases allows: names of modes ("train"), of training phases ("stepstart", or
 * "stepstart-forwardpassend" from one to the other) and of parts of the job ("initialization", "training_loop", "finalization").
 * 0 or -ENOMEM. */
int gt_functions_sum(const struct gt_analysis_input *input, enum gt_dump_group by, struct gt_function_sums *ret);
/* Who called: callers of one sum, added up caller by caller, to be freed. *count of them; NULL without memory. */
struct gt_function_sum *gt_function_callers(const struct gt_analysis_input *input, const struct gt_function_sums *sums,
                                            const struct gt_function_sum *callee, size_t *count);
/* pstats' way: "file:line(function)"; for what is built in, file "~", the bare name, with braces for its angle brackets. */
const char *gt_function_name(const char *file, uint32_t line, const char *function, struct gt_buffer *text);
const char *gt_function_title(const struct gt_analysis_input *input, const struct gt_function_sum *sum,
                              struct gt_buffer *text);
void gt_functions_release(struct gt_function_sums *sums);

#endif
