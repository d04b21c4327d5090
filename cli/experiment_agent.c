#include "experiment_agent.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/number.h"
#include "api/experiment_record.h"
#include "gpu_tracker.h"
#include "message.h"
#include "signals.h"

/* An empty FOLDER: records go to the caller. An empty ROOT: this machine. */
enum { FOLDER, DESCRIPTION, PERIOD, MEASUREMENT_PERIOD, ROOT, FIRST_PID };

static void tell(int control, enum agent_kind kind, const void *data, size_t length)
{
    struct agent_message message = {kind, (uint32_t)length};
    if (send(control, &message, sizeof message, MSG_NOSIGNAL | MSG_MORE) == (ssize_t)sizeof message && length)
        send(control, data, length, MSG_NOSIGNAL);
}

static int tell_error(int control, const struct gt_error *error)
{
    tell(control, AGENT_ERROR, error, sizeof *error);
    return EXIT_TRACKER;
}

static int hand_over(void *context, const char *metrics)
{
    tell(*(const int *)context, AGENT_JSON, metrics, strlen(metrics));
    return 0;
}

/* Until asked to stop, or the caller or the processes have ended. */
static void record(struct gt_experiment_recorder *recorder, int control, int caller, int signals)
{
    for (int lives = 1; lives != 0;) {
        struct pollfd source[] = {{control, POLLIN, 0}, {caller, POLLIN, 0}, {signals, POLLIN, 0}};
        struct gt_error error = {0};
        int64_t left = gt_experiment_due(recorder) - gt_clock_monotonic(&gt_clock_system);
        int64_t wait = left < 0 ? 0 : (left + 999999) / 1000000;
        int ready = poll(source, 3, wait > INT_MAX ? INT_MAX : (int)wait);
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return;
        if (ready == 0 && (lives = gt_experiment_tick(recorder, &error)) < 0)
            tell(control, AGENT_WARNING, error.text, strlen(error.text));
    }
}

static int serve(int control, int caller, const struct gt_experiment_options *options)
{
    struct gt_experiment_recorder *recorder = NULL;
    struct gt_error error = {0};
    struct signals signals = {.fd = -1};
    uint32_t own = (uint32_t)getpid();
    int status = gt_experiment_begin(&recorder, options, &error);
    if (status < 0)
        return tell_error(control, &error);
    signals_take_ending(&signals);
    if (signals.fd < 0) {
        gt_error_set(&error, errno, "the recorder cannot wait for its caller");
        gt_experiment_close(recorder);
        return tell_error(control, &error);
    }
    tell(control, AGENT_READY, &own, sizeof own);
    record(recorder, control, caller, signals.fd);
    status = gt_experiment_end(recorder, &error);
    gt_experiment_close(recorder);
    if (status < 0)
        return tell_error(control, &error);
    tell(control, AGENT_TEXT, "", 0);
    return 0;
}

int experiment_agent(int control, int caller, int count, char **words)
{
    struct gt_experiment_options options = GT_INIT(struct gt_experiment_options);
    pid_t *pids = count > FIRST_PID ? calloc((size_t)count, sizeof *pids) : NULL;
    if (!pids || gt_number_double(words[PERIOD], &options.period) < 0 ||
        gt_number_double(words[MEASUREMENT_PERIOD], &options.measurement_period) < 0) {
        free(pids);
        return tell_error(control, &(struct gt_error){EINVAL, "the periods must be numbers of seconds", 0});
    }
    for (int i = FIRST_PID; i < count; i++) {
        int64_t pid;
        pids[options.pid_count++] = gt_number_i64(words[i], &pid) < 0 || pid < 1 || pid > INT_MAX ? -1 : (pid_t)pid;
    }
    options.folder = *words[FOLDER] ? words[FOLDER] : NULL;
    options.description = words[DESCRIPTION];
    options.machine_root = *words[ROOT] ? words[ROOT] : NULL;
    if (!options.folder) {
        options.record = hand_over;
        options.context = &control;
    }
    options.pids = pids;
    int status = serve(control, caller, &options);
    free(pids);
    return status;
}
