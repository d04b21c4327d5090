/* Inside a tracker: a recorder, the schedule it is read by, a lock between the caller and the sampling thread, and that
 * thread. */
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
/* Check copied options, except the machine, which opening the sampler checks. */
int gt_tracker_check_copy(const struct gt_tracker_options *options, struct gt_error *error);
/* Check all but the machine and the tracking file's place. */
int gt_tracker_check_values(const struct gt_tracker_options *options, struct gt_error *error);
void gt_tracker_options_release(struct gt_tracker_options *options);

/* For the sampler of Python: the largest resident memory of the main process while it is tracked, bytes, as it knows
 * itself: it is exact from now on. */
void gt_tracker_main_peak(struct gt_tracker *tracker, double bytes);

#endif
