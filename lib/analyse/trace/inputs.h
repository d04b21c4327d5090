/* What was read is held against what was asked for: filters that match nothing, a rank that is read twice. */
#ifndef GT_ANALYSE_TRACE_INPUTS_H
#define GT_ANALYSE_TRACE_INPUTS_H

#include "gpu_tracker.h"
#include "report/report.h"
#include "trace/trace.h"

/* Does a filter leave anything of a trace, which is kept to its bounds already? 0, or -EINVAL with a sentence that tells what there
 * is. `options` may be NULL. */
int gt_inputs_matched(const struct gt_trace *trace, const struct gt_trace_options *reading,
                      const struct gt_profile_options *options, struct gt_error *error);
/* Name ranks that stand in two files of a format whose times overlap. Returns 0 or -ENOMEM. */
int gt_inputs_tell_twice(struct gt_node *root, const struct gt_trace *trace, const char *key);

#endif
