/* What was read is held against what was asked for: filters that match nothing, files that hold nothing, cannot be read, are damaged or
 * stand there twice. */
#ifndef GT_ANALYSE_TRACE_INPUTS_H
#define GT_ANALYSE_TRACE_INPUTS_H

#include "gpu_tracker.h"
#include "report/report.h"
#include "trace/trace.h"

bool gt_inputs_has_content(const struct gt_trace *trace, const struct gt_trace_file *file);
/* Is there anything in a trace, which is kept to its bounds already, and do filters leave anything of it? 0, or -EINVAL with a sentence
 * that tells what there is. `options` may be NULL. */
int gt_inputs_matched(const struct gt_trace *trace, const struct gt_trace_options *reading,
                      const struct gt_profile_options *options, struct gt_error *error);
/* Folders that hold nothing to be read are no trace without events: -EINVAL or -EACCES, else 0. */
int gt_inputs_refuse_nothing(const struct gt_trace *trace, const char *path, const struct gt_trace_options *reading,
                             struct gt_error *error);
/* The report names files that were read beside those asked for, could not be read or were damaged, and ranks that stand in two files of a
 * format whose times overlap; those of the second trace under other keys. Returns 0 or -ENOMEM. */
int gt_inputs_tell(struct gt_report *report, const struct gt_trace *trace, const char *const *paths, size_t count,
                   bool is_second);

#endif
