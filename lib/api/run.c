/* The loop: waits until something is due or was told, samples, waits for children. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/caller_struct.h"
#include "api/tracker.h"
#include "base/system_calls.h"
#include "collect/process/kernel.h"

enum { MAIN, EVENTS, FIRST_OF_CALLER, SOURCES = FIRST_OF_CALLER + GT_RUN_FDS };
/* Between two looks at the kernel's process events: no storm of them outruns it. Descriptors may be closed elsewhere, so no wait is
 * endless. */
static const int64_t EVENTS_PAUSE_NS = 5000000, LONGEST_WAIT_NS = GT_SECOND;

enum { ENDS, GOES_ON };

struct loop {
    struct gt_tracker *tracker; /* NULL: nothing is sampled */
    struct gt_call call;
    struct gt_run_options options;
    int pidfd;    /* of the main process, until it has told of its end; then -1 */
    bool samples; /* more will be sampled */
    bool pauses_events;
    bool main_ended, all_ended;
    struct gt_error *error;
};

/* A callback has closed or finished the tracker. */
static bool is_dropped(const struct loop *loop)
{
    return loop->call.closes || (loop->tracker && loop->tracker->recorder.is_finished);
}

static int tick(struct loop *loop)
{
    struct gt_error error = {0};
    if (!loop->samples)
        return GOES_ON;
    int status = gt_tracker_tick(loop->tracker, &error);
    if (is_dropped(loop))
        return ENDS;
    loop->samples = status > 0 || (status == 0 && loop->options.child);
    if (status == 0 && !loop->options.child)
        loop->main_ended = loop->all_ended = true;
    if (loop->options.sampled)
        loop->options.sampled(loop->options.context, status, &error);
    else if (status < 0)
        return gt_error_copy(loop->error, &error);
    return GOES_ON;
}

/* ---- Children ---------------------------------------------------------------------------------------------------- */

/* The kernel's waitid also gives the resources used, even of a process that stays a zombie, as glibc's does not. */
static int next_ended(siginfo_t *info, struct rusage *usage)
{
    info->si_pid = 0;
    return (int)syscall(SYS_waitid, P_ALL, 0, info, WEXITED | WNOWAIT | WNOHANG, usage);
}

static void note_end(struct loop *loop, pid_t pid, int wait_status, const struct rusage *usage)
{
    loop->main_ended |= pid == loop->options.child;
    if (loop->tracker && usage)
        gt_tracker_reaped(loop->tracker, pid, wait_status, usage);
    if (loop->options.reaped)
        loop->options.reaped(loop->options.context, pid, wait_status);
}

static int reap(struct loop *loop, const siginfo_t *info, const struct rusage *usage)
{
    siginfo_t again;
    pid_t pid = info->si_pid;
    int status = pid == loop->options.child ? tick(loop) : GOES_ON; /* while /proc still has it */
    if (waitpid(pid, NULL, 0) < 0 && errno != ECHILD)
        syscall(SYS_waitid, P_PID, pid, &again, WEXITED, NULL);
    note_end(loop, pid, info->si_code == CLD_EXITED ? W_EXITCODE(info->si_status, 0) : W_EXITCODE(0, info->si_status),
             usage);
    return status;
}

/* As a subreaper the caller is at last the parent of every descendant; else the tracker knows who lives. */
static bool none_is_left(const struct loop *loop, bool has_children)
{
    return !loop->tracker || loop->tracker->options.launched ? !has_children
                                                             : !gt_tracker_processes(loop->tracker, NULL, 0);
}

static int wait_for_children(struct loop *loop)
{
    siginfo_t info;
    struct rusage usage;
    int status = GOES_ON, ended = 0;
    if (!loop->options.child)
        return GOES_ON;
    while (status > 0 && (ended = next_ended(&info, &usage)) == 0 && info.si_pid)
        status = reap(loop, &info, &usage);
    if (ended < 0 && errno != ECHILD && errno != EINTR)
        return gt_error_system(loop->error, errno, "cannot wait for the job");
    if (status > 0 && loop->main_ended)
        loop->all_ended = none_is_left(loop, ended == 0);
    return status;
}

/* ---- The loop ---------------------------------------------------------------------------------------------------- */

static bool is_over(const struct loop *loop)
{
    switch (loop->options.until) {
    case GT_UNTIL_MAIN_ENDS: return loop->main_ended;
    case GT_UNTIL_ALL_END: return loop->main_ended && loop->all_ended;
    case GT_UNTIL_TOLD: break;
    }
    return false;
}

static int64_t now(void)
{
    return gt_clock_monotonic(&gt_clock_system);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* GOES_ON with the descriptors that have something to tell. */
static int wait_for_something(struct loop *loop, struct pollfd source[SOURCES])
{
    const struct gt_run_options *options = &loop->options;
    int64_t began = now(), wake = INT64_MAX;
    int status = options->turn ? options->turn(options->context, &wake) : GOES_ON;
    if (status <= 0)
        return status;
    if (loop->samples)
        wake = earlier(wake, gt_tracker_due(loop->tracker));
    wake = earlier(wake, began + (loop->pauses_events ? EVENTS_PAUSE_NS : LONGEST_WAIT_NS));
    bool hears = loop->samples && !loop->pauses_events;
    source[MAIN] = (struct pollfd){loop->pidfd, POLLIN, 0};
    source[EVENTS] = (struct pollfd){hears ? gt_tracker_events_fd(loop->tracker) : -1, POLLIN, 0};
    for (size_t i = 0; i < options->fd_count; i++)
        source[FIRST_OF_CALLER + i] = (struct pollfd){options->fds[i], POLLIN, 0};
    int64_t left = wake - now();
    left = left > 0 ? left : 0;
    const struct timespec timeout = {left / GT_SECOND, left % GT_SECOND};
    if (ppoll(source, FIRST_OF_CALLER + options->fd_count, &timeout, NULL) >= 0)
        return GOES_ON;
    for (size_t i = 0; i < FIRST_OF_CALLER + options->fd_count; i++)
        source[i].revents = 0;
    return errno == EINTR ? GOES_ON : gt_error_system(loop->error, errno, "cannot wait for the job");
}

static int step(struct loop *loop)
{
    struct pollfd source[SOURCES];
    int status = wait_for_something(loop, source);
    if (status <= 0)
        return status;
    loop->pauses_events = source[EVENTS].revents && gt_tracker_drain(loop->tracker, NULL) >= 0;
    for (size_t i = 0; i < loop->options.fd_count && status > 0; i++)
        if (source[FIRST_OF_CALLER + i].revents && loop->options.ready)
            status = loop->options.ready(loop->options.context, loop->options.fds[i]);
    if (status > 0)
        status = wait_for_children(loop);
    if (status > 0 && source[MAIN].revents) {
        loop->pidfd = -1;
        if (!loop->options.child) {
            loop->main_ended = true;
            return tick(loop); /* while /proc still has it */
        }
    }
    if (status <= 0 || is_over(loop) || is_dropped(loop) || !loop->samples || gt_tracker_due(loop->tracker) > now())
        return status;
    return tick(loop);
}

int gt_tracker_run(struct gt_tracker *tracker, const struct gt_run_options *options, struct gt_error *error)
{
    GT_OWN(struct gt_run_options, own, options);
    struct loop loop = {.tracker = tracker, .options = own, .samples = tracker, .error = error};
    if (own.fd_count > GT_RUN_FDS)
        return gt_error_set(error, EINVAL, "a run takes at most %d descriptors", GT_RUN_FDS);
    if (!tracker && !own.child && own.until != GT_UNTIL_TOLD)
        return gt_error_set(error, EINVAL, "a run without a tracker and without a child has no end");
    loop.pidfd = tracker ? tracker->pidfd : gt_pidfd_open(own.child);
    int own_pidfd = tracker ? -1 : loop.pidfd;
    gt_call_begin(&loop.call, tracker);
    int status = tick(&loop);
    while (status > 0 && !is_over(&loop) && !is_dropped(&loop))
        status = step(&loop);
    if (own_pidfd >= 0)
        close(own_pidfd);
    int closed = gt_call_end(&loop.call);
    return closed < 0 ? closed : status < 0 ? status : is_over(&loop);
}

/* A run in a thread of the library. */

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
