/* A sentence tells how much longer steps of one trace take than those of another, and what their hosts do longer. */
#ifndef GT_ANALYSE_TRACE_DIFF_STEPS_H
#define GT_ANALYSE_TRACE_DIFF_STEPS_H

#include "analyse/trace/analysis.h"
#include "base/buffer.h"

#define GT_PROFILER_STEP "ProfilerStep"

/* The numbered names of the PyTorch profiler's steps are one name. */
bool gt_is_profiler_step(const char *name);

/* Appends "A step takes 5 ms in B, 4 ms in A (+25 %): f takes 1 ms more a step (+50 %); ..." with the self times of operators,
 * ranges and calls in steps, but for calls in which the host waits for its GPU. Returns 0 where a trace has no steps, 1 where
 * nothing is known of the hosts, else 2; or -ENOMEM. */
int gt_diff_step_words(const struct gt_analysis_input *const inputs[2], struct gt_buffer *out);

#endif
