/* Processes and threads of a merged file get numbers: by class of phase in SMDebug's order, and their own where they can. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/merge/merged_trace.h"
#include "base/number.h"

enum { CLASSES = 11 };
enum { FIRST_NEW_THREAD = 1000000 }; /* for threads whose own number cannot be kept */

/* SMDebug's order of phases: the first that is part of the name counts. */
static const struct {
    const char *part;
    int64_t first;
} classes[CLASSES] = {
    {"Step:", 1},       {"Forward", 10000}, {"Backward", 20000},      {"DataIterator", 30000},  {"Dataset", 40000},
    {"/device", 50000}, {"/host", 60000},   {"gpu_functions", 70000}, {"cpu_functions", 80000}, {"Horovod", 90000},
    {"", 1000000},
};

/* A class that is full goes on behind all others. */
static int64_t pid_of(int64_t next[], const char *phase)
{
    size_t class = 0;
    while (!strstr(phase, classes[class].part))
        class ++;
    if (class + 1 < CLASSES && next[class] >= 10000 - (class == 0))
        class = CLASSES - 1;
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

static int number_processes(struct gt_merged_trace *merged, struct gt_keys *keys)
{
    const struct gt_trace *trace = merged->trace;
    int64_t next[CLASSES] = {0};
    for (size_t i = 0; i < trace->process_count; i++) {
        const struct gt_trace_process *process = &trace->process[i];
        const struct gt_trace_file *file = &trace->file[process->file];
        bool by_name = has_phases(file) && process->name != GT_TRACE_NONE;
        struct gt_key key = {{gt_trace_node_of(trace, process->file), process->name,
                              by_name ? GT_TRACE_NONE : process->pid, by_name ? GT_TRACE_NONE : process->file}};
        int64_t first = gt_keys_add(keys, key, (uint32_t)i);
        if (first < 0)
            return (int)first;
        int64_t pid = first < (int64_t)i ? merged->process[first].pid : pid_of(next, process_name(trace, process));
        merged->process[i] = (struct gt_merged_process){.pid = pid, .first = (uint32_t)first};
    }
    return 0;
}

/* The thread's own number, if it is one that a double holds; else -1. */
static int64_t own_number(const char *text)
{
    int64_t number;
    return gt_number_i64(text, &number) == 0 && number >= 0 && number < INT64_C(1) << 53 ? number : -1;
}

/* 1 when nobody has this pid and tid yet, and the track has them now. */
static int take_place(struct gt_keys *taken, const struct gt_merged_lane *lane, size_t track)
{
    struct gt_key place = {{(uint32_t)lane->pid, (uint32_t)lane->tid, (uint32_t)((uint64_t)lane->tid >> 32), 0}};
    int64_t owner = gt_keys_add(taken, place, (uint32_t)track);
    return owner < 0 ? (int)owner : owner == (int64_t)track;
}

/* Tracks that are one thread, though in several files, and the numbers that threads have of their own. */
static int keep_numbers(struct gt_merged_trace *merged, struct gt_keys *keys, struct gt_keys *taken)
{
    const struct gt_trace *trace = merged->trace;
    for (size_t i = 0; i < trace->track_count; i++) {
        const struct gt_trace_track *track = &trace->track[i];
        struct gt_merged_lane *lane = &merged->lane[i];
        lane->pid = merged->process[track->process].pid;
        struct gt_key key = {{(uint32_t)lane->pid, track->tid, track->real_process, 0}};
        int64_t first = gt_keys_add(keys, key, (uint32_t)i);
        if (first < 0)
            return (int)first;
        lane->first = (uint32_t)first;
        const char *text = gt_trace_text(trace, track->tid);
        lane->tid = *text ? own_number(text) : 0;
        int status = lane->tid >= 0 && first == (int64_t)i ? take_place(taken, lane, i) : 1;
        if (status < 0)
            return status;
        if (!status)
            lane->tid = -1;
    }
    return 0;
}

static int number_threads(struct gt_merged_trace *merged, struct gt_keys *keys, struct gt_keys *taken)
{
    int64_t next = FIRST_NEW_THREAD;
    int status = keep_numbers(merged, keys, taken);
    for (size_t i = 0; i < merged->trace->track_count && status >= 0; i++) {
        struct gt_merged_lane *lane = &merged->lane[i];
        if (lane->first != i) {
            lane->tid = merged->lane[lane->first].tid;
            continue;
        }
        for (status = lane->tid >= 0; !status;) {
            lane->tid = next++;
            status = take_place(taken, lane, i);
        }
    }
    return status;
}

int gt_merged_number(struct gt_merged_trace *merged)
{
    struct gt_keys processes = {0}, threads = {0}, taken = {0};
    merged->process = calloc(merged->trace->process_count + 1, sizeof *merged->process);
    merged->lane = calloc(merged->trace->track_count + 1, sizeof *merged->lane);
    int status = merged->process && merged->lane ? 0 : -ENOMEM;
    if (status >= 0)
        status = number_processes(merged, &processes);
    if (status >= 0)
        status = number_threads(merged, &threads, &taken);
    gt_keys_release(&processes);
    gt_keys_release(&threads);
    gt_keys_release(&taken);
    return status;
}
