/* The collector "estimate": energy of the processors by a model of the user's, where no counter has it. Nothing is estimated
 * unless a model was given. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "collect/availability.h"
#include "collect/host/capacity.h"
#include "collect/energy/model.h"

extern const struct gt_collector_type gt_collector_estimate;

static const enum gt_metric_id metrics[] = {GT_CPU_ENERGY, GT_DRAM_ENERGY};

/* CPU time of the machine comes in ticks of 10 ms: a ratio over less than some of them tells little. */
static const int64_t STRETCH_NS = GT_SECOND / 10;

struct state {
    struct gt_model model;
    const struct gt_clock *clock;
    int cores;
    int64_t since_ns, open_ns;
    double busy; /* seconds of CPU time at since_ns */
    double cpu_joules;
};

static bool claim(struct state *state, struct gt_frame *frame)
{
    bool any = gt_frame_claim(frame, GT_CPU_ENERGY, &gt_collector_estimate);
    if (!isnan(state->model.dram_watts))
        any |= gt_frame_claim(frame, GT_DRAM_ENERGY, &gt_collector_estimate);
    return any;
}

static int estimate_open(void **ret, const struct gt_collect_options *options, struct gt_frame *frame,
                         struct gt_availability *availability, struct gt_error *error)
{
    *ret = NULL;
    *availability = (struct gt_availability){.source = "estimated by a model", .refresh = 0.1};
    if (!options->power_model && !(options->cpu_tdp > 0))
        return gt_unavailable(availability, GT_ABSENT, NULL, "no model was given (--power-model, --cpu-tdp)");
    struct state *state = calloc(1, sizeof *state);
    if (!state)
        return gt_error_system(error, ENOMEM, "power model");
    int status = gt_model_read(&state->model, options->power_model, options->cpu_tdp, error);
    state->clock = options->clock;
    state->cores = gt_capacity_cores(options->root);
    state->since_ns = state->open_ns = gt_clock_monotonic(options->clock);
    if (status >= 0 && state->cores > 0 && claim(state, frame)) {
        snprintf(availability->source, sizeof availability->source, "estimated by use of the CPU: %s",
                 state->model.name);
        *ret = state;
        return 0;
    }
    free(state);
    return status < 0 ? status
                      : gt_unavailable(availability, GT_ABSENT, NULL,
                                       "a counter has the energy of the processors: the model is not used");
}

static int estimate_collect(void *opaque, struct gt_frame *frame, struct gt_error *error)
{
    (void)error;
    struct state *state = opaque;
    double busy = frame->system[GT_CPU_TIME];
    int64_t now_ns = gt_clock_monotonic(state->clock), elapsed_ns = now_ns - state->since_ns;
    if (!isnan(busy) && (elapsed_ns >= STRETCH_NS || (frame->is_last && elapsed_ns > 0))) {
        double seconds = (double)elapsed_ns / 1e9;
        state->cpu_joules += gt_model_watts(&state->model, (busy - state->busy) / (seconds * state->cores)) * seconds;
        state->busy = busy;
        state->since_ns = now_ns;
    }
    if (frame->owner[GT_CPU_ENERGY] == &gt_collector_estimate && state->since_ns > state->open_ns)
        frame->system[GT_CPU_ENERGY] = state->cpu_joules;
    if (frame->owner[GT_DRAM_ENERGY] == &gt_collector_estimate)
        frame->system[GT_DRAM_ENERGY] = state->model.dram_watts * (double)(now_ns - state->open_ns) / 1e9;
    return 0;
}

static void estimate_describe(const void *opaque, char *text, size_t size)
{
    (void)opaque;
    snprintf(text, size, "estimated, not measured: power by the share of cores that were busy");
}

const struct gt_collector_type gt_collector_estimate = {
    .name = "estimate",
    .help = "energy of the processors by a model that the user gave",
    .metrics = metrics,
    .metric_count = sizeof metrics / sizeof *metrics,
    .claims = true,
    .is_estimate = true,
    .open = estimate_open,
    .collect = estimate_collect,
    .close = free,
    .describe = estimate_describe,
};
