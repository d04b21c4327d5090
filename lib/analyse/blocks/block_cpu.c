#include "analyse/blocks/blocks.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/grow.h"
#include "base/number.h"

static const double SLACK = 0.01; /* seconds: a tick of the kernel's, and how far apart two clocks may be */
static const double GRAIN = 0.01; /* of the time between samples: of shorter pieces of CPU time one is made */

enum { DEEPEST = 64 };

/* The processes of the recording, by number. */
struct listed {
    pid_t pid;
    const struct gt_process_record *record;
};

struct list {
    struct listed *process;
    size_t count;
    bool is_accounting; /* for all CPU time of the job */
};

/* A block: the rows of analysis->process that are about it, and the time of its calls. */
struct block {
    const struct gt_process_total *caller;
    size_t callers;
    struct gt_time_stretch *stretch;
    size_t stretches;
    double rest; /* CPU seconds that no clock tells, of its callers but the main process */
};

/* A moment at which the clock of a process was read. */
struct reading {
    int64_t process;
    uint16_t source;
    double time, seconds;
};

/* What processes that the callers started did: seconds, the least and the most it may be. */
struct others {
    double sum, least, most;
};

static double final_cpu_time(const struct gt_block_analysis *analysis, enum gt_scope scope)
{
    const struct gt_outcome *outcome = gt_recording_outcome(analysis->recording);
    return outcome ? outcome->value[scope][GT_CPU_TIME] : NAN;
}

/* ---- the list ---- */

static int by_pid(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;
    return GT_ORDER(x->pid, y->pid);
}

static bool is_accounting(const struct gt_outcome *outcome)
{
    double sum = 0, all = outcome->value[GT_SCOPE_COMBINED][GT_CPU_TIME];
    for (size_t i = 0; i < outcome->records.count; i++) {
        const struct gt_process_record *record = &outcome->records.record[i];
        if (isnan(record->begin) || isnan(record->end))
            return false;
        sum += isnan(record->cpu_time) ? 0 : record->cpu_time;
    }
    return !outcome->processes_not_listed && sum >= all - SLACK;
}

static int make_list(struct list *ret, const struct gt_block_analysis *analysis)
{
    const struct gt_outcome *outcome = gt_recording_outcome(analysis->recording);
    *ret = (struct list){0};
    if (!outcome || !outcome->complete || isnan(analysis->origin) || !outcome->records.count)
        return 0;
    ret->is_accounting = is_accounting(outcome);
    ret->process = calloc(outcome->records.count, sizeof *ret->process);
    if (!ret->process)
        return -ENOMEM;
    for (size_t i = 0; i < outcome->records.count; i++)
        ret->process[ret->count++] = (struct listed){outcome->records.record[i].pid, &outcome->records.record[i]};
    qsort(ret->process, ret->count, sizeof *ret->process, by_pid);
    return 0;
}

static const struct gt_process_record *record_of(const struct list *list, int64_t pid)
{
    struct listed key = {.pid = (pid_t)pid};
    if (!list->count)
        return NULL;
    const struct listed *found = bsearch(&key, list->process, list->count, sizeof key, by_pid);
    return found ? found->record : NULL;
}

static bool is_known(const struct gt_process_record *record)
{
    return record && !isnan(record->begin) && !isnan(record->end) && !isnan(record->cpu_time);
}

/* ---- who calls, and who was started ---- */

static const struct gt_process_total *caller_of(const struct block *block, int64_t pid)
{
    for (size_t i = 0; i < block->callers; i++)
        if (block->caller[i].process == pid)
            return &block->caller[i];
    return NULL;
}

static bool is_started_by_callers(const struct block *block, const struct list *list,
                                  const struct gt_process_record *record, pid_t main)
{
    if (caller_of(block, main))
        return true;
    for (int i = 0; record && i < DEEPEST; i++) {
        if (caller_of(block, record->parent))
            return true;
        record = record->parent > 0 ? record_of(list, record->parent) : NULL;
    }
    return false;
}

/* The clock of `gpu-tracker block` goes on by what its children used, once they have ended: that is what lies above its own. */
static double of_children(const struct gt_block_analysis *analysis, const struct list *list,
                          const struct gt_process_total *caller)
{
    bool is_main = caller->process == analysis->machine.pid;
    const struct gt_process_record *record = record_of(list, caller->process);
    double own = record ? record->cpu_time : is_main ? final_cpu_time(analysis, GT_SCOPE_MAIN) : NAN;
    double above = caller->cpu_covered - own;
    return above > SLACK ? above : 0;
}

/* ---- what they did ---- */

static double overlap(const struct block *block, double begin, double end)
{
    size_t at = GT_SEARCH(0, block->stretches, i, block->stretch[i].stop < begin);
    double sum = 0;
    for (; at < block->stretches && block->stretch[at].start < end; at++)
        sum += fmax(0, fmin(end, block->stretch[at].stop) - fmax(begin, block->stretch[at].start));
    return sum;
}

static void add_record(struct others *others, const struct block *block, const struct gt_process_record *record,
                       double origin)
{
    double length = record->end - record->begin, inside = overlap(block, origin + record->begin, origin + record->end);
    double slack = fmin(SLACK, length / 2);
    if (!(record->cpu_time > 0) || !is_known(record) || !(inside > slack))
        return;
    others->most += record->cpu_time;
    if (inside >= length - slack) {
        others->sum += record->cpu_time;
        others->least += record->cpu_time;
    } else
        others->sum += record->cpu_time * inside / length;
}

static struct others add_records(const struct gt_block_analysis *analysis, const struct block *block,
                                 const struct list *list)
{
    struct others others = {0};
    for (size_t i = 0; i < list->count; i++) {
        const struct gt_process_record *record = list->process[i].record;
        if (!caller_of(block, record->pid) && is_started_by_callers(block, list, record, analysis->machine.pid))
            add_record(&others, block, record, analysis->origin);
    }
    return others;
}

/* By samples alone. */
static double sampled(const struct gt_block_analysis *analysis, size_t number, enum gt_scope scope)
{
    for (size_t i = 0; i < analysis->counters; i++)
        if (analysis->counter[i]->scope == (int)scope && analysis->counter[i]->metric == GT_CPU_TIME)
            return gt_block_join_block(analysis->join, number).counter[i];
    return NAN;
}

static double or_else(double value, double other)
{
    return isnan(value) ? other : value;
}

/* By samples, which tell the main process from the rest, and no other; NaN: not known. */
static double sampled_others(const struct gt_block_analysis *analysis, size_t number, const struct block *block,
                             const struct gt_block_cpu *cpu)
{
    double descendants = or_else(cpu->job_descendants, sampled(analysis, number, GT_SCOPE_DESCENDANTS));
    bool is_of_main = caller_of(block, analysis->machine.pid);
    if (is_of_main && block->callers == 1 && final_cpu_time(analysis, GT_SCOPE_DESCENDANTS) == 0)
        return 0;
    if (isnan(descendants))
        return NAN;
    if (!is_of_main && !isnan(block->rest))
        return block->rest;
    for (size_t i = 0; i < block->callers; i++)
        if (block->caller[i].process != analysis->machine.pid)
            descendants -= block->caller[i].cpu_covered;
    return fmax(0, descendants);
}

/* The clock of one that is not may be that of its children, too. */
static bool are_callers_listed(const struct gt_block_analysis *analysis, const struct block *block,
                               const struct list *list)
{
    for (size_t i = 0; i < block->callers; i++)
        if (block->caller[i].process != analysis->machine.pid && !is_known(record_of(list, block->caller[i].process)))
            return list->is_accounting;
    return list->count;
}

static double others_of(const struct gt_block_analysis *analysis, size_t number, const struct block *block,
                        const struct list *list, struct gt_block_cpu *cpu)
{
    bool only_main = block->callers == 1 && block->caller->process == analysis->machine.pid;
    double by_samples = sampled_others(analysis, number, block, cpu);
    cpu->known = GT_CPU_EXACT;
    if (are_callers_listed(analysis, block, list)) {
        struct others others = add_records(analysis, block, list);
        if (others.most > others.least || !list->is_accounting)
            cpu->known = isnan(by_samples) && !list->is_accounting ? GT_CPU_AT_LEAST : GT_CPU_ESTIMATED;
        if (only_main && !isnan(by_samples))
            return fmin(fmax(by_samples, others.least), list->is_accounting ? others.most : INFINITY);
        return others.sum + (list->is_accounting ? 0 : or_else(block->rest, 0));
    }
    if (isnan(by_samples))
        cpu->known = GT_CPU_AT_LEAST;
    else if (by_samples > 0)
        cpu->known = GT_CPU_ESTIMATED;
    return by_samples;
}

/* ---- what is known between two samples ---- */

static int by_clock(const void *a, const void *b)
{
    const struct reading *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->source, y->source), GT_ORDER(x->process, y->process), GT_ORDER(x->time, y->time),
                       GT_ORDER(x->seconds, y->seconds));
}

static struct reading *make_readings(const struct gt_block_analysis *analysis, size_t *ret_count)
{
    struct reading *reading = calloc(2 * analysis->intervals.count + 1, sizeof *reading);
    *ret_count = 0;
    for (size_t i = 0; reading && i < analysis->intervals.count; i++) {
        const struct gt_interval *call = &analysis->intervals.interval[i];
        struct gt_time_stretch stretch = gt_block_analysis_stretch(analysis, call);
        const double time[] = {stretch.start, stretch.stop}, seconds[] = {call->cpu_start, call->cpu_stop};
        for (int k = 0; k < (call->unfinished ? 1 : 2); k++)
            if (!isnan(seconds[k]) && isfinite(time[k]))
                reading[(*ret_count)++] = (struct reading){call->process, call->source, time[k], seconds[k]};
    }
    if (reading)
        qsort(reading, *ret_count, sizeof *reading, by_clock);
    return reading;
}

/* The clock of a process tells what it used from one border of a call to the next, inside calls and between them. Another process may
 * have got its number: that one's clock begins anew. */
static int know_clocks(struct gt_block_analysis *analysis, const struct reading *reading, size_t count,
                       const struct list *list)
{
    double grain = analysis->machine.period > 0 ? GRAIN * analysis->machine.period : 0;
    int status = 0;
    for (size_t i = 0, from = 0; i < count && status == 0; i++) {
        const struct reading *since = &reading[from], *now = &reading[i];
        bool is_same = now->source == since->source && now->process == since->process &&
                       now->seconds >= since->seconds - SLACK;
        bool is_last = i + 1 == count || now[1].source != now->source || now[1].process != now->process ||
                       now[1].seconds < now->seconds - SLACK || now[1].time - now->time > grain;
        if (is_same && !is_last && now->time - since->time < grain)
            continue;
        bool is_main = since->process == analysis->machine.pid;
        if (is_same && (is_main || !is_known(record_of(list, since->process)))) /* the others have their records */
            status = gt_cpu_split_know(is_main ? &analysis->main_cpu : &analysis->descendants_cpu, since->time,
                                       now->time, now->seconds - since->seconds);
        from = i;
    }
    return status;
}

/* The list has each process with its own clock at its end. */
static int know_records(struct gt_block_analysis *analysis, const struct list *list)
{
    int status = 0;
    for (size_t i = 0; i < list->count && status == 0; i++) {
        const struct gt_process_record *record = list->process[i].record;
        if (record->pid != analysis->machine.pid && is_known(record))
            status = gt_cpu_split_know(&analysis->descendants_cpu, analysis->origin + record->begin,
                                       analysis->origin + record->end, record->cpu_time);
    }
    return status;
}

/* ---- who shares ---- */

static int by_process(const void *a, const void *b)
{
    const struct gt_block_stretch *const *x = a, *const *y = b;
    return GT_ORDER_BY(GT_ORDER((*x)->source, (*y)->source), GT_ORDER((*x)->process, (*y)->process));
}

/* Processes other than the main one share the rest while any block is open in them. */
static int split(struct gt_block_analysis *analysis)
{
    size_t count = 0, sharers = 0;
    const struct gt_block_stretch **open = calloc(analysis->stretches + 1, sizeof *open);
    struct gt_time_stretch *sharer = calloc(analysis->stretches + 1, sizeof *sharer);
    int status = open && sharer ? gt_cpu_split_finish(&analysis->main_cpu, NULL, 0) : -ENOMEM;
    for (size_t i = 0; status == 0 && i < analysis->stretches; i++)
        if (analysis->stretch[i].process != analysis->machine.pid)
            open[count++] = &analysis->stretch[i];
    if (status == 0)
        GT_SORT(open, count, by_process);
    for (size_t i = 0; i < count;) {
        size_t first = i, from = sharers;
        for (; i < count && by_process(&open[i], &open[first]) == 0; i++)
            sharer[sharers++] = open[i]->time;
        sharers = from + gt_time_stretches_merge(sharer + from, sharers - from);
    }
    if (status == 0)
        status = gt_cpu_split_finish(&analysis->descendants_cpu, sharer, sharers);
    free(open);
    free(sharer);
    return status;
}

/* ---- energy of others ---- */

/* The energy of a block is that of all its CPU time. What samples estimate may as well have been used by nobody of it. The others worked
 * when the job's descendants did; where that tells nothing, evenly. */
static void add_energy_of_others(struct gt_block_analysis *analysis, size_t number, const struct block *block)
{
    const struct gt_block_cpu *cpu = &analysis->cpu[number];
    struct gt_block_energy *energy = &analysis->energy[number];
    struct gt_spent others = {.joules = NAN, .error = NAN};
    if (!(cpu->others > 0) || !energy->by_cpu_time || isnan(energy->device[GT_ENERGY_CPU].joules))
        return;
    double descendants = 0, length = 0;
    for (size_t i = 0; i < block->stretches; i++) {
        descendants += gt_cpu_split_all(&analysis->descendants_cpu, block->stretch[i]);
        length += block->stretch[i].stop - block->stretch[i].start;
    }
    for (size_t i = 0; i < block->stretches; i++) {
        struct gt_time_stretch one = block->stretch[i];
        double part = descendants > 0 ? gt_cpu_split_all(&analysis->descendants_cpu, one) / descendants
                      : length > 0    ? (one.stop - one.start) / length
                                      : 1.0 / (double)block->stretches;
        gt_spent_add(&others, gt_energy_curve_of_cpu(&analysis->curve, one, cpu->others * part));
    }
    if (strcmp(cpu->known, GT_CPU_EXACT) != 0)
        others.error += others.joules;
    others.missing = 0; /* of the same time, it is told already */
    gt_spent_add(&energy->device[GT_ENERGY_CPU], others);
}

/* ---- blocks ---- */

static struct gt_block_cpu count_block(const struct gt_block_analysis *analysis, size_t number,
                                       const struct block *block, const struct list *list)
{
    const struct gt_call_total *calls = &analysis->block[number];
    struct gt_block_cpu cpu = {NAN, NAN, NAN, NAN, 0, 0, NULL};
    double children = 0;
    for (size_t i = 0; i < block->stretches; i++) {
        cpu.job_main += gt_cpu_split_all(&analysis->main_cpu, block->stretch[i]);
        cpu.job_descendants += gt_cpu_split_all(&analysis->descendants_cpu, block->stretch[i]);
    }
    if (calls->cpu_calls)
        cpu.process = cpu.total = calls->cpu_covered;
    if (!calls->cpu_calls || calls->cpu_calls < calls->calls)
        return cpu;
    for (size_t i = 0; i < block->callers; i++) {
        double of_its_children = of_children(analysis, list, &block->caller[i]);
        children += of_its_children;
        if (block->caller[i].process == analysis->machine.pid)
            cpu.main = block->caller[i].cpu_covered - of_its_children;
    }
    cpu.others = others_of(analysis, number, block, list, &cpu);
    if (!isnan(cpu.others))
        cpu.others = fmax(0, cpu.others - children);
    cpu.total = cpu.process + (isnan(cpu.others) ? 0 : cpu.others);
    return cpu;
}

static int count_blocks(struct gt_block_analysis *analysis, const struct list *list)
{
    struct gt_time_stretch *time = calloc(analysis->stretches + 1, sizeof *time);
    size_t process = 0, at = 0;
    for (size_t i = 0; time && i < analysis->events.names.count; i++) {
        /* a block whose calls were all torn has no processes */
        struct block block = {.caller = &analysis->process[process], .stretch = time, .rest = 0};
        for (; process < analysis->processes && analysis->process[process].name == i; process++)
            block.callers++;
        for (; at < analysis->stretches && analysis->stretch[at].name == i; at++) {
            time[block.stretches++] = analysis->stretch[at].time;
            if (analysis->stretch[at].process != analysis->machine.pid)
                block.rest += gt_cpu_split_rest(&analysis->descendants_cpu, analysis->stretch[at].time);
        }
        block.stretches = gt_time_stretches_merge(time, block.stretches);
        analysis->cpu[i] = count_block(analysis, i, &block, list);
        add_energy_of_others(analysis, i, &block);
    }
    free(time);
    return time ? 0 : -ENOMEM;
}

int gt_block_cpu_count(struct gt_block_analysis *analysis)
{
    struct list list = {0};
    size_t readings;
    analysis->cpu = calloc(analysis->events.names.count + 1, sizeof *analysis->cpu);
    int status = analysis->cpu ? make_list(&list, analysis) : -ENOMEM;
    struct reading *reading = analysis->has_clocks ? make_readings(analysis, &readings) : NULL;
    if (status == 0 && analysis->has_clocks)
        status = reading ? know_clocks(analysis, reading, readings, &list) : -ENOMEM;
    free(reading);
    if (status == 0 && analysis->has_clocks)
        status = know_records(analysis, &list);
    if (status == 0 && analysis->has_clocks)
        status = split(analysis);
    if (status == 0)
        status = count_blocks(analysis, &list);
    free(list.process);
    return status;
}

static double of_the_job(const struct gt_block_cpu *cpu, int scope, double by_samples)
{
    switch (scope) {
    case GT_SCOPE_MAIN: return or_else(cpu->job_main, by_samples);
    case GT_SCOPE_DESCENDANTS: return or_else(cpu->job_descendants, by_samples);
    case GT_SCOPE_COMBINED: return or_else(cpu->job_main + cpu->job_descendants, by_samples);
    default: return by_samples;
    }
}

double gt_block_cpu_counter(const struct gt_block_analysis *analysis, size_t block, size_t counter)
{
    const struct gt_block_cpu *cpu = &analysis->cpu[block];
    const struct gt_column *column = analysis->counter[counter];
    double by_samples = gt_block_join_block(analysis->join, block).counter[counter];
    double job_main = or_else(cpu->job_main, sampled(analysis, block, GT_SCOPE_MAIN));
    if (column->metric != GT_CPU_TIME)
        return by_samples;
    if (!cpu->known)
        return of_the_job(cpu, column->scope, by_samples);
    bool is_called_by_main = !isnan(cpu->main);
    double main = is_called_by_main ? cpu->main : job_main;
    switch (column->scope) {
    case GT_SCOPE_MAIN: return main;
    case GT_SCOPE_DESCENDANTS: return cpu->total - (is_called_by_main ? main : 0);
    case GT_SCOPE_COMBINED: return cpu->total + (is_called_by_main || isnan(main) ? 0 : main);
    default: return by_samples;
    }
}
