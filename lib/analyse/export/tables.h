/* The tables that a trace is exported as; docs/profile.md describes them. */
#ifndef GT_ANALYSE_EXPORT_TABLES_H
#define GT_ANALYSE_EXPORT_TABLES_H

#include "base/table.h"
#include "trace/source.h"

/* An event is told with this beside its columns: its arguments, and some of them by themselves. */
struct gt_exported_event {
    const struct gt_trace_event *event;
    uint32_t file, node;
    int32_t step;                /* of the event, or of the window it begins in; GT_TRACE_NO_STEP */
    struct gt_span args, shapes; /* JSON as it stands in the file; {NULL} */
    int64_t device, stream;      /* -1: not told */
};

/* Finds these; the windows are those of the survey. */
struct gt_exported_event gt_exported_event(const struct gt_trace *trace, const struct gt_step_windows *windows,
                                           const struct gt_trace_event *event);

/* Writes the trace of an opened source to a SQLite database, which is there already and empty. *events and *samples count
 * what was written. */
int gt_export_sqlite(struct gt_trace_source *source, const char *path, uint64_t *events, uint64_t *samples,
                     struct gt_error *error);
/* Makes a table of the events. Bytes that are no UTF-8 become U+FFFD. */
int gt_export_table(struct gt_trace_source *source, struct gt_table **ret, struct gt_error *error);
/* Passes the events on as tables of some of them, whose texts have no dictionaries; the last one may be empty. `take` returns 0 or a
 * negative errno, and keeps no table. */
int gt_export_batches(struct gt_trace_source *source,
                      int (*take)(void *context, const struct gt_table *table, bool is_last), void *context,
                      uint64_t *events, struct gt_error *error);
/* Writes the events to a file of Arrow's IPC format. */
int gt_export_arrow(struct gt_trace_source *source, int fd, uint64_t *events, struct gt_error *error);

#endif
