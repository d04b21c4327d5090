#include "watch.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "message.h"

enum { SIGNALS, MAIN, EVENTS, SOURCE_COUNT };
/* Between two looks at the kernel's process events: no storm outruns it. Between two looks for signals that no descriptor tells of. */
enum { SIGNALS_PAUSE_NS = 20000000 };
static const int64_t EVENTS_PAUSE_NS = 5000000, LONGEST_NS = INT64_C(3600000000000);

static int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void watch_warn(void *context, const char *sentence)
{
    struct watch *watch = context;
    if (watch->is_quiet)
        return;
    progress_erase(&watch->progress);
    say("%s", sentence);
}

void watch_tick(struct watch *watch)
{
    struct gt_error error = {0};
    if (watch->is_blind)
        return;
    int status = gt_tracker_tick(watch->tracker, &error);
    if (status < 0) {
        progress_erase(&watch->progress);
        say("%s; no more samples are taken", error.text);
        watch->is_blind = true;
    }
    if (status == 0 && !watch->is_child)
        watch->main_ended = true;
}

/* The time until the next thing to do. */
static struct timespec patience(const struct watch *watch)
{
    int64_t now = monotonic_ns(), due = INT64_MAX;
    if (!watch->is_blind)
        due = gt_tracker_due(watch->tracker);
    if (watch->progress.next_ns && watch->tracker && watch->progress.next_ns < due)
        due = watch->progress.next_ns;
    int64_t left = due > now ? due - now : 0;
    int64_t most = watch->pauses_events ? EVENTS_PAUSE_NS : watch->signals.fd < 0 ? SIGNALS_PAUSE_NS : LONGEST_NS;
    left = left < most ? left : most;
    return (struct timespec){left / 1000000000, left % 1000000000};
}

static bool is_over(const struct watch *watch)
{
    if (watch->interrupted)
        return true;
    return watch->main_ended && (!watch->waits_for_all || watch->all_ended);
}

/* Where no system call waits for several descriptors they are all asked, after a pause. */
static int wait_for(struct pollfd *source, struct timespec timeout)
{
    static const struct timespec pause = {0, SIGNALS_PAUSE_NS};
    if (ppoll(source, SOURCE_COUNT, &timeout, NULL) >= 0)
        return 0;
    if (errno != EPERM && errno != ENOSYS)
        return errno == EINTR ? 0 : -errno;
    bool is_short = timeout.tv_sec == 0 && timeout.tv_nsec < pause.tv_nsec;
    if (nanosleep(is_short ? &timeout : &pause, NULL) < 0 && errno != EINTR)
        return -errno;
    source[SIGNALS].revents = source[EVENTS].revents = POLLIN; /* reading waits for nothing */
    return 0;
}

static int step(struct watch *watch)
{
    bool is_deaf = watch->is_blind || watch->pauses_events;
    struct pollfd source[SOURCE_COUNT] = {
        [SIGNALS] = {watch->signals.fd, POLLIN, 0},
        [MAIN] = {watch->is_child || !watch->tracker ? -1 : gt_tracker_pidfd(watch->tracker), POLLIN, 0},
        [EVENTS] = {is_deaf ? -1 : gt_tracker_events_fd(watch->tracker), POLLIN, 0},
    };
    int status = wait_for(source, patience(watch));
    if (status < 0)
        return status;
    watch->pauses_events = source[EVENTS].revents && source[EVENTS].fd >= 0 &&
                           gt_tracker_drain(watch->tracker, NULL) >= 0;
    if (source[SIGNALS].revents || watch->signals.fd < 0)
        job_signals(watch);
    if (source[MAIN].revents)
        watch->main_ended = true;
    if (is_over(watch))
        return 0;
    progress_draw(&watch->progress, watch->tracker, monotonic_ns());
    if (!watch->is_blind && gt_tracker_due(watch->tracker) <= monotonic_ns())
        watch_tick(watch);
    return 0;
}

int watch_run(struct watch *watch)
{
    int status = 0;
    watch->is_blind = !watch->tracker;
    watch_tick(watch);
    while (status >= 0 && !is_over(watch))
        status = step(watch);
    progress_erase(&watch->progress);
    return status;
}

void watch_close(struct watch *watch)
{
    progress_close(&watch->progress);
    signals_close(&watch->signals);
    gt_tracker_close(watch->tracker);
}
