/* Rows of tables that a caller asks for. */
#ifndef GT_TRACE_ROWS_H
#define GT_TRACE_ROWS_H

#include "trace/trace.h"

/* Which rows of a table; where there are several of these, rows that meet any of them. */
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

/* The step an event bears itself. Of SMDebug's timelines that is what the file says; elsewhere the window it starts in. */
int32_t gt_trace_row_step(const struct gt_trace *trace, size_t event);

#endif
