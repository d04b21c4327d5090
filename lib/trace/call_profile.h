/* Calls that a timeline has as events, by viztracer, py-spy or PyTorch's profiler with stacks, make profiles. */
#ifndef GT_TRACE_CALL_PROFILE_H
#define GT_TRACE_CALL_PROFILE_H

#include "trace/trace.h"

enum gt_calls {
    GT_CALLS_PYTHON, /* of Python functions only */
    GT_CALLS_CPU /* of all that lies within one another on the threads of CPUs: functions, operators, runtime calls */
};

/* Adds a profile for each thread that has any. Returns 0 or -ENOMEM. */
int gt_call_profiles(struct gt_trace *trace, enum gt_calls calls);
/* Returns true for traces of tools that record Python functions alone: viztracer, py-spy. */
bool gt_calls_alone(const struct gt_trace *trace);

#endif
