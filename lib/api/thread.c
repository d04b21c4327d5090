/* Sampling on schedule by a thread of the library. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include "api/tracker.h"

static void wait_until(struct gt_tracker *tracker, int64_t when_ns)
{
    struct timespec deadline = {when_ns / GT_SECOND, when_ns % GT_SECOND};
    while (!tracker->stop && gt_clock_monotonic(&gt_clock_system) < when_ns)
        pthread_cond_timedwait(&tracker->wake, &tracker->mutex, &deadline);
}

static void *run(void *opaque)
{
    struct gt_tracker *tracker = opaque;
    prctl(PR_SET_TIMERSLACK, 1);
    prctl(PR_SET_NAME, "gpu-tracker");
    pthread_mutex_lock(&tracker->mutex);
    int lives = 1;
    while (!tracker->stop && lives > 0) {
        wait_until(tracker, gt_tracker_due(tracker));
        if (!tracker->stop)
            lives = gt_tracker_tick_locked(tracker, &tracker->thread_error);
    }
    pthread_mutex_unlock(&tracker->mutex);
    return NULL;
}

int gt_tracker_start(struct gt_tracker *tracker, struct gt_error *error)
{
    if (tracker->has_thread || tracker->is_finished)
        return gt_error_set(error, EINVAL,
                            tracker->has_thread ? "the tracker runs already" : "the tracker has finished");
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the program's: the thread takes none */
    tracker->stop = false;
    int status = pthread_create(&tracker->thread, NULL, run, tracker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status)
        return gt_error_system(error, status, "cannot start the sampling thread");
    tracker->has_thread = true;
    return 0;
}

int gt_tracker_stop(struct gt_tracker *tracker, struct gt_error *error)
{
    if (!tracker->has_thread)
        return 0;
    pthread_mutex_lock(&tracker->mutex);
    tracker->stop = true;
    pthread_cond_signal(&tracker->wake);
    pthread_mutex_unlock(&tracker->mutex);
    pthread_join(tracker->thread, NULL);
    tracker->has_thread = false;
    if (!tracker->thread_error.code)
        return 0;
    return gt_error_set(error, tracker->thread_error.code, "%s", tracker->thread_error.text);
}
