/* Numbers of processes and threads in a merged file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/merge_parts.h"
#include "base/number.h"

/* SMDebug's order of phases: the first that is part of the name counts. */
static const struct {
    const char *part;
    int64_t first;
} classes[GT_MERGE_CLASSES] = {
    {"Step:", 1},       {"Forward", 10000}, {"Backward", 20000},      {"DataIterator", 30000},  {"Dataset", 40000},
    {"/device", 50000}, {"/host", 60000},   {"gpu_functions", 70000}, {"cpu_functions", 80000}, {"Horovod", 90000},
    {"", 1000000},
};

/* A class that is full goes on behind all others. */
int64_t gt_merge_pid(int64_t next[], const char *phase)
{
    size_t class = 0;
    while (!strstr(phase, classes[class].part))
        class ++;
    if (class + 1 < GT_MERGE_CLASSES && next[class] >= 10000 - (class == 0))
        class = GT_MERGE_CLASSES - 1;
    return classes[class].first + next[class]++;
}

/* In SMDebug's and Horovod's files a process is a phase or a tensor, which goes on from file to file. */
static bool has_phases(const struct gt_trace_file *file)
{
    return strcmp(file->format, "smdebug") == 0 || strcmp(file->format, "horovod") == 0;
}

static const char *process_name(const struct gt_trace *trace, const struct gt_trace_process *process)
{
    const char *name = gt_trace_text(trace, process->name);
    return *name ? name : gt_trace_text(trace, process->pid);
}

static int number_processes(struct gt_merge *merge, struct gt_keys *keys)
{
    const struct gt_trace *trace = merge->trace;
    int64_t next[GT_MERGE_CLASSES] = {0};
    for (size_t i = 0; i < trace->process_count; i++) {
        const struct gt_trace_process *process = &trace->process[i];
        const struct gt_trace_file *file = &trace->file[process->file];
        bool by_name = has_phases(file) && process->name != GT_TRACE_NONE;
        struct gt_key key = {{gt_trace_node_of(trace, process->file), process->name,
                              by_name ? GT_TRACE_NONE : process->pid, by_name ? GT_TRACE_NONE : process->file}};
        int64_t first = gt_keys_add(keys, key, (uint32_t)i);
        if (first < 0)
            return (int)first;
        int64_t pid = first < (int64_t)i ? merge->process[first].pid : gt_merge_pid(next, process_name(trace, process));
        merge->process[i] = (struct gt_merge_process){.pid = pid, .first = (uint32_t)first};
    }
    return 0;
}

/* The thread's own number, if it is one that a double holds; else -1. */
static int64_t own_number(const char *text)
{
    int64_t number;
    return gt_number_i64(text, &number) == 0 && number >= 0 && number < INT64_C(1) << 53 ? number : -1;
}

static int number_threads(struct gt_merge *merge, struct gt_keys *keys, struct gt_keys *taken)
{
    const struct gt_trace *trace = merge->trace;
    int64_t next = 1000000;
    for (size_t i = 0; i < trace->track_count; i++) {
        const struct gt_trace_track *track = &trace->track[i];
        struct gt_merge_lane *lane = &merge->lane[i];
        lane->pid = merge->process[track->process].pid;
        struct gt_key key = {{(uint32_t)lane->pid, track->tid, track->real_process, 0}};
        int64_t first = gt_keys_add(keys, key, (uint32_t)i);
        if (first < 0)
            return (int)first;
        lane->first = (uint32_t)first;
        if (first < (int64_t)i) {
            lane->tid = merge->lane[first].tid;
            continue;
        }
        const char *text = gt_trace_text(trace, track->tid);
        lane->tid = *text ? own_number(text) : 0;
        struct gt_key place = {{(uint32_t)lane->pid, (uint32_t)lane->tid, (uint32_t)((uint64_t)lane->tid >> 32), 0}};
        if (lane->tid >= 0) {
            int64_t owner = gt_keys_add(taken, place, (uint32_t)i);
            if (owner < 0)
                return (int)owner;
            if (owner != (int64_t)i)
                lane->tid = -1;
        }
        if (lane->tid < 0)
            lane->tid = next++;
    }
    return 0;
}

int gt_merge_number(struct gt_merge *merge)
{
    struct gt_keys processes = {0}, threads = {0}, taken = {0};
    merge->process = calloc(merge->trace->process_count + 1, sizeof *merge->process);
    merge->lane = calloc(merge->trace->track_count + 1, sizeof *merge->lane);
    int status = merge->process && merge->lane ? 0 : -ENOMEM;
    if (status >= 0)
        status = number_processes(merge, &processes);
    if (status >= 0)
        status = number_threads(merge, &threads, &taken);
    gt_keys_release(&processes);
    gt_keys_release(&threads);
    gt_keys_release(&taken);
    return status;
}
