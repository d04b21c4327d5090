/* A profile is made of functions in any order, and of call stacks that add up to a tree. */
#ifndef GT_TRACE_PROFILE_MAKER_H
#define GT_TRACE_PROFILE_MAKER_H

#include "trace/format.h"
#include "trace/trace.h"

/* Time that a function spent when called by another. */
struct gt_profile_edge {
    uint32_t function, caller;
    int64_t calls;
    double total_time, cumulative_time;
};

/* This fell on a frame itself: its children have theirs. */
struct gt_profile_own {
    double weight;
    int64_t calls;
};

/* A call that has not returned. */
struct gt_profile_call {
    uint32_t frame, function;
    double since, of_callees; /* when it began, and how much of its time others took, in seconds */
};

/* All zero but for `trace` is empty. */
struct gt_profile_maker {
    struct gt_trace *trace;
    bool lines_ran; /* lines are those that ran when a sample was taken, and do not tell functions apart */
    struct gt_keys keys, children; /* functions; frames by parent and function */
    struct gt_trace_function *function;
    size_t function_count, function_capacity;
    struct gt_trace_caller *caller; /* in the order of adding; those of one function stand together */
    size_t caller_count, caller_capacity;
    struct gt_trace_frame *frame;
    size_t frame_count, frame_capacity;
    struct gt_profile_own *own; /* of each frame of the tree of stacks */
    size_t own_count, own_capacity;
    uint32_t *stack; /* functions of the next stack; who puts some there empties it before */
    size_t stack_count, stack_capacity;
    struct gt_profile_call *call; /* those that are open, the innermost last */
    size_t call_count, call_capacity;
    struct gt_profile_edge *edge;
    size_t edge_count, edge_capacity;
};

enum { GT_PROFILE_DEEPEST = 2048 };

/* Returns the number of a function of that file, line and name (texts without escapes), new or known. */
int64_t gt_profile_function(struct gt_profile_maker *maker, struct gt_span file, int64_t line, struct gt_span name);
/* Does the same for a function as tools write one: "name (file:line)", "file(line): name" or a name alone. */
int64_t gt_profile_function_of(struct gt_profile_maker *maker, struct gt_span text);
/* Does the same for texts with escapes; without a file for a function as tools write one. */
int64_t gt_profile_function_raw(struct gt_profile_maker *maker, struct gt_span file, int64_t line, struct gt_span name);
/* Returns the unit of that name, and what values are multiplied with; samples for others. */
enum gt_profile_unit gt_profile_unit_of(struct gt_span unit, double *factor);
/* Returns the frame of a function below another (GT_TRACE_NONE: at the root), new or known. */
int64_t gt_profile_frame(struct gt_profile_maker *maker, uint32_t parent, uint32_t function);
/* Puts a function on the stack. A negative number is handed on. */
int gt_profile_push(struct gt_profile_maker *maker, int64_t function);
/* Adds the stack, in which the outermost function came first or last; deeper ones than GT_PROFILE_DEEPEST end there. Returns 0 or
 * -ENOMEM. */
int gt_profile_stack(struct gt_profile_maker *maker, bool is_outermost_last, double weight);
/* Begin a call within the innermost one, and end that, at a moment in seconds. -E2BIG: deeper than GT_PROFILE_DEEPEST. */
int gt_profile_enter(struct gt_profile_maker *maker, uint32_t function, double time);
void gt_profile_leave(struct gt_profile_maker *maker, double time);
/* Sums up frames to functions and their callers; without `counted` calls are not known. Returns 0 or -ENOMEM. */
int gt_profile_sum(struct gt_profile_maker *maker, bool counted);
/* Do the same for a tree whose frames have their times: a new frame, with the time in it and in itself; and the sums. */
int64_t gt_profile_timed_frame(struct gt_profile_maker *maker, uint32_t parent, uint32_t function, double time,
                               double own);
int gt_profile_sum_timed(struct gt_profile_maker *maker, bool counted);
/* Sorts the functions by file, line and name, and gives everything to the profile. Also releases the maker. */
int gt_profile_finish(struct gt_profile_maker *maker, struct gt_trace_profile *profile);
/* Sums up the stacks, and adds their profile of a thread (a string, GT_TRACE_NONE: all; negative: an error to hand on). Releases the
 * maker. */
int gt_profile_of_stacks(struct gt_reading *reading, struct gt_profile_maker *maker, enum gt_trace_profiler profiler,
                         enum gt_profile_unit unit, int64_t thread, bool counted);
void gt_profile_maker_release(struct gt_profile_maker *maker);
/* A function of several profiles whose lines ran gets the first of its lines in all of them. Returns 0 or -ENOMEM. */
int gt_profiles_settle_lines(struct gt_trace *trace);

/* Calls that a timeline has as events, by viztracer, py-spy or PyTorch's profiler with stacks, make profiles. */

enum gt_calls {
    GT_CALLS_PYTHON, /* of Python functions only */
    GT_CALLS_CPU /* of all that lies within one another on the threads of CPUs: functions, operators, runtime calls */
};

/* Adds a profile for each thread that has any. Returns 0 or -ENOMEM. */
int gt_call_profiles(struct gt_trace *trace, enum gt_calls calls);
/* Returns true for traces of tools that record Python functions alone: viztracer, py-spy. */
bool gt_calls_alone(const struct gt_trace *trace);

#endif
