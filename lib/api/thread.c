/* A run in a thread of the library. */
#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "api/tracker.h"

static int end(void *context, int fd)
{
    (void)context;
    (void)fd;
    return 0;
}

static void *run(void *opaque)
{
    struct gt_tracker *tracker = opaque;
    struct gt_run_options options = GT_INIT(struct gt_run_options);
    struct gt_error error = {0};
    const int stop_fd = tracker->stop_fd;
    prctl(PR_SET_TIMERSLACK, 1);
    prctl(PR_SET_NAME, "gpu-tracker");
    options.until = GT_UNTIL_ALL_END;
    options.fds = &stop_fd;
    options.fd_count = 1;
    options.ready = end;
    int status = gt_tracker_run(tracker, &options, &error);
    if (status < 0 && status != -ECANCELED) /* then the tracker is gone */
        tracker->thread_error = error;
    return NULL;
}

int gt_tracker_start(struct gt_tracker *tracker, struct gt_error *error)
{
    if (tracker->has_thread || tracker->recorder.is_finished)
        return gt_error_set(error, EINVAL,
                            tracker->has_thread ? "the tracker runs already" : "the tracker has finished");
    tracker->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (tracker->stop_fd < 0)
        return gt_error_system(error, errno, "cannot start the sampling thread");
    sigset_t all, before;
    tracker->thread_error = (struct gt_error){0};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the program's: the thread takes none */
    tracker->has_thread = true;                  /* a callback on it may ask for its stop at once */
    int status = pthread_create(&tracker->thread, NULL, run, tracker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status) {
        tracker->has_thread = false;
        close(tracker->stop_fd);
        tracker->stop_fd = -1;
        return gt_error_system(error, status, "cannot start the sampling thread");
    }
    return 0;
}

int gt_tracker_stop(struct gt_tracker *tracker, struct gt_error *error)
{
    if (!tracker->has_thread)
        return 0;
    eventfd_write(tracker->stop_fd, 1);
    if (pthread_equal(tracker->thread, pthread_self()))
        return 0; /* from a callback: it ends when that returns, and is waited for by whoever asks from elsewhere */
    pthread_join(tracker->thread, NULL);
    tracker->has_thread = false;
    close(tracker->stop_fd);
    tracker->stop_fd = -1;
    if (!tracker->thread_error.code)
        return 0;
    return gt_error_copy(error, &tracker->thread_error);
}
