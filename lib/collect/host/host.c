/* The collector "host": memory, swap and CPU time of the whole machine.
 *
 * System RAM is MemTotal less what is free, buffers, page cache and reclaimable slab, as psutil 5.9 and 6.1 define `used`, which
 * is what the original gpu_tracker reports. It leaves tmpfs and shared anonymous memory out, for the kernel counts them as page
 * cache. In a container whose figures do not fit together it is MemTotal less what is free. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/number.h"
#include "collect/collector.h"
#include "collect/topology.h"

/* Busy CPU time of the machine, and where the frame has packages, of each of them, from one reading of /proc/stat.
 *
 * A CPU that goes offline loses its line, and keeps its counter: what it had used until then is counted when it is back. One
 * that is new counts from its first reading on. */

struct gt_cpu_stat {
    struct gt_topology *topology;
    const struct gt_root *root;
    int fd; /* negative errno: it cannot be read */
    char *text;
    size_t size;
    double *last; /* of each CPU, seconds; NaN: not seen yet */
    size_t cpu_capacity;
    double busy[GT_PACKAGES]; /* seconds since opening */
    int cpus[GT_PACKAGES];    /* online at the last reading */
};

enum { FIRST_LINE = 256, MOST_TEXT = 1 << 24 };

/* "user nice system idle iowait irq softirq steal guest guest_nice": guest time is part of user and nice. Seconds. */
static double busy_time(const char *fields)
{
    enum { USER, NICE, SYSTEM, IDLE, WAIT, IRQ, SOFTIRQ, STEAL, FIELDS };
    unsigned long long field[FIELDS] = {0};
    int count = 0;
    for (const char *end = fields; count < FIELDS; fields = end, count++) {
        field[count] = gt_number_next(&end);
        if (end == fields)
            break;
    }
    if (count <= IDLE)
        return NAN;
    unsigned long long busy = field[USER] + field[NICE] + field[SYSTEM] + field[IRQ] + field[SOFTIRQ] + field[STEAL];
    return (double)busy / (double)sysconf(_SC_CLK_TCK);
}

/* The lines of CPUs come first: all of them are there when another one follows. */
static bool has_all_cpus(const char *text)
{
    const char *line = text;
    while (line && !strncmp(line, "cpu", 3)) {
        line = strchr(line, '\n');
        line += line != NULL;
    }
    return line && *line;
}

static bool read_text(struct gt_cpu_stat *stat)
{
    ssize_t length = gt_root_reread_piece(stat->fd, stat->text, stat->size);
    while (length == (ssize_t)stat->size - 1 && !has_all_cpus(stat->text) && stat->size < MOST_TEXT) {
        if (GT_GROW_TO(stat->text, stat->size, stat->size * 2) < 0)
            return false;
        length = gt_root_reread_piece(stat->fd, stat->text, stat->size);
    }
    return length > 0;
}

/* The package of the CPU, or what gt_package_learn has instead. */
static int count_cpu(struct gt_cpu_stat *stat, int cpu, double busy)
{
    int package = gt_package_learn(stat->topology, stat->root, cpu);
    size_t before = stat->cpu_capacity;
    if (package < 0 || isnan(busy))
        return package;
    if (GT_GROW_TO(stat->last, stat->cpu_capacity, (size_t)cpu + 1) < 0)
        return -ENOMEM;
    for (size_t i = before; i < stat->cpu_capacity; i++)
        stat->last[i] = NAN;
    stat->cpus[package]++;
    if (busy > stat->last[cpu])
        stat->busy[package] += busy - stat->last[cpu];
    stat->last[cpu] = busy;
    return package;
}

/* False: it is not known on which package a CPU is. */
static bool count_cpus(struct gt_cpu_stat *stat)
{
    bool is_whole = true;
    memset(stat->cpus, 0, sizeof stat->cpus);
    for (const char *line = strchr(stat->text, '\n'); line && !strncmp(line + 1, "cpu", 3);
         line = strchr(line + 1, '\n')) {
        char *end;
        int cpu = (int)strtol(line + 4, &end, 10);
        is_whole &= count_cpu(stat, cpu, busy_time(end)) >= 0;
    }
    return is_whole;
}

/* Forgets the frame's packages where it is not known on which every CPU is. -ENOMEM. */
static int cpu_stat_open(struct gt_cpu_stat *stat, const struct gt_collect_options *options, struct gt_frame *frame)
{
    *stat = (struct gt_cpu_stat){
        .root = options->root, .topology = options->topology, .size = frame->package_count ? 16384 : FIRST_LINE};
    stat->fd = gt_root_open_file(options->root, "proc/stat");
    stat->text = malloc(stat->size);
    if (!stat->text)
        return -ENOMEM;
    if (!frame->package_count)
        return 0;
    bool is_whole = stat->fd >= 0 && read_text(stat) && count_cpus(stat);
    for (size_t i = 0; i < frame->package_count; i++)
        is_whole &= stat->cpus[i] > 0;
    if (is_whole)
        return 0;
    gt_packages_forget(frame, stat->topology, "the system does not tell on which package each CPU is");
    stat->size = FIRST_LINE;
    return 0;
}

/* Seconds since the machine started, NaN without. Counts the packages' time as well. */
static double cpu_stat_read(struct gt_cpu_stat *stat, struct gt_frame *frame)
{
    bool is_read = stat->fd >= 0 && (frame->package_count ? read_text(stat)
                                                          : gt_root_reread_piece(stat->fd, stat->text, stat->size) > 0);
    if (is_read && frame->package_count)
        count_cpus(stat);
    return is_read && !strncmp(stat->text, "cpu ", 4) ? busy_time(stat->text + 4) : NAN;
}

/* The kernel counts CPU time of the machine in clock ticks: faster readings would have nothing new, and cost a third of a fast
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
        if (!strncmp(line, name, length) && line[length] == ':') {
            line += length + 1;
            return 1024.0 * (double)gt_number_next(&line);
        }
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
    if (!state)
        return;
    if (state->meminfo >= 0)
        close(state->meminfo);
    if (state->stat.fd >= 0)
        close(state->stat.fd);
    free(state->stat.text);
    free(state->stat.last);
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
    if (cpu_stat_open(&state->stat, options, frame) < 0) {
        host_close(state);
        return gt_error_system(error, ENOMEM, "host collector");
    }
    state->cpu_at_open = cpu_stat_read(&state->stat, frame);
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
        state->last[GT_CPU_TIME] = cpu_stat_read(&state->stat, frame) - state->cpu_at_open;
    }
    for (size_t i = 0; i < frame->package_count; i++) {
        frame->package[i].cpus = state->stat.cpus[i];
        frame->package[i].value[GT_CPU_TIME] = state->stat.busy[i];
    }
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
