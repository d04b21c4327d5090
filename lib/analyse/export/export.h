/* Traces are written in other forms: tables for SQL, and call stacks as a flame graph. */
#ifndef GT_ANALYSE_EXPORT_EXPORT_H
#define GT_ANALYSE_EXPORT_EXPORT_H

#include "report/report.h"
#include "trace/trace.h"

struct gt_export_options {
    struct gt_trace_options trace;
    struct gt_export_request request;
};

/* Writes the file, and reports what went into it. -EINVAL: the suffix says nothing, or there is nothing to be written. */
int gt_export(struct gt_report **ret, const char *const paths[], size_t count, const struct gt_export_options *options,
              struct gt_error *error);
/* Returns true for a regular file that is an Arrow file or a database of SQLite, by what it begins with. */
bool gt_export_is_at(const char *path);

#endif
