/* Inside a tracker: a recorder, the schedule it is read by, a lock between the caller and the sampling thread, and that
 * thread. */
#ifndef GT_API_TRACKER_H
#define GT_API_TRACKER_H

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "gpu_tracker.h"
#include "record/recorder.h"
#include "sample/sampler.h"

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

/* ---- Structs of the caller, which may have fewer members than ours, or more ---- */

/* Copy the caller's struct; members it does not know of are zero. It begins with its size; 0 stands for ours. NULL: all
 * is zero. */
static inline void gt_own(void *ret, size_t size, const void *given)
{
    size_t known = 0;
    memset(ret, 0, size);
    if (given)
        memcpy(&known, given, sizeof known);
    if (given)
        memcpy(ret, given, known && known < size ? known : size);
    memcpy(ret, &size, sizeof size);
}

/* GT_OWN(struct gt_x, own, options): the same as a variable. */
#define GT_OWN(type, name, given) \
    type name;                    \
    gt_own(&(name), sizeof(name), given)

#endif
