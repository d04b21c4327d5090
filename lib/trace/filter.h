/* The filter decides which events and samples are kept while files are read. */
#ifndef GT_TRACE_FILTER_H
#define GT_TRACE_FILTER_H

#include <regex.h>

#include "trace/trace.h"
#include "trace/walk.h"

struct gt_window {
    uint32_t node;
    int64_t start, end;
};

enum { GT_FILTER_VERDICTS = 1 << 14 };

struct gt_filter {
    const struct gt_trace_options *options;
    int64_t start, end;       /* absolute, inclusive */
    struct gt_window *window; /* by_step: sorted by node and start */
    size_t windows;
    bool has_select;
    regex_t select;
    struct gt_verdict { /* what the expression said of names lately, by hash */
        uint64_t hash;
        uint32_t length;
        bool known, passes;
    } * verdict;
};

/* `survey` has the steps and the time ranges of all files; NULL when the options need neither. -EINVAL: the expression
 * is wrong. */
int gt_filter_open(struct gt_filter *ret, const struct gt_trace_options *options, const struct gt_trace *survey,
                   struct gt_error *error);
bool gt_filter_needs_survey(const struct gt_trace_options *options);
bool gt_filter_event(const struct gt_filter *filter, uint32_t node, int32_t step, int64_t start, int64_t end);
bool gt_filter_sample(const struct gt_filter *filter, int64_t time);
bool gt_filter_name(struct gt_filter *filter, struct gt_span name);
void gt_filter_release(struct gt_filter *filter);

#endif
