/* Python functions are added up over the dumps of profilers. */
#ifndef GT_ANALYSE_CALLS_FUNCTIONS_H
#define GT_ANALYSE_CALLS_FUNCTIONS_H

#include "analyse/trace/analysis.h"
#include "base/table.h"

/* Dumps are put together by one of these. */
enum gt_dump_group {
    GT_DUMPS_ALL,
    GT_DUMPS_EACH,
    GT_DUMPS_STEP,
    GT_DUMPS_MODE,
    GT_DUMPS_TRAINING_PHASE,
    GT_DUMPS_JOB_PHASE
};

/* Functions of the dumps of these files (NULL: of all) that options->phases allows: names of modes ("train"), of training
 * phases ("stepstart", or "stepstart-forwardpassend" from one to the other) and of parts of the job
 * ("initialization", "training_loop", "finalization"), and whose times are of that unit, one row for each dump: group
 * profiler file name line tottime cumtime pcalls ncalls, and dump index, which are numbers. A group's words are titles; with
 * GT_DUMPS_ALL it is missing. */
struct gt_rows gt_functions_of_dumps(const struct gt_analysis_input *input, enum gt_dump_group by,
                                     enum gt_profile_unit unit, const char *const *paths);
/* Returns those added up: group profiler file name line, sorted by these, and tottime cumtime pcalls ncalls. */
struct gt_rows gt_functions_sum(const struct gt_rows *of_dumps);
/* Returns who called some of those that were added up, caller by caller: item file name line, sorted by these, and tottime
 * cumtime pcalls ncalls. `item` is the row of the function that is called, and becomes a column there, too. */
struct gt_rows gt_function_callers(const struct gt_analysis_input *input, const struct gt_rows *of_dumps,
                                   struct gt_rows *functions);
/* Adds names as pstats writes them: "file:line(function)"; a built-in function, of file "~", has its name alone, with
 * braces for angle brackets. Returns them. */
const char **gt_function_titles(const struct gt_analysis_input *input, struct gt_rows *rows, const char *as);

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
