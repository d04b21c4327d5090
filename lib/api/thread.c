/* Sampling on schedule by a thread of the library. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "api/tracker.h"

enum { STOP, MAIN, EVENTS, SOURCE_COUNT };
enum { EVENTS_PAUSE_MS = 5 };

/* Until something is due, or was told. */
static void wait_for_due(struct gt_tracker *tracker, bool *pauses_events)
{
    int64_t left = gt_tracker_due(tracker) - gt_clock_monotonic(&gt_clock_system);
    int64_t pause = *pauses_events ? EVENTS_PAUSE_MS * (GT_SECOND / 1000) : left;
    struct pollfd source[SOURCE_COUNT] = {
        [STOP] = {tracker->stop_fd, POLLIN, 0},
        [MAIN] = {tracker->end_ns ? -1 : tracker->pidfd, POLLIN, 0},
        [EVENTS] = {*pauses_events ? -1 : gt_tracker_events_fd(tracker), POLLIN, 0},
    };
    left = pause < left ? pause : left;
    left = left > 0 ? left : 0;
    const struct timespec timeout = {left / GT_SECOND, left % GT_SECOND};
    pthread_mutex_unlock(&tracker->mutex);
    int told = ppoll(source, SOURCE_COUNT, &timeout, NULL);
    bool is_told = told > 0;
    if (told < 0 && errno != EINTR) /* the system forbids to wait for several */
        nanosleep(left < GT_SECOND / 50 ? &timeout : &(struct timespec){.tv_nsec = GT_SECOND / 50}, NULL);
    *pauses_events = is_told && source[EVENTS].revents && gt_tracker_drain(tracker, NULL) >= 0;
    pthread_mutex_lock(&tracker->mutex);
    if (is_told && source[MAIN].revents)
        gt_schedule_hurry(&tracker->schedule);
}

static void *run(void *opaque)
{
    struct gt_tracker *tracker = opaque;
    bool pauses_events = false;
    prctl(PR_SET_TIMERSLACK, 1);
    prctl(PR_SET_NAME, "gpu-tracker");
    pthread_mutex_lock(&tracker->mutex);
    int lives = 1;
    while (!tracker->stop && lives > 0) {
        if (gt_tracker_due(tracker) <= gt_clock_monotonic(&tracker->sampler.clock))
            lives = gt_tracker_tick_locked(tracker, &tracker->thread_error);
        else
            wait_for_due(tracker, &pauses_events);
        if (!tracker->complaint_count)
            continue;
        if (gt_tracker_unlock(tracker) < 0)
            return NULL; /* the callback has closed the tracker */
        pthread_mutex_lock(&tracker->mutex);
    }
    pthread_mutex_unlock(&tracker->mutex);
    return NULL;
}

int gt_tracker_start(struct gt_tracker *tracker, struct gt_error *error)
{
    if (tracker->has_thread || tracker->is_finished)
        return gt_error_set(error, EINVAL,
                            tracker->has_thread ? "the tracker runs already" : "the tracker has finished");
    tracker->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (tracker->stop_fd < 0)
        return gt_error_system(error, errno, "cannot start the sampling thread");
    sigset_t all, before;
    tracker->thread_error = (struct gt_error){0};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the program's: the thread takes none */
    tracker->stop = false;
    int status = pthread_create(&tracker->thread, NULL, run, tracker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status) {
        close(tracker->stop_fd);
        tracker->stop_fd = -1;
        return gt_error_system(error, status, "cannot start the sampling thread");
    }
    tracker->has_thread = true;
    return 0;
}

int gt_tracker_stop(struct gt_tracker *tracker, struct gt_error *error)
{
    if (!tracker->has_thread)
        return 0;
    pthread_mutex_lock(&tracker->mutex);
    tracker->stop = true;
    pthread_mutex_unlock(&tracker->mutex);
    if (pthread_equal(tracker->thread, pthread_self()))
        return 0; /* from a callback: it ends when that returns, and is waited for by whoever asks from elsewhere */
    eventfd_write(tracker->stop_fd, 1);
    pthread_join(tracker->thread, NULL);
    tracker->has_thread = false;
    close(tracker->stop_fd);
    tracker->stop_fd = -1;
    if (!tracker->thread_error.code)
        return 0;
    return gt_error_copy(error, &tracker->thread_error);
}
