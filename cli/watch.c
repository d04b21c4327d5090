#include "watch.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "message.h"

enum { SIGNALS, TIMER, PROGRESS, MAIN, EVENTS, SOURCE_COUNT };
enum { EVENTS_PAUSE_MS = 5 }; /* between two looks at the kernel's process events: no storm outruns it */

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

/* The time is absolute, so that the schedule does not drift; setting it also clears an expiry that was seen. */
static int set_timer(const struct watch *watch)
{
    struct itimerspec next = {0};
    int64_t due = watch->is_blind ? 0 : gt_tracker_due(watch->tracker);
    next.it_value.tv_sec = due / 1000000000;
    next.it_value.tv_nsec = due % 1000000000;
    return timerfd_settime(watch->timer, TFD_TIMER_ABSTIME, &next, NULL) < 0 ? -errno : 0;
}

static bool is_over(const struct watch *watch)
{
    if (watch->interrupted)
        return true;
    return watch->main_ended && (!watch->waits_for_all || watch->all_ended);
}

static int step(struct watch *watch)
{
    struct pollfd source[SOURCE_COUNT] = {
        [SIGNALS] = {watch->signals.fd, POLLIN, 0},
        [TIMER] = {watch->timer, POLLIN, 0},
        [PROGRESS] = {watch->progress.timer, POLLIN, 0},
        [MAIN] = {watch->is_child ? -1 : gt_tracker_pidfd(watch->tracker), POLLIN, 0},
        [EVENTS] = {watch->pauses_events ? -1 : gt_tracker_events_fd(watch->tracker), POLLIN, 0},
    };
    if (poll(source, SOURCE_COUNT, watch->pauses_events ? EVENTS_PAUSE_MS : -1) < 0)
        return errno == EINTR ? 0 : -errno;
    watch->pauses_events = source[EVENTS].revents && gt_tracker_drain(watch->tracker, NULL) >= 0;
    if (source[SIGNALS].revents)
        job_signals(watch);
    if (source[MAIN].revents)
        watch->main_ended = true;
    if (is_over(watch))
        return 0;
    if (source[PROGRESS].revents)
        progress_draw(&watch->progress, watch->tracker);
    if (source[TIMER].revents)
        watch_tick(watch);
    return source[TIMER].revents || source[EVENTS].revents ? set_timer(watch) : 0; /* births bring looks */
}

int watch_run(struct watch *watch)
{
    watch->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (watch->timer < 0)
        return -errno;
    watch_tick(watch);
    int status = set_timer(watch);
    while (status >= 0 && !is_over(watch))
        status = step(watch);
    progress_erase(&watch->progress);
    return status;
}

void watch_close(struct watch *watch)
{
    progress_close(&watch->progress);
    signals_close(&watch->signals);
    if (watch->timer >= 0)
        close(watch->timer);
    gt_tracker_close(watch->tracker);
}
