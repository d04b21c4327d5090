/* The collector "pressure": how long tasks waited for CPU, memory and storage, on the whole machine.
 * Source: Documentation/accounting/psi.rst in the kernel's sources; totals are microseconds. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/collector.h"

/* `full` is meaningless for the CPU of a whole machine: some task always runs there. */
static const struct resource {
    const char *path;
    enum gt_metric_id some, full;
} resources[] = {
    {"proc/pressure/cpu", GT_PRESSURE_CPU, GT_METRIC_COUNT},
    {"proc/pressure/memory", GT_PRESSURE_MEMORY, GT_PRESSURE_MEMORY_FULL},
    {"proc/pressure/io", GT_PRESSURE_IO, GT_PRESSURE_IO_FULL},
};

enum { RESOURCES = sizeof resources / sizeof *resources };

static const enum gt_metric_id metrics[] = {
    GT_PRESSURE_CPU, GT_PRESSURE_MEMORY, GT_PRESSURE_MEMORY_FULL, GT_PRESSURE_IO, GT_PRESSURE_IO_FULL,
};

struct state {
    int fd[RESOURCES];
    const struct gt_clock *clock;
    int64_t read_ns;
    double at_open[GT_METRIC_COUNT], latest[GT_METRIC_COUNT];
};

/* Seconds from the line "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345". */
static double total(const char *text, const char *kind)
{
    const char *line = strstr(text, kind), *number = line ? strstr(line, "total=") : NULL;
    return number ? (double)strtoull(number + strlen("total="), NULL, 10) / 1e6 : NAN;
}

/* A machine started with psi=0 has the files, and reading them fails. */
static int read_totals(const struct state *state, double *values)
{
    int result = -ENOENT;
    for (int i = 0; i < RESOURCES; i++) {
        char text[256];
        ssize_t length = state->fd[i] < 0 ? state->fd[i] : gt_root_reread_piece(state->fd[i], text, sizeof text);
        if (length > 0) {
            values[resources[i].some] = total(text, "some ");
            if (resources[i].full != GT_METRIC_COUNT)
                values[resources[i].full] = total(text, "full ");
            result = 0;
        } else if (result < 0) {
            result = (int)length;
        }
    }
    return result;
}

static void pressure_close(void *opaque)
{
    struct state *state = opaque;
    for (int i = 0; state && i < RESOURCES; i++)
        if (state->fd[i] >= 0)
            close(state->fd[i]);
    free(state);
}

static int explain(struct gt_availability *availability, int result)
{
    if (result == -EOPNOTSUPP)
        return gt_unavailable(availability, GT_ABSENT, NULL,
                              "switched off; psi=1 on the kernel's command line enables it");
    if (result == -EACCES || result == -EPERM)
        return gt_unavailable(availability, GT_DENIED, NULL, "/proc/pressure may not be read");
    return gt_unavailable(availability, GT_ABSENT, NULL, "this kernel has no /proc/pressure");
}

static int pressure_open(void **ret, const struct gt_collect_options *options, struct gt_frame *frame,
                         struct gt_availability *availability, struct gt_error *error)
{
    (void)frame;
    *ret = NULL;
    *availability = (struct gt_availability){.source = "/proc/pressure", .refresh = 1};
    struct state *state = malloc(sizeof *state);
    if (!state)
        return gt_error_system(error, ENOMEM, "pressure collector");
    for (int i = 0; i < RESOURCES; i++)
        state->fd[i] = gt_root_open_file(options->root, resources[i].path);
    state->clock = options->clock;
    state->read_ns = INT64_MIN / 2;
    gt_values_clear(state->at_open);
    int result = read_totals(state, state->at_open);
    if (result < 0) {
        pressure_close(state);
        return explain(availability, result);
    }
    *ret = state;
    return 0;
}

static int pressure_collect(void *opaque, struct gt_frame *frame, struct gt_error *error)
{
    (void)error;
    struct state *state = opaque;
    int64_t now = gt_clock_monotonic(state->clock);
    if (frame->is_last || now - state->read_ns >= GT_COLLECT_SLOW_NS) {
        gt_values_clear(state->latest);
        read_totals(state, state->latest);
        state->read_ns = now;
    }
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        frame->system[metrics[i]] = state->latest[metrics[i]] - state->at_open[metrics[i]];
    return 0;
}

static const struct gt_origin origins[] = {
    {GT_PRESSURE_CPU, GT_EXACT, "/proc/pressure/cpu", "of the whole machine; rows read it once a second"},
    {GT_PRESSURE_MEMORY, GT_EXACT, "/proc/pressure/memory", "of the whole machine; rows read it once a second"},
    {GT_PRESSURE_MEMORY_FULL, GT_EXACT, "/proc/pressure/memory", "of the whole machine; rows read it once a second"},
    {GT_PRESSURE_IO, GT_EXACT, "/proc/pressure/io", "of the whole machine; rows read it once a second"},
    {GT_PRESSURE_IO_FULL, GT_EXACT, "/proc/pressure/io", "of the whole machine; rows read it once a second"},
};

const struct gt_collector_type gt_collector_pressure = {
    .name = "pressure",
    .help = "time in which tasks waited for CPU, memory or storage, on the whole machine",
    .metrics = metrics,
    .metric_count = sizeof metrics / sizeof *metrics,
    .origins = origins,
    .origin_count = sizeof origins / sizeof *origins,
    .open = pressure_open,
    .collect = pressure_collect,
    .close = pressure_close,
    .lags = true,
};
