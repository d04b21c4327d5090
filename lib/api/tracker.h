/* Inside a tracker: a recorder, the schedule it is read by, a lock between the caller and the sampling thread, and that thread. */
#ifndef GT_API_TRACKER_H
#define GT_API_TRACKER_H

#include <pthread.h>
#include <stdbool.h>

#include "gpu_tracker.h"
#include "record/recorder.h"
#include "sample/schedule.h"

struct gt_tracker {
    struct gt_tracker_options options; /* its strings are copies */
    struct gt_recorder recorder;
    const char *url; /* of the server that the recording is sent to, or NULL */
    struct gt_schedule schedule;
    int pidfd;       /* of the main process, or -1 */
    char **sentence; /* warnings that wait until the lock is free */
    size_t sentence_count, sentence_capacity;

    pthread_mutex_t mutex;
    pthread_t thread;
    int stop_fd; /* eventfd that ends the thread's run, or -1 */
    bool has_thread;
    struct gt_error thread_error;
};

/* Options: defaults filled in, strings copied. */
int gt_tracker_options_copy(struct gt_tracker_options *ret, const struct gt_tracker_options *options,
                            struct gt_error *error);
/* Check all but the machine, of options that are copied; what opening the sampler finds wrong with that is told then. */
int gt_tracker_check_copy(const struct gt_tracker_options *options, struct gt_error *error);
/* Check all but the machine and the tracking file's place. */
int gt_tracker_check_values(const struct gt_tracker_options *options, struct gt_error *error);
void gt_tracker_options_release(struct gt_tracker_options *options);

/* A call of the library from which callbacks are called. A tracker that one of them closes goes when the outermost such call ends. */
struct gt_call {
    struct gt_tracker *tracker;
    bool closes; /* a callback closed the tracker */
    struct gt_call *outer;
};
void gt_call_begin(struct gt_call *call, struct gt_tracker *tracker);
/* 0, or -ECANCELED: the tracker is gone. */
int gt_call_end(struct gt_call *call);

/* For the sampler of Python: the largest resident memory of the main process while it is tracked, bytes, as it knows itself: it is
 * exact from now on. */
void gt_tracker_main_peak(struct gt_tracker *tracker, double bytes);

/* For the loop (run.c). */
/* CLOCK_MONOTONIC time, ns, at which gt_tracker_tick is due next. */
int64_t gt_tracker_due(const struct gt_tracker *tracker);
/* Take the sample, reading or look that is due; where none is, a reading. 1: done; 0: no process of the job lives. */
int gt_tracker_tick(struct gt_tracker *tracker, struct gt_error *error);
/* The descriptor of the kernel's news about processes, negative where it tells none, and taking in what it has told. */
int gt_tracker_events_fd(struct gt_tracker *tracker);
int gt_tracker_drain(struct gt_tracker *tracker, struct gt_error *error);
/* wait4 told of a child of the calling process. */
void gt_tracker_reaped(struct gt_tracker *tracker, pid_t pid, int wait_status, const struct rusage *usage);

/* Returns the group's own control group, NULL for NULL. */
const struct gt_cgroup *gt_group_cgroup(const struct gt_group *group);

#endif
