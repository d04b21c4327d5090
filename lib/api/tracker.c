#include "api/tracker.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "analyse/usage/usage.h"
#include "api/program.h"
#include "base/grow.h"
#include "base/root.h"
#include "collect/collector.h"
#include "collect/process/events.h"
#include "collect/process/kernel.h"
#include "collect/process/process.h"
#include "collect/topology.h"
#include "engine/upload.h"
#include "store/address.h"

/* ---- Telling the caller ------------------------------------------------------------------------------------------ */

/* The calls that this thread is in from which callbacks are called, the innermost first. */
static _Thread_local struct gt_call *calls;

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

void gt_call_begin(struct gt_call *call, struct gt_tracker *tracker)
{
    *call = (struct gt_call){.tracker = tracker, .outer = calls};
    calls = call;
}

int gt_call_end(struct gt_call *call)
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
    const struct gt_call *call = calls;
    while (call && !(call->tracker == tracker && call->closes))
        call = call->outer;
    return call;
}

/* Give up the lock and hand the waiting sentences to the caller. -ECANCELED: the caller has closed the tracker, which is gone. */
static int tracker_unlock(struct gt_tracker *tracker)
{
    struct gt_call call;
    char **text = tracker->sentence;
    size_t count = tracker->sentence_count;
    tracker->sentence = NULL;
    tracker->sentence_count = tracker->sentence_capacity = 0;
    pthread_mutex_unlock(&tracker->mutex);
    gt_call_begin(&call, tracker);
    for (size_t i = 0; i < count; i++) {
        if (!is_closing(tracker))
            tracker->options.warn(tracker->options.context, text[i]);
        free(text[i]);
    }
    free(text);
    return gt_call_end(&call);
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
                                                .cgroup = gt_group_cgroup(tracker->options.group),
                                                .warn = keep_sentence,
                                                .context = tracker};
    tracker->pidfd = gt_pidfd_open(pid); /* before the tree is read */
    int status = gt_recorder_open(recorder, pid, is_own, &options, error);
    if (status >= 0)
        status = check_identity(tracker, pid, error);
    if (status < 0)
        return status;
    recorder->sampler.frame.main_fd = tracker->pidfd > 0 ? tracker->pidfd : 0;
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
    struct gt_call *outermost = NULL;
    for (struct gt_call *call = calls; call; call = call->outer)
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
    gt_schedule_births(&tracker->schedule, gt_sampler_born(&tracker->recorder.sampler));
}

static int look(struct gt_tracker *tracker, struct gt_error *error)
{
    int64_t used_ns;
    int status = gt_recorder_look(&tracker->recorder, &used_ns, error);
    gt_schedule_looked(&tracker->schedule, gt_recorder_now(&tracker->recorder), used_ns);
    return status;
}

int gt_tracker_tick(struct gt_tracker *tracker, struct gt_error *error)
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
                          gt_job_memory_method(recorder->sampler.memory) == GT_MEMORY_GROUP);
    int unlocked = tracker_unlock(tracker);
    return unlocked < 0 ? unlocked : status;
}

int gt_tracker_events_fd(struct gt_tracker *tracker)
{
    pthread_mutex_lock(&tracker->mutex);
    int fd = gt_job_finder_fd(&tracker->recorder.sampler.finder);
    pthread_mutex_unlock(&tracker->mutex);
    return fd;
}

int gt_tracker_drain(struct gt_tracker *tracker, struct gt_error *error)
{
    pthread_mutex_lock(&tracker->mutex);
    int status = gt_sampler_drain(&tracker->recorder.sampler, error);
    note_births(tracker);
    pthread_mutex_unlock(&tracker->mutex);
    return status;
}

int64_t gt_tracker_due(const struct gt_tracker *tracker)
{
    return gt_schedule_next(&tracker->schedule);
}

/* ---- What the caller knows and asks ------------------------------------------------------------------------------ */

/* The lock, of a tracker whose figures are only read, too. */
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

void gt_tracker_reaped(struct gt_tracker *tracker, pid_t pid, int wait_status, const struct rusage *usage)
{
    gt_recorder_reaped(lock(tracker), pid, wait_status, usage);
    unlock(tracker);
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

/* ---- For programs with privileges of their own: what takes them is opened first, so that they can be given up at once ---- */

static void open_counters(const struct gt_root *root)
{
    struct gt_clock clock = gt_clock_system;
    struct gt_frame *frame = calloc(1, sizeof *frame);
    struct gt_topology topology = {0};
    struct gt_collect_options options = {
        .root = root, .clock = &clock, .topology = &topology, .period = 1, .pid = getpid()};
    gt_early_begin();
    for (size_t i = 0; frame && i < gt_collector_type_count; i++) {
        struct gt_availability availability;
        void *state = NULL;
        if (!gt_collector_is_of_energy(gt_collector_types[i]))
            continue;
        gt_collector_types[i]->open(&state, &options, frame, &availability, NULL);
        if (state)
            gt_collector_types[i]->close(state);
    }
    gt_early_end();
    if (frame) {
        gt_packages_release(frame, &topology);
        free(frame->device);
    }
    free(frame);
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
