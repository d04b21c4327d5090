#include "job/agent.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/tracker.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/number.h"
#include "base/os/system.h"
#include "message.h"
#include "option.h"
#include "output.h"
#include "job/launch.h"

enum { SETTLE_US = 200, PARENT_MS = 2000, LOOK_MS = 1000 };
static const int64_t BACKUP_PERIOD_NS = 1000000000;

struct agent {
    struct gt_tracker *tracker;
    int control;      /* the socket */
    int caller;       /* pidfd, or -1: the kernel has none, */
    pid_t caller_pid; /* so that the number is asked for */
    struct signals signals;
    struct output backup; /* where the results so far are kept; path NULL: nowhere */
    int64_t next_backup;
    double gpu_ram_peak;
    bool is_ready;             /* AGENT_READY was sent */
    bool has_ended;            /* the job: nothing more is sampled */
    bool was_asked;            /* by the caller, to stop */
    bool is_repeated;          /* begins again on request */
    bool is_experiment;        /* ends with the job; without a tracking file its records go to the caller */
    double measurement_period; /* of an experiment's records, seconds; 0: it has none */
    bool all_gpu_users;        /* of an experiment: all processes on GPUs count as the job's */
};

/* A caller that is gone is noticed elsewhere. */
static void send_all(const struct agent *agent, const void *data, size_t length)
{
    while (length) {
        ssize_t sent = send(agent->control, data, length, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return;
        if (sent > 0) {
            data = (const char *)data + sent;
            length -= (size_t)sent;
        }
    }
}

static void tell(const struct agent *agent, enum agent_kind kind, const void *data, size_t length)
{
    struct agent_message message = {kind, (uint32_t)length};
    send_all(agent, &message, sizeof message);
    send_all(agent, data, length);
}

static int tell_error(const struct agent *agent, const struct gt_error *error)
{
    tell(agent, AGENT_ERROR, error, sizeof *error);
    return EXIT_TRACKER;
}

static int tell_failure(const struct agent *agent, int code, const char *sentence)
{
    struct gt_error error = {.code = code};
    snprintf(error.text, sizeof error.text, "%s", sentence);
    return tell_error(agent, &error);
}

static void send_warning(void *context, const char *sentence)
{
    tell(context, AGENT_WARNING, sentence, strlen(sentence));
}

static int hand_over(void *context, const char *metrics)
{
    tell(context, AGENT_RECORD, metrics, strlen(metrics));
    return 0;
}

/* ---- reports ---- */

static void tell_report(const struct agent *agent, enum agent_kind kind, const struct gt_report *report,
                        const char *format)
{
    struct gt_error error = {0};
    char *text = NULL;
    size_t length = 0;
    int status = gt_report_render(report, format, &text, &length, &error);
    if (status < 0)
        tell_error(agent, &error);
    else
        tell(agent, kind, text, length);
    free(text);
}

static void save_backup(struct agent *agent)
{
    struct gt_report *report = NULL;
    int64_t now = gt_clock_monotonic(&gt_clock_system);
    if (!agent->backup.path || now < agent->next_backup)
        return;
    agent->next_backup = now + BACKUP_PERIOD_NS;
    if (gt_tracker_report(agent->tracker, &report, NULL) >= 0 && output_report(&agent->backup, report) != 0) {
        send_warning(agent, "the file for interrupted results cannot be written; there will be none");
        agent->backup.path = NULL;
    }
    gt_report_free(report);
}

/* The final figures: to the caller when it asked for them or still lives, else into the file. */
static int conclude(struct agent *agent)
{
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    if (!agent->has_ended && !(agent->measurement_period > 0)) {
        /* The kernel brings the CPU clock of a process that runs up to date with the next timer tick only; the caller
         * is about to wait for us, and then its clock is right. */
        usleep(SETTLE_US);
        gt_tracker_sample(agent->tracker, NULL);
    }
    int status = gt_tracker_finish(agent->tracker, &error);
    if (status < 0) {
        send_warning(agent, error.text);
        error = (struct gt_error){0};
    }
    status = gt_tracker_report(agent->tracker, &report, &error);
    if (status < 0)
        return tell_error(agent, &error);
    if (agent->backup.path && agent->was_asked)
        unlink(agent->backup.path);
    if (agent->backup.path && !agent->was_asked)
        output_report(&agent->backup, report);
    tell_report(agent, AGENT_JSON, report, "json");
    tell_report(agent, AGENT_SUMMARY, report, "summary");
    tell_report(agent, AGENT_TEXT, report, "text");
    gt_report_free(report);
    return 0;
}

/* ---- sampling ---- */

static double value(const struct agent *agent, enum gt_scope scope, const char *metric)
{
    return gt_tracker_value(agent->tracker, scope, gt_metric_find(metric));
}

static void note_sample(struct agent *agent, int status, const struct gt_error *error)
{
    if (status < 0)
        send_warning(agent, error->text);
    agent->has_ended = status <= 0;
    agent->gpu_ram_peak = fmax(agent->gpu_ram_peak, value(agent, GT_SCOPE_COMBINED, "gpu_ram"));
}

static void on_sample(void *context, int status, const struct gt_error *error)
{
    struct agent *agent = context;
    uint32_t own = (uint32_t)getpid();
    note_sample(agent, status, error);
    if (agent->is_ready)
        save_backup(agent);
    else
        tell(agent, AGENT_READY, &own, sizeof own);
    agent->is_ready = true;
}

static void next_window(struct agent *agent)
{
    struct gt_error error = {0};
    if (!agent->has_ended)
        note_sample(agent, gt_tracker_sample(agent->tracker, &error), &error);
    struct agent_window window = {
        .gpu_ram = value(agent, GT_SCOPE_COMBINED, "gpu_ram"),
        .gpu_ram_peak = agent->gpu_ram_peak,
        .descendants_ram = value(agent, GT_SCOPE_COMBINED, "ram") - value(agent, GT_SCOPE_MAIN, "ram"),
    };
    gt_tracker_take_energy(agent->tracker, &window.energy);
    agent->gpu_ram_peak = window.gpu_ram;
    tell(agent, AGENT_WINDOW, &window, sizeof window);
}

static void tell_state(struct agent *agent)
{
    struct gt_error error = {0};
    if (!agent->has_ended)
        note_sample(agent, gt_tracker_sample(agent->tracker, &error), &error);
    struct agent_state state = {
        .ram = value(agent, GT_SCOPE_COMBINED, "ram"),
        .cpu = value(agent, GT_SCOPE_COMBINED, "cpu_utilization"),
        .gpu_ram = value(agent, GT_SCOPE_COMBINED, "gpu_ram"),
        .gpu_utilization = value(agent, GT_SCOPE_SYSTEM, "gpu_utilization"),
        .processes = value(agent, GT_SCOPE_COMBINED, "processes"),
    };
    tell(agent, AGENT_STATE, &state, sizeof state);
}

/* ---- requests ---- */

static void take_own_peak(const struct agent *agent)
{
    double bytes;
    if (recv(agent->control, &bytes, sizeof bytes, MSG_WAITALL) == sizeof bytes)
        gt_tracker_main_peak(agent->tracker, bytes);
}

/* 1: go on; 0: the caller requested the end, or is gone. */
static int take_request(struct agent *agent)
{
    char request;
    ssize_t length = recv(agent->control, &request, 1, 0);
    if (length < 0 && errno == EINTR)
        return 1;
    if (length != 1)
        return 0;
    if (request == AGENT_NEXT_WINDOW)
        next_window(agent);
    if (request == AGENT_NOW)
        tell_state(agent);
    if (request == AGENT_OWN_PEAK)
        take_own_peak(agent);
    agent->was_asked = request == AGENT_STOP;
    return !agent->was_asked;
}

/* Polls the caller, if the kernel has no pidfd to watch it. */
static int on_turn(void *context, int64_t *wake_ns)
{
    const struct agent *agent = context;
    (void)wake_ns;
    return agent->caller >= 0 || kill(agent->caller_pid, 0) == 0 || errno != ESRCH;
}

/* The end of the caller and any signal end the sampling, too. */
static int on_ready(void *context, int fd)
{
    struct agent *agent = context;
    return fd == agent->control && take_request(agent);
}

/* The first of the processes is the tracker's main one. */
static int open_tracker(struct agent *agent, const pid_t *pids, int count, const struct options *options,
                        struct gt_error *error)
{
    struct gt_tracker_options settings = settings_tracker(options);
    settings.warn = send_warning;
    settings.context = agent;
    struct gt_experiment_options experiment = {.measurement_period = agent->measurement_period,
                                               .all_gpu_users = agent->all_gpu_users,
                                               .record = options->tracking_file ? NULL : hand_over};
    if (agent->is_experiment && (experiment.record || experiment.measurement_period > 0))
        settings.experiment = &experiment;
    int status = settings_keep_files(&settings, error);
    if (status >= 0)
        status = gt_tracker_open(&agent->tracker, pids[0], &settings, error);
    for (int i = 1; i < count && status >= 0; i++)
        status = gt_tracker_add(agent->tracker, pids[i], error);
    return status;
}

static int track(struct agent *agent, const pid_t *pids, int count, const struct options *options)
{
    struct gt_run_options run = GT_INIT(struct gt_run_options);
    struct gt_error error = {0};
    int status = open_tracker(agent, pids, count, options, &error);
    if (status < 0)
        return tell_error(agent, &error);
    const int fds[] = {agent->control, agent->caller, agent->signals.fd};
    run.until = agent->is_experiment ? GT_UNTIL_ALL_END : GT_UNTIL_TOLD;
    run.fds = fds;
    run.fd_count = sizeof fds / sizeof *fds;
    run.ready = on_ready;
    run.turn = on_turn;
    run.sampled = on_sample;
    run.context = agent;
    gt_tracker_run(agent->tracker, &run, NULL);
    return conclude(agent);
}

/* Waits between two reports. False: the caller is gone. */
static bool is_begun_again(struct agent *agent)
{
    struct pollfd source[] = {{agent->control, POLLIN, 0}, {agent->caller, POLLIN, 0}, {agent->signals.fd, POLLIN, 0}};
    char request = 0;
    int64_t never = 0;
    while (poll(source, sizeof source / sizeof *source, LOOK_MS) <= 0)
        if (!on_turn(agent, &never))
            return false;
    return source[0].revents && recv(agent->control, &request, 1, 0) == 1 && request == AGENT_BEGIN;
}

static int serve(struct agent *agent, const pid_t *pids, int count, const struct options *options)
{
    agent->backup = (struct output){.format = "pickle", .path = options->output};
    signals_take_ending(&agent->signals);
    int status = track(agent, pids, count, options);
    while (status == 0 && agent->is_repeated && agent->was_asked && is_begun_again(agent)) {
        gt_tracker_close(agent->tracker);
        agent->tracker = NULL;
        agent->gpu_ram_peak = NAN;
        agent->is_ready = agent->has_ended = agent->was_asked = false;
        status = track(agent, pids, count, options);
    }
    return status;
}

static int refuse(const struct agent *agent, const char *theirs)
{
    char text[300];
    int length = snprintf(text, sizeof text,
                          "the gpu-tracker program (%s) and the Python package (%.100s) are of different versions: "
                          "reinstall the package",
                          AGENT_VERSION, theirs);
    tell(agent, AGENT_REFUSAL, text, (size_t)length);
    return EXIT_TRACKER;
}

/* How many, or -EINVAL; free *ret with free(). */
static int read_pids(char *const *words, int count, pid_t **ret)
{
    *ret = count > 0 ? calloc((size_t)count, sizeof **ret) : NULL;
    for (int i = 0; *ret && i < count; i++)
        if (!option_pid(words[i], &(*ret)[i]))
            return -EINVAL;
    return *ret ? count : -EINVAL;
}

/* Waits until our parent is not a child of the caller: a sample of the caller would include it. */
static void outlive(int parent, pid_t number)
{
    for (int waited = 0; parent < 0 && getppid() == number && waited < PARENT_MS; waited++)
        usleep(1000);
    if (parent < 0)
        return;
    poll(&(struct pollfd){.fd = parent, .events = POLLIN}, 1, PARENT_MS);
    close(parent);
}

int agent_main(int count, char **words)
{
    struct agent agent = {.control = STDIN_FILENO, .gpu_ram_peak = NAN};
    struct options options = {0};
    int operands;
    pid_t *pids = NULL;
    gt_close_from(STDERR_FILENO + 1); /* what the caller left open is not for us to hold */
    agent.signals.fd = -1;
    agent.caller_pid = getppid();
    agent.caller = (int)syscall(SYS_pidfd_open, agent.caller_pid, 0);
    /* Processes forked by a caller that is gone may keep the socket open and never read it. */
    setsockopt(agent.control, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){.tv_sec = 2}, sizeof(struct timeval));
    prctl(PR_SET_NAME, GT_SAMPLER_NAME); /* before the fork: another tracker of our caller recognizes both by it */
    pid_t number = getpid();
    int parent = (int)syscall(SYS_pidfd_open, number, 0);
    pid_t child = fork();
    if (child)
        return child < 0 ? tell_failure(&agent, errno, "the sampler cannot be forked") : 0;
    setsid();
    outlive(parent, number);
    heap_keep_small();
    prctl(PR_SET_TIMERSLACK, 1ul);
    if (!count || strcmp(words[0], AGENT_VERSION) != 0)
        return refuse(&agent, count ? words[0] : "none");
    count--;
    words++;
    if (count > 1 && strcmp(words[0], "experiment") == 0 &&
        gt_number_double(words[1], &agent.measurement_period) >= 0) {
        agent.is_experiment = true;
        agent.all_gpu_users = agent.measurement_period < 0;
        agent.measurement_period = fabs(agent.measurement_period);
        count -= 2;
        words += 2;
    } else if (count && strcmp(words[0], "again") == 0) {
        agent.is_repeated = true;
        count--;
        words++;
    }
    char trouble[500] = "the processes must be numbers";
    say_into(trouble, sizeof trouble);
    int status = options_parse(&options, &command_attach, count, words, &operands);
    say_into(NULL, 0);
    if (status || read_pids(words, operands, &pids) < 0)
        status = tell_failure(&agent, EINVAL, trouble);
    else
        status = serve(&agent, pids, operands, &options);
    free(pids);
    gt_tracker_close(agent.tracker);
    options_release(&options);
    return status;
}
