/* The collector "meter": what an external power meter writes into a file while the job runs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "collect/availability.h"
#include "collect/energy/meter.h"

static const enum gt_metric_id metrics[] = {GT_WALL_POWER, GT_WALL_ENERGY};

struct state {
    struct gt_meter *meter;
    int64_t begin_ns; /* real time; 0: no sample yet */
    double joules;
};

static void meter_close(void *opaque)
{
    struct state *state = opaque;
    if (state)
        gt_meter_close(state->meter);
    free(state);
}

static int meter_open(void **ret, const struct gt_collect_options *options, struct gt_frame *frame,
                      struct gt_availability *availability, struct gt_error *error)
{
    (void)frame;
    *ret = NULL;
    *availability = (struct gt_availability){.source = "external power meter", .refresh = NAN};
    if (!options->power_meter)
        return gt_unavailable(availability, GT_ABSENT, NULL, "no file of a meter was given (--power-meter)");
    struct state *state = calloc(1, sizeof *state);
    if (!state)
        return gt_error_system(error, ENOMEM, "power meter");
    int status = gt_meter_open(&state->meter, options->power_meter, error);
    if (status < 0) {
        meter_close(state);
        return status;
    }
    state->begin_ns = gt_clock_real(options->clock);
    availability->refresh = gt_meter_period(state->meter);
    snprintf(availability->source, sizeof availability->source, "external power meter, %.100s", options->power_meter);
    *ret = state;
    return 0;
}

static int meter_collect(void *opaque, struct gt_frame *frame, struct gt_error *error)
{
    struct state *state = opaque;
    int status = gt_meter_read(state->meter, error);
    double joules = gt_meter_joules(state->meter, state->begin_ns, frame->real_ns);
    frame->system[GT_WALL_POWER] = gt_meter_watts(state->meter, frame->real_ns);
    if (!isnan(joules))
        frame->system[GT_WALL_ENERGY] = state->joules = fmax(state->joules, joules);
    return status;
}

static void meter_describe(const void *opaque, char *text, size_t size)
{
    const struct state *state = opaque;
    snprintf(text, size, "power added up over time; a line every %.3g s, lines left out: %llu",
             gt_meter_period(state->meter), (unsigned long long)gt_meter_left_out(state->meter));
}

static void meter_explain(const void *opaque, enum gt_metric_id metric, char *text, size_t size)
{
    (void)opaque, (void)metric;
    snprintf(text, size, "the meter's file has no lines of the time of the run");
}

const struct gt_collector_type gt_collector_meter = {
    .name = "meter",
    .help = "power at the wall, from the file of an external meter",
    .metrics = metrics,
    .metric_count = sizeof metrics / sizeof *metrics,
    .open = meter_open,
    .collect = meter_collect,
    .close = meter_close,
    .describe = meter_describe,
    .explain = meter_explain,
};
