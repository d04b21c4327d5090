/* Views are rows that several analyses need. Each is made when it is first asked for, and kept until the analysis ends.
 *
 * Nodes, devices, streams and names are places in the order of all texts (gt_analysis_text), so that sorting by them sorts by the text.
 * `event` is the number of an event. Times are in nanoseconds. */
#ifndef GT_ANALYSE_VIEWS_H
#define GT_ANALYSE_VIEWS_H

#include "analyse/trace/analysis.h"
#include "query/rows.h"

/* Events for which `is_wanted`: node track name event start end length. It is asked twice. */
struct gt_rows gt_rows_of_events(const struct gt_analysis_input *input,
                                 bool (*is_wanted)(const struct gt_analysis_input *input, size_t event));

/* Kernels, copies and fills: node track name event start end length, and
 * device stream use recording. */
struct gt_rows gt_view_work(const struct gt_analysis_input *input);
/* The same, with the runtime call that launched each: `call`, an event or GT_NO_KEY, and `launched`, when it began or GT_NO_WHOLE. */
struct gt_rows gt_view_launched_work(const struct gt_analysis_input *input);
/* Steps that nodes with one clock took: mode step node start end length. */
struct gt_rows gt_view_steps(const struct gt_analysis_input *input);
/* Times in which a data loader was at work: node start end. */
struct gt_rows gt_view_loading(const struct gt_analysis_input *input);

/* Sort a list by `first`, the column of options->key (GT_LIST_KEYS), and `last`: "node", "name use". An unknown key makes the query fail
 * with -EINVAL and sets input->error. */
void gt_rows_sort_list(const struct gt_analysis_input *input, struct gt_rows *rows, const char *first,
                       const char *last);
/* Add a table with columns as gt_analysis_table takes them. A column "total_us" shows the column "total", which is in nanoseconds, if there
 * is no "total_us". */
struct gt_table *gt_rows_put(const struct gt_analysis_input *input, struct gt_node *root, const char *key,
                             const char *title, const struct gt_rows *rows, const char *columns, const char *reason);

/* The aggregates of GT_NUMBERS_COLUMNS_US. */
#define GT_STATISTICS_US(of)                                                                            \
    GT_MEAN_US("mean_us", of), GT_MIN("min", of), GT_MAX("max", of), GT_QUANTILE_US("p50_us", of, 0.5), \
        GT_QUANTILE_US("p95_us", of, 0.95), GT_QUANTILE_US("p99_us", of, 0.99)

#endif
