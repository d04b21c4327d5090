#include "api/tracker.h"

#include <errno.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analyse/usage/usage.h"
#include "api/program.h"
#include "base/os/file.h"
#include "base/grow.h"
#include "base/os/root.h"
#include "base/os/system.h"
#include "collect/cgroup/cgroup.h"
#include "collect/collector.h"
#include "collect/process/events.h"
#include "collect/process/process.h"
#include "collect/host/host.h"
#include "engine/upload.h"
#include "store/address.h"

/* ---- Control groups --------------------------------------------------------------------------------------------- */

#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif

/* struct clone_args of Linux 5.7, for headers of older kernels. */
struct clone_request {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};

#define NAME_PREFIX "gpu-tracker-"
enum { FREE = 18 }; /* descriptors that a job and its tracking need more than a group of its own */

struct gt_group {
    struct gt_root root;
    struct gt_cgroup *cgroup;
};

int gt_group_create(struct gt_group **ret, struct gt_error *error)
{
    char name[64];
    struct gt_availability availability;
    *ret = NULL;
    struct gt_group *group = calloc(1, sizeof *group);
    if (!group)
        return gt_error_system(error, ENOMEM, "control group");
    snprintf(name, sizeof name, NAME_PREFIX "%d", (int)getpid());
    group->root.fd = -1;
    int status = gt_root_open(&group->root, NULL, error);
    if (status >= 0)
        status = gt_cgroup_create(&group->cgroup, &group->root, name, &availability, error);
    struct gt_reserve reserve;
    bool is_crowded = gt_reserve_take(&reserve, FREE) < FREE;
    gt_reserve_release(&reserve, 0);
    if (status < 0 || !group->cgroup || is_crowded) {
        gt_group_close(group);
        return status < 0 ? status : 0;
    }
    gt_cgroup_sweep(&group->root, gt_cgroup_place(group->cgroup), NAME_PREFIX);
    *ret = group;
    return 0;
}

pid_t gt_group_fork(const struct gt_group *group)
{
    int directory = group ? gt_cgroup_directory(group->cgroup) : -1;
    if (directory >= 0) {
        struct clone_request arguments = {
            .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)directory};
        long pid = syscall(SYS_clone3, &arguments, sizeof arguments);
        if (pid >= 0)
            return (pid_t)pid;
    }
    return fork();
}

int gt_group_enter(const struct gt_group *group)
{
    return group ? gt_cgroup_enter_self(group->cgroup) : 0;
}

void gt_group_close(struct gt_group *group)
{
    if (!group)
        return;
    /* The kernel takes a moment to let go of a process that has been waited for. */
    for (int tries = 0; group->cgroup && tries < 5 && gt_cgroup_remove(group->cgroup, NULL) == -EBUSY; tries++)
        nanosleep(&(struct timespec){0, 200000}, NULL);
    gt_cgroup_close(group->cgroup);
    gt_root_close(&group->root);
    free(group);
}

/* The group's own control group; NULL for NULL. */
static const struct gt_cgroup *cgroup_of(const struct gt_group *group)
{
    return group ? group->cgroup : NULL;
}

/* ---- Telling the caller ------------------------------------------------------------------------------------------ */

/* A call of the library from which callbacks are called. A tracker that one of them closes goes when the outermost such
 * call ends. */
struct call {
    struct gt_tracker *tracker;
    bool closes; /* a callback closed the tracker */
    struct call *outer;
};

/* The calls that this thread is in from which callbacks are called, the innermost first. */
static _Thread_local struct call *calls;

/* Kept until the lock is free: the callback may call any function. */
static void keep_sentence(void *context, const char *sentence)
{
    struct gt_tracker *tracker = context;
    char *text = tracker->options.warn ? strdup(sentence) : NULL;
    char **place = text ? GT_GROW(tracker, sentence) : NULL;
    if (place)
        *place = text;
    else
        free(text);
}

static void release(struct gt_tracker *tracker)
{
    if (tracker->pidfd >= 0)
        close(tracker->pidfd);
    if (tracker->stop_fd >= 0)
        close(tracker->stop_fd);
    for (size_t i = 0; i < tracker->sentence_count; i++)
        free(tracker->sentence[i]);
    free(tracker->sentence);
    gt_recorder_close(&tracker->recorder);
    gt_tracker_options_release(&tracker->options);
    pthread_mutex_destroy(&tracker->mutex);
    free(tracker);
}

static void call_begin(struct call *call, struct gt_tracker *tracker)
{
    *call = (struct call){.tracker = tracker, .outer = calls};
    calls = call;
}

static int call_end(struct call *call)
{
    struct gt_tracker *tracker = call->tracker;
    calls = call->outer;
    if (!call->closes)
        return 0;
    gt_tracker_stop(tracker, NULL);
    if (tracker->has_thread) /* this one is it */
        pthread_detach(tracker->thread);
    release(tracker);
    return -ECANCELED;
}

static bool is_closing(const struct gt_tracker *tracker)
{
    const struct call *call = calls;
    while (call && !(call->tracker == tracker && call->closes))
        call = call->outer;
    return call;
}

/* Give up the lock and hand the waiting sentences to the caller. -ECANCELED: the caller has closed the tracker, which
 * is gone. */
static int tracker_unlock(struct gt_tracker *tracker)
{
    struct call call;
    char **text = tracker->sentence;
    size_t count = tracker->sentence_count;
    tracker->sentence = NULL;
    tracker->sentence_count = tracker->sentence_capacity = 0;
    pthread_mutex_unlock(&tracker->mutex);
    call_begin(&call, tracker);
    for (size_t i = 0; i < count; i++) {
        if (!is_closing(tracker))
            tracker->options.warn(tracker->options.context, text[i]);
        free(text[i]);
    }
    free(text);
    return call_end(&call);
}

/* ---- Opening and closing ----------------------------------------------------------------------------------------- */

/* The number was this process's when the tree was read if it still lives: else it may have been used again. */
static int check_identity(struct gt_tracker *tracker, pid_t pid, struct gt_error *error)
{
    struct pollfd ended = {tracker->pidfd, POLLIN, 0};
    if (tracker->pidfd < 0)
        return 0;
    if (!tracker->recorder.sampler.root.is_machine) {
        close(tracker->pidfd);
        tracker->pidfd = -1;
        return 0;
    }
    if (tracker->options.launched || poll(&ended, 1, 0) <= 0)
        return 0;
    return gt_error_set(error, ESRCH, "process %d has ended", (int)pid);
}

static int open_recorder(struct gt_tracker *tracker, pid_t pid, bool is_own, struct gt_error *error)
{
    struct gt_recorder *recorder = &tracker->recorder;
    const struct gt_recorder_options options = {.tracker = &tracker->options,
                                                .cgroup = cgroup_of(tracker->options.group),
                                                .warn = keep_sentence,
                                                .context = tracker};
    tracker->pidfd = gt_pidfd_open(pid); /* before the tree is read */
    int status = gt_recorder_open(recorder, pid, is_own, &options, error);
    if (status >= 0)
        status = check_identity(tracker, pid, error);
    if (status < 0)
        return status;
    recorder->sampler.snapshot.main_fd = tracker->pidfd > 0 ? tracker->pidfd : 0;
    gt_schedule_start(&tracker->schedule, recorder->start_ns, (int64_t)(tracker->options.sleep_time * 1e9),
                      gt_job_finder_fd(&recorder->sampler.finder) >= 0);
    return 0;
}

int gt_tracker_open(struct gt_tracker **ret, pid_t pid, const struct gt_tracker_options *options,
                    struct gt_error *error)
{
    bool is_own = pid == 0 || pid == getpid();
    struct gt_tracker *tracker = calloc(1, sizeof *tracker);
    if (!tracker)
        return gt_error_system(error, ENOMEM, "tracker");
    pthread_mutex_init(&tracker->mutex, NULL);
    tracker->pidfd = tracker->stop_fd = -1;
    tracker->recorder.sampler.root.fd = -1;
    int status = gt_tracker_options_copy(&tracker->options, options, error);
    if (status >= 0)
        status = gt_tracker_check_copy(&tracker->options, error);
    if (status >= 0)
        status = open_recorder(tracker, pid ? pid : getpid(), is_own, error);
    if (status < 0) {
        release(tracker);
        return status;
    }
    *ret = tracker;
    pthread_mutex_lock(&tracker->mutex);
    return tracker_unlock(tracker); /* what opening has to say */
}

int gt_tracker_add(struct gt_tracker *tracker, pid_t pid, struct gt_error *error)
{
    int status = gt_tree_add(&tracker->recorder.sampler.tree, pid);
    if (status < 0)
        return gt_error_system(error, -status, "process %d", (int)pid);
    if (status == 0 && !gt_tree_find(&tracker->recorder.sampler.tree, pid))
        return gt_process_missing(&tracker->recorder.sampler.root, pid, error);
    return 0;
}

void gt_tracker_close(struct gt_tracker *tracker)
{
    if (!tracker)
        return;
    struct call *outermost = NULL;
    for (struct call *call = calls; call; call = call->outer)
        outermost = call->tracker == tracker ? call : outermost;
    if (outermost) { /* a callback asks for it: it goes when the call from which that came ends */
        outermost->closes = true;
        return;
    }
    gt_tracker_stop(tracker, NULL);
    release(tracker);
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

int gt_tracker_sample(struct gt_tracker *tracker, struct gt_error *error)
{
    if (tracker->recorder.is_finished)
        return gt_error_set(error, EINVAL, "the tracker has finished");
    pthread_mutex_lock(&tracker->mutex);
    int status = gt_recorder_read(&tracker->recorder, true, error);
    int unlocked = tracker_unlock(tracker);
    return unlocked < 0 ? unlocked : status;
}

static void note_births(struct gt_tracker *tracker)
{
    gt_schedule_births(&tracker->schedule, tracker->recorder.sampler.finder.born);
}

static int look(struct gt_tracker *tracker, struct gt_error *error)
{
    int64_t used_ns;
    int status = gt_recorder_look(&tracker->recorder, &used_ns, error);
    gt_schedule_looked(&tracker->schedule, gt_recorder_now(&tracker->recorder), used_ns);
    return status;
}

/* Take the sample, reading or look that is due; where none is, a reading. 1: done; 0: no process of the job lives. */
static int take_due(struct gt_tracker *tracker, struct gt_error *error)
{
    struct gt_recorder *recorder = &tracker->recorder;
    if (recorder->is_finished)
        return gt_error_set(error, EINVAL, "the tracker has finished");
    pthread_mutex_lock(&tracker->mutex);
    enum gt_due due = gt_schedule_take(&tracker->schedule, gt_recorder_now(recorder));
    recorder->missed = tracker->schedule.missed;
    int status = 1;
    if (due == GT_DUE_POLL)
        gt_recorder_poll(recorder);
    else
        status = due == GT_DUE_LOOK ? look(tracker, error) : gt_recorder_read(recorder, due == GT_DUE_SAMPLE, error);
    note_births(tracker);
    gt_schedule_processes(&tracker->schedule, recorder->sampler.tree.count > 1,
                          gt_job_memory_figures(recorder->sampler.memory)->method == GT_MEMORY_GROUP);
    int unlocked = tracker_unlock(tracker);
    return unlocked < 0 ? unlocked : status;
}

/* ---- What the caller knows and asks ------------------------------------------------------------------------------ */

/* Takes the lock, also of a tracker that is only read. */
static struct gt_recorder *lock(const struct gt_tracker *tracker)
{
    struct gt_tracker *locked = (struct gt_tracker *)tracker;
    pthread_mutex_lock(&locked->mutex);
    return &locked->recorder;
}

static void unlock(const struct gt_tracker *tracker)
{
    pthread_mutex_unlock(&((struct gt_tracker *)tracker)->mutex);
}

void gt_tracker_main_peak(struct gt_tracker *tracker, double bytes)
{
    gt_recorder_main_peak(lock(tracker), bytes);
    unlock(tracker);
}

double gt_tracker_value(const struct gt_tracker *tracker, enum gt_scope scope, int metric)
{
    if (scope >= (enum gt_scope)GT_FIXED_ROWS || metric < 0 || metric >= GT_METRIC_COUNT)
        return NAN;
    double value = gt_recorder_value(lock(tracker), scope, metric);
    unlock(tracker);
    return value;
}

void gt_tracker_take_energy(struct gt_tracker *tracker, struct gt_energy_drawn *ret)
{
    gt_recorder_take_energy(lock(tracker), ret);
    unlock(tracker);
}

size_t gt_tracker_processes(const struct gt_tracker *tracker, pid_t *pids, size_t capacity)
{
    size_t count = gt_recorder_processes(lock(tracker), pids, capacity);
    unlock(tracker);
    return count;
}

const char *gt_tracker_recording_path(const struct gt_tracker *tracker)
{
    return tracker->options.tracking_file ? tracker->recorder.path : NULL;
}

int gt_tracker_contains(const struct gt_tracker *tracker, pid_t pid)
{
    bool contains = gt_recorder_contains(lock(tracker), pid);
    unlock(tracker);
    return contains;
}

int gt_tracker_finish(struct gt_tracker *tracker, struct gt_error *error)
{
    int status = gt_tracker_stop(tracker, error);
    if (tracker->recorder.is_finished)
        return status;
    int finished = gt_recorder_finish(&tracker->recorder, error);
    pthread_mutex_lock(&tracker->mutex);
    int unlocked = tracker_unlock(tracker); /* what there was to say at the end */
    return unlocked < 0 ? unlocked : finished < 0 ? finished : status;
}

void gt_tracker_sent_to(struct gt_tracker *tracker, const char *url)
{
    tracker->url = url;
}

/* "clickhouse://HOST/DATABASE/JOB"; "" when it is sent nowhere. */
static void find_address(const struct gt_tracker *tracker, char *ret, size_t size)
{
    struct gt_address parts;
    char name[800], job[600];
    *ret = '\0';
    if (!tracker->url || !gt_recorder_has_recording(&tracker->recorder) ||
        gt_address_read(&parts, tracker->url, NULL) < 0)
        return;
    gt_address_name(name, sizeof name, &parts);
    gt_upload_name_job(job, sizeof job, &tracker->recorder.machine, parts.jobs);
    snprintf(ret, size, "%s/%s", name, job);
}

/* A summary does not tell where its figures come from. */
static int report(struct gt_tracker *tracker, struct gt_outcome *outcome, bool is_summary, struct gt_report **ret,
                  struct gt_error *error)
{
    char address[1500];
    struct gt_recorder *recorder = &tracker->recorder;
    find_address(tracker, address, sizeof address);
    struct gt_usage usage = {.machine = &recorder->machine,
                             .summary = &recorder->summary,
                             .outcome = outcome,
                             .recording = gt_recorder_has_recording(recorder) ? recorder->path : NULL,
                             .address = *address ? address : NULL};
    int status = gt_recorder_explain(recorder, outcome, error);
    if (status < 0)
        return status;
    return is_summary ? gt_usage_summary(ret, &usage, error) : gt_usage_report(ret, &usage, error);
}

static int report_now(struct gt_tracker *tracker, bool is_summary, struct gt_report **ret, struct gt_error *error)
{
    struct gt_recorder *recorder = &tracker->recorder;
    if (recorder->is_finished)
        return report(tracker, &recorder->outcome, is_summary, ret, error);
    struct gt_outcome outcome = {0};
    lock(tracker);
    int status = gt_recorder_outcome(recorder, &outcome, error);
    if (status >= 0)
        status = report(tracker, &outcome, is_summary, ret, error);
    unlock(tracker);
    gt_outcome_release(&outcome);
    return status;
}

int gt_tracker_report(struct gt_tracker *tracker, struct gt_report **ret, struct gt_error *error)
{
    return report_now(tracker, false, ret, error);
}

int gt_tracker_summary(struct gt_tracker *tracker, struct gt_report **ret, struct gt_error *error)
{
    return report_now(tracker, true, ret, error);
}

/* ---- For programs with privileges of their own: what takes them is opened first, so that they can be given up at
 * once ---- */

static void open_counters(const struct gt_root *root)
{
    struct gt_clock clock = gt_clock_system;
    struct gt_snapshot *snapshot = calloc(1, sizeof *snapshot);
    struct gt_topology topology = {0};
    struct gt_collect_options options = {
        .root = root, .clock = &clock, .topology = &topology, .period = 1, .pid = getpid()};
    gt_early_begin();
    for (size_t i = 0; snapshot && i < gt_collector_type_count; i++) {
        struct gt_availability availability;
        void *state;
        if (!gt_collector_is_of_energy(gt_collector_types[i]))
            continue;
        gt_collector_open(gt_collector_types[i], &state, &options, snapshot, &availability, NULL);
        gt_collector_close(gt_collector_types[i], state);
    }
    gt_early_end();
    if (snapshot) {
        gt_packages_release(snapshot, &topology);
        free(snapshot->device);
    }
    free(snapshot);
}

int gt_privileged_open(int events)
{
    struct gt_root root;
    if (!getauxval(AT_SECURE))
        return 0;
    if (gt_root_open(&root, NULL, NULL) < 0)
        return 1;
    open_counters(&root);
    if (events)
        gt_events_open_early(&root);
    gt_root_close(&root);
    return 1;
}

/* ---- The loop: waits until something is due or was told, samples, waits for children
 * ------------------------------ */

enum { MAIN, EVENTS, FIRST_OF_CALLER, SOURCES = FIRST_OF_CALLER + GT_RUN_FDS };
/* Between two looks at the kernel's process events: no storm of them outruns it. Descriptors may be closed elsewhere,
 * so no wait is endless. */
static const int64_t EVENTS_PAUSE_NS = 5000000, LONGEST_WAIT_NS = GT_SECOND;

enum { ENDS, GOES_ON };

struct loop {
    struct gt_tracker *tracker; /* NULL: nothing is sampled */
    struct call call;
    struct gt_run_options options;
    int pidfd;    /* of the main process; -1 once its end was noticed */
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
    int status = take_due(loop->tracker, &error);
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

static void note_end(struct loop *loop, pid_t pid, int wait_status, const struct rusage *usage)
{
    loop->main_ended |= pid == loop->options.child;
    if (loop->tracker && usage) {
        gt_recorder_reaped(lock(loop->tracker), pid, wait_status, usage);
        unlock(loop->tracker);
    }
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
    /* The kernel's waitid also gives the resources used, even of a process that stays a zombie; the one of glibc does
     * not. */
    for (; status > 0; status = reap(loop, &info, &usage)) {
        info.si_pid = 0;
        ended = (int)syscall(SYS_waitid, P_ALL, 0, &info, WEXITED | WNOWAIT | WNOHANG, &usage);
        if (ended < 0 || !info.si_pid)
            break;
    }
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
        wake = earlier(wake, gt_schedule_next(&loop->tracker->schedule));
    wake = earlier(wake, began + (loop->pauses_events ? EVENTS_PAUSE_NS : LONGEST_WAIT_NS));
    bool hears = loop->samples && !loop->pauses_events;
    source[MAIN] = (struct pollfd){loop->pidfd, POLLIN, 0};
    source[EVENTS] = (struct pollfd){-1, POLLIN, 0};
    if (hears) {
        source[EVENTS].fd = gt_job_finder_fd(&lock(loop->tracker)->sampler.finder);
        unlock(loop->tracker);
    }
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
    loop->pauses_events = false;
    if (source[EVENTS].revents) {
        struct gt_sampler *sampler = &lock(loop->tracker)->sampler;
        loop->pauses_events = gt_job_finder_drain(&sampler->finder, &sampler->tree, &sampler->account, NULL) >= 0;
        note_births(loop->tracker);
        unlock(loop->tracker);
    }
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
    if (status <= 0 || is_over(loop) || is_dropped(loop) || !loop->samples ||
        gt_schedule_next(&loop->tracker->schedule) > now())
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
    call_begin(&loop.call, tracker);
    int status = tick(&loop);
    while (status > 0 && !is_over(&loop) && !is_dropped(&loop))
        status = step(&loop);
    if (own_pidfd >= 0)
        close(own_pidfd);
    int closed = call_end(&loop.call);
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
        return 0; /* from a callback: the thread ends when that returns; another thread that stops it waits for that */
    pthread_join(tracker->thread, NULL);
    tracker->has_thread = false;
    close(tracker->stop_fd);
    tracker->stop_fd = -1;
    if (!tracker->thread_error.code)
        return 0;
    return gt_error_copy(error, &tracker->thread_error);
}
