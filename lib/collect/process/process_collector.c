/* The collector "proc": one reading of every process of the snapshot. */
#include <errno.h>
#include <stdlib.h>

#include "collect/collector.h"
#include "collect/process/pid_namespace.h"
#include "collect/process/process.h"

enum { SLOW_PERIOD_MS = 950 };

struct state {
    const struct gt_root *root;
    int64_t slow_ns;  /* last time all files were read */
    uint64_t members; /* who was in the snapshot then */
};

static const enum gt_metric_id metrics[] = {
    GT_RSS,
    GT_RAM_PEAK,
    GT_SWAP,
    GT_CPU_TIME,
    GT_CPU_UTILIZATION,
    GT_THREADS,
    GT_PROCESSES,
    GT_MINOR_FAULTS,
    GT_MAJOR_FAULTS,
    GT_VOLUNTARY_SWITCHES,
    GT_READ_BYTES,
    GT_WRITTEN_BYTES,
    GT_READ_CHARACTERS,
    GT_WRITTEN_CHARACTERS,
    GT_INVOLUNTARY_SWITCHES,
};

static int proc_open(void **ret, const struct gt_collect_options *options, struct gt_snapshot *snapshot,
                     struct gt_availability *availability, struct gt_error *error)
{
    (void)snapshot;
    const struct gt_pid_namespace_fault *fault = gt_pid_namespace_fault(options->root);
    *ret = NULL;
    *availability = (struct gt_availability){.source = "/proc/PID/{statm,stat,status,io} and the process's CPU clock"};
    if (fault)
        return gt_unavailable(availability, GT_BROKEN, fault->remedy, "%s", fault->reason);
    struct state *state = calloc(1, sizeof *state);
    if (!state)
        return gt_error_system(error, ENOMEM, "process collector");
    state->root = options->root;
    *ret = state;
    return 0;
}

/* A number for the processes of the snapshot: all, or those that were there at the last slow reading. */
static uint64_t who(const struct gt_snapshot *snapshot, bool only_known)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < snapshot->process_count; i++)
        if (!only_known || snapshot->process[i]->is_counted)
            sum += ((uint64_t)snapshot->process[i]->pid << 40 ^ snapshot->process[i]->start) *
                   UINT64_C(0x9e3779b97f4a7c15);
    return sum;
}

/* One that was there at the last slow reading has gone: then another may have a new parent. */
static bool has_lost_one(struct state *state, const struct gt_snapshot *snapshot)
{
    bool is_lost = who(snapshot, true) != state->members;
    state->members = who(snapshot, false);
    for (size_t i = 0; i < snapshot->process_count; i++)
        snapshot->process[i]->is_counted = true;
    return is_lost;
}

/* All files are read of those that have run, and of every process when one went. */
static int proc_collect(void *opaque, struct gt_snapshot *snapshot, struct gt_error *error)
{
    struct state *state = opaque;
    (void)error;
    bool slowly = snapshot->is_last || !state->slow_ns ||
                  snapshot->monotonic_ns - state->slow_ns >= SLOW_PERIOD_MS * (GT_SECOND / 1000);
    bool every = slowly && has_lost_one(state, snapshot);
    if (slowly)
        state->slow_ns = snapshot->monotonic_ns;
    for (size_t i = 0; i < snapshot->process_count; i++) {
        struct gt_process *process = snapshot->process[i];
        bool is_new = isnan(process->value[GT_RSS]);
        if (gt_process_read(process, state->root) == 0 && (slowly || is_new) &&
            (every || !gt_process_was_idle(process)))
            gt_process_read_slowly(process);
    }
    return 0;
}

static void proc_close(void *state)
{
    free(state);
}

static const struct gt_origin origins[] = {
    {GT_RSS, GT_SAMPLED, "/proc/PID/statm", ""},
    {GT_RAM_PEAK, GT_EXACT, "/proc/PID/status VmHWM, wait4", "high-water mark of the kernel"},
    {GT_SWAP, GT_SAMPLED, "/proc/PID/status VmSwap", ""},
    {GT_CPU_TIME, GT_EXACT, "CPU clocks of the processes, wait4", "children that were waited for included"},
    {GT_CPU_UTILIZATION, GT_DERIVED, "CPU clocks of the processes", "CPU time of an interval over its length"},
    {GT_THREADS, GT_SAMPLED, "/proc/PID/task", ""},
    {GT_PROCESSES, GT_SAMPLED, "/proc/PID/task/TID/children", ""},
    {GT_MINOR_FAULTS, GT_EXACT, "/proc/PID/stat, wait4", ""},
    {GT_MAJOR_FAULTS, GT_EXACT, "/proc/PID/stat, wait4", ""},
    {GT_VOLUNTARY_SWITCHES, GT_EXACT, "/proc/PID/task/TID/status, wait4", ""},
    {GT_INVOLUNTARY_SWITCHES, GT_EXACT, "/proc/PID/task/TID/status, wait4", ""},
    {GT_READ_BYTES, GT_EXACT, "/proc/PID/io, wait4", ""},
    {GT_WRITTEN_BYTES, GT_EXACT, "/proc/PID/io, wait4", ""},
    {GT_READ_CHARACTERS, GT_SAMPLED, "/proc/PID/io", "up to the last reading of each process"},
    {GT_WRITTEN_CHARACTERS, GT_SAMPLED, "/proc/PID/io", "up to the last reading of each process"},
};

const struct gt_collector_type gt_collector_proc = {
    .name = "proc",
    .help = "Processes: memory, CPU time, threads, faults, switches, bytes",
    .metrics = metrics,
    .metric_count = sizeof metrics / sizeof *metrics,
    .origins = origins,
    .origin_count = sizeof origins / sizeof *origins,
    .open = proc_open,
    .collect = proc_collect,
    .close = proc_close,
};
