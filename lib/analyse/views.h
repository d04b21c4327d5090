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
/* Calls that launched work, by keys such as "node device": keys call begin work call_length delay. `begin` is that of the
 * first work of the call, `work` the length of all, `delay` the time from the end of the call to `begin`, or 0. */
struct gt_rows gt_view_launches(const struct gt_analysis_input *input, const char *keys);

/* Pieces of time between the first start and the last end of a device's work, without pauses between recordings, with what ran in them:
 * node device uses start end length. `uses` is a set of bits 1 << enum gt_use. */
struct gt_rows gt_view_pieces(const struct gt_analysis_input *input);
/* Time of each device by use: node device span idle compute communication memory all_communication hidden_communication all_memory
 * hidden_memory. Each moment counts once in the first four after `span`: as compute, else as communication, else as memory, else as idle.
 * `hidden` is the part of all communication, or memory, during which computation ran, too. */
struct gt_rows gt_view_device_times(const struct gt_analysis_input *input);

/* A GPU stands still for one of these causes. */
enum gt_idle_cause { GT_IDLE_HOST, GT_IDLE_KERNEL, GT_IDLE_OTHER, GT_IDLE_CAUSES };
/* Gaps between work of one device ("node device") or stream ("node device stream"): the columns of the work behind them, and from to idle
 * pause cause loading call_before. `idle` is 0 in a pause between recordings, and `pause` the part of the gap that is none. `loading` is
 * the part of a gap that waits for the host (GT_IDLE_HOST) in which a data loader was at work. */
struct gt_rows gt_view_gaps(const struct gt_analysis_input *input, const char *keys);
/* Idle time by device or stream: keys span idle gaps host_wait between_kernels other data_loader. */
struct gt_rows gt_view_idle(const struct gt_analysis_input *input, const char *keys);

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

/* Steps of wanted phases: node mode step start end length. */
struct gt_rows gt_rows_of_steps(const struct gt_analysis_input *input);
/* Returns how many of the rows, which are by node and start, begin at the time or before it, of this node and those before it. */
size_t gt_rows_behind(const struct gt_rows *rows, uint32_t node, int64_t time);
/* Add the cells of one row to a table whose first columns are these. */
void gt_rows_put_row(const struct gt_analysis_input *input, struct gt_table *table, const struct gt_rows *rows,
                     size_t row, const char *columns);

#endif
