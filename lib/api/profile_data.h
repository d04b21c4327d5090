/* Traces kept in memory for several questions: their tables, and analyses of tables. For Python. */
#ifndef GT_API_PROFILE_DATA_H
#define GT_API_PROFILE_DATA_H

#include "base/table.h"

struct gt_profile;

/* Read files and folders as one trace. */
int gt_profile_open(struct gt_profile **ret, const char *const *paths, size_t count,
                    const struct gt_trace_request *request, struct gt_error *error);
/* A trace made of tables with the columns of gt_profile_samples and gt_profile_events: of samples timestamp_us, value,
 * system_metric, dimension, nodeID, type; of events start_time_us, end_time_us, framework_metric, step, process,
 * nodeID; others are not looked at. The columns are copied. -EINVAL names the one that is missing or of a wrong kind. */
int gt_profile_of_tables(struct gt_profile **ret, const struct gt_table *samples, const struct gt_table *events,
                         struct gt_error *error);
void gt_profile_close(struct gt_profile *profile);

/* Nanoseconds since the epoch from which the *_us columns count: that in the name of the first file of system metrics of
 * an SMDebug folder, else 0. */
int64_t gt_profile_origin(const struct gt_profile *profile);
/* gt_profile_report of it. */
int gt_profile_analyse(const struct gt_profile *profile, const char *analysis, const struct gt_profile_options *options,
                       struct gt_report **ret, struct gt_error *error);

/* Which rows of a table; where there are several of these, rows that meet any of them. */
struct gt_profile_rows {
    size_t size;
    int64_t start, end;       /* ns since the epoch: events that touch them, samples between them, bounds included */
    int by_step;              /* instead: events of steps start..end, samples in the time that those take */
    const char *const *names; /* NULL-terminated: of events, of their processes, of samples; NULL: all */
    int are_patterns;         /* the names are extended regular expressions, to be found anywhere */
};

/* System metrics: timestamp, timestamp_us, value, system_metric, dimension, nodeID, type; by time. */
int gt_profile_samples(const struct gt_profile *profile, const struct gt_profile_rows *rows, size_t count,
                       struct gt_table **ret, struct gt_error *error);
/* Events that last: start_time, end_time, start_time_us, end_time_us, tid, pid, framework_metric, step (-1: none),
 * bytes (-1: none), process, nodeID; by start, longer ones first. */
int gt_profile_events(const struct gt_profile *profile, const struct gt_profile_rows *rows, size_t count,
                      struct gt_table **ret, struct gt_error *error);
/* The same with what a data loader says: start_time, end_time, start_time_us, end_time_us, duration_us, pid,
 * framework_metric, step, worker_id (-1: none), num_workers (-1: none), pin_memory ("True", "False", "NA"), process,
 * node_id. */
int gt_profile_loader_events(const struct gt_profile *profile, const struct gt_profile_rows *rows, size_t count,
                             struct gt_table **ret, struct gt_error *error);
/* The steps of a data loader that last at least twice the median, the longest first: previous_start (batches: when the one
 * before was fetched), start_time, end_time, duration_us, worker_id, framework_metric, nodeID. `part` is one of those of
 * the analysis "dataloader": "initialization", "worker", "get_next", "batch". */
int gt_profile_loader_outliers(const struct gt_profile *profile, const char *part, struct gt_table **ret,
                               struct gt_error *error);
/* How long what ran in given spans of time, [start, end) in ns since the epoch: framework_metric, process, overlap_us;
 * by process and name. A span without length asks what ran at that moment, and takes its whole length. Steps count
 * once for each span that they touch. */
int gt_profile_overlaps(const struct gt_profile *profile, const int64_t (*spans)[2], size_t count,
                        const char *const *names, struct gt_table **ret, struct gt_error *error);
/* System metrics and events of a stretch of time, to be drawn: the report's HTML shows them above each other. Both are
 * selected by extended regular expressions, NULL: all. */
int gt_profile_window(const struct gt_profile *profile, int64_t start, int64_t end, const char *const *events,
                      const char *const *dimensions, struct gt_report **ret, struct gt_error *error);

/* Dumps of Python profilers: profiler_name, framework, node_id, start_mode, start_phase, start_step, start_us, end_mode,
 * end_phase, end_step, end_us, stats_path, html_path; by start and node. Texts and numbers that are not known are
 * missing; before step 0 is step -1, after the last infinity. */
int gt_profile_dumps(const struct gt_profile *profile, struct gt_table **ret, struct gt_error *error);
/* Functions of some of the dumps, which are known by stats_path, added up: file, line, function, function_name (as
 * pstats shows it), prim_calls, total_calls, total_time, cumulative_time (seconds). */
int gt_profile_functions(const struct gt_profile *profile, const char *const *stats_paths, struct gt_table **ret,
                         struct gt_error *error);
/* And who called them: function and caller (rows of gt_profile_functions, from 0), prim_calls, total_calls, total_time,
 * cumulative_time. */
int gt_profile_callers(const struct gt_profile *profile, const char *const *stats_paths, struct gt_table **ret,
                       struct gt_error *error);

#endif
