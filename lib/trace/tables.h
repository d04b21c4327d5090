/* Samples and events of a trace are tables with SMDebug's columns, and such tables are a trace again. */
#ifndef GT_TRACE_TABLES_H
#define GT_TRACE_TABLES_H

#include "base/table.h"
#include "trace/trace.h"

/* A caller asks for rows of a table; of several such requests a row meets any. */
struct gt_trace_rows {
    int64_t start, end;       /* ns since the epoch: events that touch them, samples between them, bounds included */
    bool by_step;             /* instead: events of steps start..end, samples in the time that those take */
    const char *const *names; /* NULL-terminated: of events, of their processes, of samples; NULL: all */
    bool are_patterns;        /* the names are extended regular expressions, to be found anywhere */
};

struct gt_row_filter {
    const struct gt_trace *trace;
    const struct gt_trace_rows *rows; /* the caller's */
    size_t count;
    unsigned char *verdict; /* of request and string: 0 not known yet */
    struct gt_row_span {
        int64_t start, end;
    } * hull; /* of each request by step */
};
/* Without requests every row passes. -EINVAL: an expression is wrong. Strings of the trace must not grow meanwhile. */
int gt_row_filter_open(struct gt_row_filter *ret, const struct gt_trace *trace, const struct gt_trace_rows *rows,
                       size_t count, struct gt_error *error);
bool gt_row_filter_event(const struct gt_row_filter *filter, size_t event);
bool gt_row_filter_sample(const struct gt_row_filter *filter, size_t sample);
void gt_row_filter_release(struct gt_row_filter *filter);

/* The tables below show these arguments: the reader keeps them, first and in this order. */
#define GT_TABLE_ARGUMENTS "worker_id", "num_workers", "pin_memory"
enum { GT_TABLE_WORKER_ID, GT_TABLE_NUM_WORKERS, GT_TABLE_PIN_MEMORY };

/* Returns a kept argument of an event as an integer; -1: it has none, or it is no number. */
int64_t gt_table_integer_of(const struct gt_trace *trace, size_t event, uint32_t key);

/* Returns the ns since the epoch from which the *_us columns count: those in the name of the first file of system
 * metrics of an SMDebug folder, or 0 without these; of other tools' traces the full second in which they begin. */
int64_t gt_trace_origin(const struct gt_trace *trace);
/* Makes a table of system metrics: timestamp, timestamp_us, value, system_metric, dimension, nodeID, type; sorted by
 * time. */
int gt_trace_samples_table(const struct gt_trace *trace, const struct gt_trace_rows *rows, size_t count,
                           struct gt_table **ret, struct gt_error *error);
/* Makes a table of events that last: start_time, end_time, start_time_us, end_time_us, tid, pid, framework_metric,
 * step (-1: none), bytes (-1: none), process, nodeID; sorted by start, longer ones first. */
int gt_trace_events_table(const struct gt_trace *trace, const struct gt_trace_rows *rows, size_t count,
                          struct gt_table **ret, struct gt_error *error);
/* Makes the same with the arguments of data loaders: start_time, end_time, start_time_us, end_time_us, duration_us,
 * pid, framework_metric, step, worker_id (-1: none), num_workers (-1: none), pin_memory ("True", "False", "NA"),
 * process, node_id. */
int gt_trace_loader_table(const struct gt_trace *trace, const struct gt_trace_rows *rows, size_t count,
                          struct gt_table **ret, struct gt_error *error);

/* Makes a trace of tables with the columns of gt_trace_samples_table and gt_trace_events_table: of samples
 * timestamp_us, value, system_metric, dimension, nodeID, type; of events start_time_us, end_time_us,
 * framework_metric, step, process, nodeID; others are not looked at. The columns are copied. The error of -EINVAL
 * names the one that is missing or of a wrong kind. */
int gt_trace_of_tables(struct gt_trace **ret, const struct gt_table *samples, const struct gt_table *events,
                       struct gt_error *error);

/* Events as their files have them are a table, for programs that look into arguments themselves. */

/* Makes a table of the events that last, instants too, in the order of the files: start_us (since the epoch), duration_us,
 * name, args (JSON; missing where there are none), ph, pid, tid, process, node, file. B and E are paired. */
int gt_trace_raw_table(const char *const paths[], size_t count, const struct gt_trace_options *options,
                       struct gt_table **ret, struct gt_error *error);

#endif
