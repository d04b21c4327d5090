/* The collector "host": memory, swap and CPU time of the whole machine.
 *
 * System RAM is MemTotal less what is free, buffers, page cache and reclaimable slab, as psutil 5.9 and 6.1 define `used`, which
 * is what the original gpu_tracker reports. It leaves tmpfs and shared anonymous memory out, for the kernel counts them as page
 * cache. In a container whose figures do not fit together it is MemTotal less what is free. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/availability.h"
#include "collect/host/cpu_stat.h"

/* The kernel counts CPU time of the machine in clock ticks: faster readings would tell nothing new, and cost a third of a fast
 * sample. */
static const int64_t PERIOD_NS = GT_SECOND / 50 - GT_SECOND / 500;

struct state {
    int meminfo;
    struct gt_cpu_stat stat;
    double cpu_at_open;
    int64_t read_ns; /* last reading; 0: none */
    double last[GT_METRIC_COUNT];
};

static const enum gt_metric_id metrics[] = {GT_RAM, GT_SWAP, GT_CPU_TIME};

/* "Name:   123 kB" as bytes; NaN when there is no such line. */
static double meminfo_bytes(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL)
        if (!strncmp(line, name, length) && line[length] == ':')
            return 1024.0 * (double)strtoull(line + length + 1, NULL, 10);
    return NAN;
}

static void read_memory(struct state *state)
{
    char text[8192];
    if (state->meminfo < 0 || gt_root_reread_piece(state->meminfo, text, sizeof text) <= 0)
        return;
    double total = meminfo_bytes(text, "MemTotal"), unused = meminfo_bytes(text, "MemFree");
    double reclaimable = meminfo_bytes(text, "SReclaimable");
    double cached = meminfo_bytes(text, "Cached") + (isnan(reclaimable) ? 0 : reclaimable);
    double used = total - unused - meminfo_bytes(text, "Buffers") - cached;
    state->last[GT_RAM] = used < 0 ? total - unused : used;
    state->last[GT_SWAP] = meminfo_bytes(text, "SwapTotal") - meminfo_bytes(text, "SwapFree");
}

static void host_close(void *opaque)
{
    struct state *state = opaque;
    if (state && state->meminfo >= 0)
        close(state->meminfo);
    if (state)
        gt_cpu_stat_close(&state->stat);
    free(state);
}

static int host_open(void **ret, const struct gt_collect_options *options, struct gt_frame *frame,
                     struct gt_availability *availability, struct gt_error *error)
{
    *ret = NULL;
    *availability = (struct gt_availability){.source = "/proc/meminfo, /proc/stat"};
    struct state *state = malloc(sizeof *state);
    if (!state)
        return gt_error_system(error, ENOMEM, "host collector");
    state->read_ns = 0;
    gt_values_clear(state->last);
    state->meminfo = gt_root_open_file(options->root, "proc/meminfo");
    if (gt_cpu_stat_open(&state->stat, options, frame) < 0) {
        host_close(state);
        return gt_error_system(error, ENOMEM, "host collector");
    }
    state->cpu_at_open = gt_cpu_stat_read(&state->stat, frame);
    if (state->meminfo < 0 && state->stat.fd < 0) {
        bool is_denied = state->meminfo == -EACCES;
        host_close(state);
        return gt_unavailable(availability, is_denied ? GT_DENIED : GT_ABSENT, NULL, "/proc/meminfo %s",
                              is_denied ? "may not be read" : "is not there");
    }
    *ret = state;
    return 0;
}

static int host_collect(void *opaque, struct gt_frame *frame, struct gt_error *error)
{
    (void)error;
    struct state *state = opaque;
    if (!state->read_ns || frame->monotonic_ns - state->read_ns >= PERIOD_NS) {
        state->read_ns = frame->monotonic_ns;
        read_memory(state);
        state->last[GT_CPU_TIME] = gt_cpu_stat_read(&state->stat, frame) - state->cpu_at_open;
    }
    gt_cpu_stat_show(&state->stat, frame);
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        frame->system[metrics[i]] = state->last[metrics[i]];
    return 0;
}

static const struct gt_origin origins[] = {
    {GT_RAM, GT_SAMPLED, "/proc/meminfo", "memory in use on the whole machine"},
    {GT_SWAP, GT_SAMPLED, "/proc/meminfo", ""},
    {GT_CPU_TIME, GT_EXACT, "/proc/stat", "in steps of a clock tick"},
    {GT_CPU_UTILIZATION, GT_DERIVED, "/proc/stat", "busy time of an interval over its length"},
};

const struct gt_collector_type gt_collector_host = {
    .name = "host",
    .help = "memory, swap and CPU time of the whole machine",
    .metrics = metrics,
    .metric_count = sizeof metrics / sizeof *metrics,
    .origins = origins,
    .origin_count = sizeof origins / sizeof *origins,
    .is_of_machine = true,
    .open = host_open,
    .collect = host_collect,
    .close = host_close,
};
