#include "sample/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/grow.h"
#include "collect/process/process.h"

/* Seconds. A job's end waits for the sample before it and for the last one. */
static const double PATIENCE = 1, LAST_PATIENCE = 0.7;

static const int64_t WATCH_NS = 5000000; /* between two looks for the end of the job */

enum { MOST_TOLD = 3 }; /* silences of a driver that is very slow */

enum request { NOTHING, OPEN, COLLECT, CLOSE };

/* Nothing in it points to memory of the caller once it is open: the thread may outlive the caller. */
struct gt_driver {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t asked, answered;
    int64_t began_ns;     /* to be opened */
    enum request request; /* what the thread does or is to do */
    bool is_abandoned;
    bool has_answer; /* which the caller has not taken yet */
    bool was_silent; /* at the last request */
    int silences;
    struct gt_root root;
    struct gt_clock clock;
    const struct gt_collector_type *type;
    struct gt_collect_options options;
    void *state;
    struct gt_availability availability;
    struct gt_snapshot snapshot;
    size_t first_device; /* of its own */
    struct gt_process *process;
    size_t process_capacity, pointer_capacity;
    int status;
    struct gt_error error;
};

/* ---- The end of the job ------------------------------------------------------------------------------------------ */

/* Asks the kernel: what was read of the process may be from before its end. */
static bool still_lives(const struct gt_process *process, const struct gt_root *root)
{
    struct gt_process_stat stat;
    return !process->is_main && !process->is_gone && !process->is_zombie &&
           gt_process_stat_of(root, process->pid, &stat) >= 0 && stat.start == process->start &&
           !gt_process_stat_is_zombie(&stat);
}

void gt_snapshot_see_end(struct gt_snapshot *snapshot, const struct gt_root *root)
{
    struct pollfd main = {snapshot->main_fd, POLLIN, 0};
    bool lives = false;
    if (snapshot->main_fd > 0 && !snapshot->main_end_ns && poll(&main, 1, 0) > 0 && main.revents & POLLIN)
        snapshot->main_end_ns = snapshot->end_ns = gt_clock_ns(CLOCK_MONOTONIC);
    if (!snapshot->main_end_ns)
        return;
    for (size_t i = 0; i < snapshot->process_count && !lives; i++)
        lives = still_lives(snapshot->process[i], root);
    if (lives)
        snapshot->end_ns = gt_clock_ns(CLOCK_MONOTONIC);
    snapshot->is_over = !lives;
}

/* ---- The thread -------------------------------------------------------------------------------------------------- */

static void release(struct gt_driver *driver)
{
    gt_root_close(&driver->root);
    free(driver->snapshot.device);
    free(driver->snapshot.share);
    free(driver->snapshot.hwm);
    free(driver->snapshot.past);
    free(driver->snapshot.process);
    free(driver->process);
    pthread_mutex_destroy(&driver->lock);
    pthread_cond_destroy(&driver->asked);
    pthread_cond_destroy(&driver->answered);
    free(driver);
}

static void perform(struct gt_driver *driver, enum request request)
{
    driver->error = (struct gt_error){0};
    if (request == OPEN)
        driver->status = gt_collector_open(driver->type, &driver->state, &driver->options, &driver->snapshot,
                                           &driver->availability, &driver->error);
    else if (request == COLLECT)
        driver->status = driver->type->collect(driver->state, &driver->snapshot, &driver->error);
    else
        gt_collector_close(driver->type, driver->state);
}

static void *run(void *argument)
{
    struct gt_driver *driver = argument;
    enum request request = NOTHING;
    prctl(PR_SET_TIMERSLACK, 1);
    pthread_mutex_lock(&driver->lock);
    while (request != CLOSE) {
        if (driver->is_abandoned)
            driver->request = CLOSE;
        if (driver->request == NOTHING) {
            pthread_cond_wait(&driver->asked, &driver->lock);
            continue;
        }
        request = driver->request;
        pthread_mutex_unlock(&driver->lock);
        perform(driver, request);
        pthread_mutex_lock(&driver->lock);
        driver->request = NOTHING;
        driver->has_answer = true;
        pthread_cond_signal(&driver->answered);
    }
    bool is_abandoned = driver->is_abandoned;
    pthread_mutex_unlock(&driver->lock);
    if (is_abandoned)
        release(driver);
    return NULL;
}

/* Signals are the program's. */
static int start(struct gt_driver *driver)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int result = pthread_create(&driver->thread, NULL, run, driver);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -result;
}

/* ---- The caller -------------------------------------------------------------------------------------------------- */

static void ask(struct gt_driver *driver, enum request request)
{
    pthread_mutex_lock(&driver->lock);
    driver->request = request;
    pthread_cond_signal(&driver->asked);
    pthread_mutex_unlock(&driver->lock);
}

/* Returns true once the thread has nothing to do. Meanwhile it notes the end of the job of `snapshot`, unless that is NULL. */
static bool wait_for(struct gt_driver *driver, double seconds, struct gt_snapshot *snapshot)
{
    int64_t now_ns = gt_clock_ns(CLOCK_MONOTONIC), end_ns = now_ns + (int64_t)(seconds * 1e9);
    pthread_mutex_lock(&driver->lock);
    while (driver->request != NOTHING && now_ns < end_ns) {
        bool is_watched = snapshot && snapshot->main_fd > 0 && !snapshot->is_over;
        int64_t until_ns = is_watched && end_ns - now_ns > WATCH_NS ? now_ns + WATCH_NS : end_ns;
        const struct timespec until = {until_ns / GT_SECOND, until_ns % GT_SECOND};
        pthread_cond_timedwait(&driver->answered, &driver->lock, &until);
        if (is_watched)
            gt_snapshot_see_end(snapshot, &driver->root);
        now_ns = gt_clock_ns(CLOCK_MONOTONIC);
    }
    bool has_answered = driver->request == NOTHING;
    pthread_mutex_unlock(&driver->lock);
    return has_answered;
}

/* The thread releases the memory if its driver ever answers. */
static void abandon(struct gt_driver *driver)
{
    pthread_detach(driver->thread);
    pthread_mutex_lock(&driver->lock);
    driver->is_abandoned = true;
    pthread_cond_signal(&driver->asked);
    pthread_mutex_unlock(&driver->lock);
}

void gt_driver_close(struct gt_driver *driver)
{
    if (!driver)
        return;
    bool is_idle = wait_for(driver, 0, NULL);
    if (is_idle)
        ask(driver, CLOSE);
    if (!is_idle || !wait_for(driver, LAST_PATIENCE, NULL)) {
        abandon(driver);
        return;
    }
    pthread_join(driver->thread, NULL);
    release(driver);
}

static struct gt_driver *new_driver(const struct gt_collector_type *type, const struct gt_collect_options *options,
                                    const struct gt_snapshot *snapshot)
{
    struct gt_driver *driver = calloc(1, sizeof *driver);
    struct gt_device *device = calloc(snapshot->device_count + 1, sizeof *device);
    if (!driver || !device) {
        free(driver);
        free(device);
        return NULL;
    }
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&driver->lock, NULL);
    pthread_cond_init(&driver->asked, NULL);
    pthread_cond_init(&driver->answered, &monotonic);
    pthread_condattr_destroy(&monotonic);
    driver->type = type;
    driver->root = *options->root;
    driver->root.fd = fcntl(options->root->fd, F_DUPFD_CLOEXEC, 0);
    driver->clock = *options->clock;
    driver->options = *options;
    driver->options.root = &driver->root;
    driver->options.clock = &driver->clock;
    if (snapshot->device_count)
        memcpy(device, snapshot->device, snapshot->device_count * sizeof *device);
    driver->snapshot.device = device;
    driver->snapshot.device_count = driver->first_device = snapshot->device_count;
    memcpy(driver->snapshot.owner, snapshot->owner, sizeof snapshot->owner);
    return driver;
}

static int take_devices(const struct gt_driver *driver, struct gt_snapshot *snapshot)
{
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        if (!snapshot->owner[id])
            snapshot->owner[id] = driver->snapshot.owner[id];
    for (size_t i = driver->first_device; i < driver->snapshot.device_count; i++) {
        struct gt_device *device = gt_snapshot_device(snapshot);
        if (!device)
            return -ENOMEM;
        *device = driver->snapshot.device[i];
    }
    return 0;
}

int gt_driver_open(struct gt_driver **ret, const struct gt_collector_type *type,
                   const struct gt_collect_options *options, const struct gt_snapshot *snapshot, struct gt_error *error)
{
    *ret = NULL;
    struct gt_driver *driver = new_driver(type, options, snapshot);
    if (!driver)
        return gt_error_system(error, ENOMEM, "%s", type->name);
    driver->request = OPEN;
    driver->began_ns = gt_clock_ns(CLOCK_MONOTONIC);
    int status = start(driver);
    if (status < 0)
        release(driver);
    else
        *ret = driver;
    return status;
}

int gt_driver_opened(struct gt_driver **place, double seconds, void **state, struct gt_snapshot *snapshot,
                     struct gt_availability *availability, struct gt_error *error)
{
    struct gt_driver *driver = *place;
    *state = NULL;
    if (!wait_for(driver, seconds, NULL)) {
        if (gt_clock_ns(CLOCK_MONOTONIC) - driver->began_ns < GT_DRIVER_PATIENCE * GT_SECOND)
            return -EINPROGRESS;
        *place = NULL;
        abandon(driver);
        return gt_unavailable(availability, GT_BROKEN, NULL, GT_SILENT_DRIVER " within %d s", GT_DRIVER_PATIENCE);
    }
    *availability = driver->availability;
    int status = driver->status < 0 ? gt_error_copy(error, &driver->error) : take_devices(driver, snapshot);
    driver->has_answer = false;
    if (status == 0 && driver->state) {
        *state = driver->state;
        return 0;
    }
    *place = NULL;
    gt_driver_close(driver);
    return status == -ENOMEM ? gt_error_set(error, ENOMEM, "GPUs: no memory") : status;
}

/* Copies the parts of a snapshot that collectors of GPUs read. */
static int give_snapshot(struct gt_driver *driver, const struct gt_snapshot *from)
{
    struct gt_snapshot *to = &driver->snapshot;
    if (GT_GROW_TO(driver->process, driver->process_capacity, from->process_count) < 0 ||
        GT_GROW_TO(to->process, driver->pointer_capacity, from->process_count) < 0 ||
        GT_GROW_TO(to->past, to->past_capacity, from->past_count) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < from->process_count; i++) {
        const struct gt_process *process = from->process[i];
        driver->process[i] = (struct gt_process){
            .pid = process->pid, .start = process->start, .is_main = process->is_main, .is_zombie = process->is_zombie};
        to->process[i] = &driver->process[i];
    }
    for (size_t i = 0; i < from->past_count; i++)
        to->past[i] = from->past[i];
    to->process_count = from->process_count;
    to->past_count = from->past_count;
    to->share_count = to->hwm_count = 0;
    to->is_last = from->is_last;
    to->real_ns = from->real_ns;
    to->monotonic_ns = from->monotonic_ns;
    for (size_t i = driver->first_device; i < to->device_count; i++)
        to->device[i] = from->device[i];
    return 0;
}

static int take_snapshot(struct gt_driver *driver, struct gt_snapshot *to)
{
    const struct gt_snapshot *from = &driver->snapshot;
    for (size_t i = driver->first_device; i < from->device_count; i++)
        to->device[i] = from->device[i];
    for (size_t i = 0; i < from->share_count; i++) {
        struct gt_share *share = gt_snapshot_add_share(to, from->share[i].device, from->share[i].pid);
        if (!share)
            return -ENOMEM;
        *share = from->share[i];
    }
    for (size_t i = 0; i < from->hwm_count; i++) {
        struct gt_gpu_hwm *hwm = GT_GROW(to, hwm);
        if (!hwm)
            return -ENOMEM;
        *hwm = from->hwm[i];
    }
    driver->has_answer = false;
    return 0;
}

static int note_silence(struct gt_driver *driver, struct gt_snapshot *snapshot, struct gt_error *error)
{
    for (size_t i = driver->first_device; i < driver->snapshot.device_count; i++)
        snapshot->device[i].is_old = snapshot->device[i].is_silent = true;
    if (!driver->was_silent && driver->silences++ < MOST_TOLD)
        gt_error_set(error, ETIMEDOUT, "%s does not answer: its GPUs are not measured until it does",
                     driver->availability.source);
    driver->was_silent = true;
    return -ETIMEDOUT;
}

int gt_driver_collect(struct gt_driver *driver, struct gt_snapshot *snapshot, struct gt_error *error)
{
    bool is_idle = wait_for(driver, 0, NULL);
    if (is_idle && !driver->has_answer) {
        if (give_snapshot(driver, snapshot) < 0)
            return gt_error_set(error, ENOMEM, "%s: no memory", driver->type->name);
        ask(driver, COLLECT);
        is_idle = wait_for(driver, snapshot->is_last ? LAST_PATIENCE : PATIENCE, snapshot);
    } else if (!is_idle && snapshot->is_last) {
        is_idle = wait_for(driver, LAST_PATIENCE, snapshot);
    }
    if (!is_idle)
        return note_silence(driver, snapshot, error);
    driver->was_silent = false;
    if (take_snapshot(driver, snapshot) < 0)
        return gt_error_set(error, ENOMEM, "%s: no memory", driver->type->name);
    return driver->status < 0 ? gt_error_copy(error, &driver->error) : 0;
}
