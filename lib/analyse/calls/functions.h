/* Python functions are added up over the dumps of profilers. */
#ifndef GT_ANALYSE_CALLS_FUNCTIONS_H
#define GT_ANALYSE_CALLS_FUNCTIONS_H

#include "analyse/trace/analysis.h"
#include "base/table.h"

/* pstats sorts by these, too. */
enum { GT_TOTAL_TIME, GT_CUMULATIVE_TIME, GT_PRIMITIVE_CALLS, GT_TOTAL_CALLS, GT_FUNCTION_FIGURES };

/* Dumps are put together by one of these. */
enum gt_dump_group {
    GT_DUMPS_ALL,
    GT_DUMPS_EACH,
    GT_DUMPS_STEP,
    GT_DUMPS_MODE,
    GT_DUMPS_TRAINING_PHASE,
    GT_DUMPS_JOB_PHASE
};

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

/* Adds up the dumps of these files (NULL: of all) that options->phases allows: names of modes ("train"), of training
 * phases ("stepstart", or "stepstart-forwardpassend" from one to the other) and of parts of the job
 * ("initialization", "training_loop", "finalization"), and whose times are of that unit. Returns 0 or -ENOMEM. */
int gt_functions_sum(const struct gt_analysis_input *input, enum gt_dump_group by, enum gt_profile_unit unit,
                     const char *const *paths, struct gt_function_sums *ret);
/* Returns *count callers of one sum, added up caller by caller, for the caller to free; NULL without memory. */
struct gt_function_sum *gt_function_callers(const struct gt_analysis_input *input, const struct gt_function_sums *sums,
                                            const struct gt_function_sum *callee, size_t *count);
/* Writes a name as pstats does: "file:line(function)"; a built-in function, of file "~", has its name alone, with
 * braces for angle brackets. Returns the text. */
const char *gt_function_title(const struct gt_analysis_input *input, const struct gt_function_sum *sum,
                              struct gt_buffer *text);
void gt_functions_release(struct gt_function_sums *sums);

/* Makes a table of the dumps: profiler_name, framework, node_id, start_mode, start_phase, start_step, start_us,
 * end_mode, end_phase, end_step, end_us, stats_path, html_path; sorted by start and node. Texts and numbers that are
 * not known are missing; before step 0 is step -1, after the last infinity. */
int gt_dumps_table(const struct gt_trace *trace, struct gt_table **ret, struct gt_error *error);
/* Makes a table of the functions of the dumps of some files, added up: file, line, function, function_name (as pstats
 * shows it), prim_calls, total_calls (-1: not counted), total_time, cumulative_time (seconds). With `of_callers` it tells
 * who called them: function and caller (rows of the other table, from 0), prim_calls, total_calls, total_time,
 * cumulative_time. */
int gt_functions_table(const struct gt_trace *trace, const char *const *paths, bool of_callers, struct gt_table **ret,
                       struct gt_error *error);

#endif
