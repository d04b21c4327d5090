#include "analyse/blocks/block_cpu.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/number.h"

static const double SLACK = 0.01; /* seconds: a tick of the kernel's, and how far apart two clocks may be */

enum { DEEPEST = 64 };

/* The processes of the recording, by number. */
struct listed {
    pid_t pid;
    const struct gt_life *life;
};

struct list {
    struct listed *process; /* NULL: the list does not account for all CPU time */
    size_t count;
};

/* A block: the rows of analysis->process that are about it, and its calls on the wall clock. */
struct block {
    const struct gt_process_total *caller;
    size_t callers;
    struct gt_time_stretch *stretch;
    size_t stretches;
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
    for (size_t i = 0; i < outcome->lives.count; i++) {
        const struct gt_life *life = &outcome->lives.life[i];
        if (isnan(life->begin) || isnan(life->end))
            return false;
        sum += isnan(life->cpu_time) ? 0 : life->cpu_time;
    }
    return outcome->lives.count && !outcome->processes_not_listed && sum >= all - SLACK;
}

static int make_list(struct list *ret, const struct gt_block_analysis *analysis)
{
    const struct gt_outcome *outcome = gt_recording_outcome(analysis->recording);
    *ret = (struct list){0};
    if (!outcome || !outcome->complete || analysis->machine.start_real_ns <= 0 || !is_accounting(outcome))
        return 0;
    ret->process = calloc(outcome->lives.count, sizeof *ret->process);
    if (!ret->process)
        return -ENOMEM;
    for (size_t i = 0; i < outcome->lives.count; i++)
        ret->process[ret->count++] = (struct listed){outcome->lives.life[i].pid, &outcome->lives.life[i]};
    qsort(ret->process, ret->count, sizeof *ret->process, by_pid);
    return 0;
}

static const struct gt_life *life_of(const struct list *list, int64_t pid)
{
    struct listed key = {.pid = (pid_t)pid};
    const struct listed *found = bsearch(&key, list->process, list->count, sizeof key, by_pid);
    return found ? found->life : NULL;
}

/* ---- who calls, and who was started ---- */

static const struct gt_process_total *caller_of(const struct block *block, int64_t pid)
{
    for (size_t i = 0; i < block->callers; i++)
        if (block->caller[i].process == pid)
            return &block->caller[i];
    return NULL;
}

static bool is_started_by_callers(const struct block *block, const struct list *list, const struct gt_life *life,
                                  pid_t main)
{
    if (caller_of(block, main))
        return true;
    for (int i = 0; life && i < DEEPEST; i++) {
        if (caller_of(block, life->parent))
            return true;
        life = life->parent > 0 ? life_of(list, life->parent) : NULL;
    }
    return false;
}

/* The clock of `gpu-tracker block` goes on by what its children used, once they have ended: that is what lies above its own. */
static double of_children(const struct gt_block_analysis *analysis, const struct list *list,
                          const struct gt_process_total *caller)
{
    bool is_main = caller->process == analysis->machine.pid;
    const struct gt_life *life = list->process ? life_of(list, caller->process) : NULL;
    double own = life ? life->cpu_time : is_main ? final_cpu_time(analysis, GT_SCOPE_MAIN) : NAN;
    double above = caller->cpu_covered - own;
    return above > SLACK ? above : 0;
}

/* ---- what they did ---- */

static double overlap(const struct block *block, double begin, double end)
{
    size_t low = 0, high = block->stretches;
    double sum = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (block->stretch[middle].stop < begin)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < block->stretches && block->stretch[low].start < end; low++)
        sum += fmax(0, fmin(end, block->stretch[low].stop) - fmax(begin, block->stretch[low].start));
    return sum;
}

static void add_life(struct others *others, const struct block *block, const struct gt_life *life, double origin)
{
    double length = life->end - life->begin, inside = overlap(block, origin + life->begin, origin + life->end);
    double slack = fmin(SLACK, length / 2);
    if (!(life->cpu_time > 0) || !(inside > slack))
        return;
    others->most += life->cpu_time;
    if (inside >= length - slack) {
        others->sum += life->cpu_time;
        others->least += life->cpu_time;
    } else
        others->sum += life->cpu_time * inside / length;
}

static struct others add_lives(const struct gt_block_analysis *analysis, const struct block *block,
                               const struct list *list)
{
    struct others others = {0};
    double origin = gt_seconds(analysis->machine.start_real_ns);
    for (size_t i = 0; i < list->count; i++) {
        const struct gt_life *life = list->process[i].life;
        if (!caller_of(block, life->pid) && is_started_by_callers(block, list, life, analysis->machine.pid))
            add_life(&others, block, life, origin);
    }
    return others;
}

static double sampled(const struct gt_block_analysis *analysis, size_t number, enum gt_scope scope)
{
    for (size_t i = 0; i < analysis->counters; i++)
        if (analysis->counter[i]->scope == (int)scope && analysis->counter[i]->metric == GT_CPU_TIME)
            return gt_block_join_block(analysis->join, number).counter[i];
    return NAN;
}

/* By samples, which tell the main process from the rest, and no other; NaN: not known. */
static double sampled_others(const struct gt_block_analysis *analysis, size_t number, const struct block *block,
                             bool only_main)
{
    double descendants = sampled(analysis, number, GT_SCOPE_DESCENDANTS);
    if (only_main && final_cpu_time(analysis, GT_SCOPE_DESCENDANTS) == 0)
        return 0;
    if (isnan(descendants))
        return NAN;
    for (size_t i = 0; i < block->callers; i++)
        if (block->caller[i].process != analysis->machine.pid)
            descendants -= block->caller[i].cpu_covered;
    return fmax(0, descendants);
}

static double others_of(const struct gt_block_analysis *analysis, size_t number, const struct block *block,
                        const struct list *list, const char **ret_known)
{
    bool only_main = block->callers == 1 && block->caller->process == analysis->machine.pid;
    double by_samples = sampled_others(analysis, number, block, only_main);
    *ret_known = GT_CPU_EXACT;
    if (list->process) {
        struct others others = add_lives(analysis, block, list);
        if (others.most > others.least)
            *ret_known = GT_CPU_ESTIMATED;
        return only_main && !isnan(by_samples) ? fmin(fmax(by_samples, others.least), others.most) : others.sum;
    }
    if (isnan(by_samples))
        *ret_known = GT_CPU_AT_LEAST;
    else if (by_samples > 0)
        *ret_known = GT_CPU_ESTIMATED;
    return by_samples;
}

/* ---- blocks ---- */

static struct gt_block_cpu count_block(const struct gt_block_analysis *analysis, size_t number,
                                       const struct block *block, const struct list *list)
{
    const struct gt_call_total *calls = &analysis->block[number];
    struct gt_block_cpu cpu = {NAN, NAN, NAN, NAN, NULL};
    double children = 0;
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
    cpu.others = others_of(analysis, number, block, list, &cpu.known);
    if (!isnan(cpu.others))
        cpu.others = fmax(0, cpu.others - children);
    cpu.total = cpu.process + (isnan(cpu.others) ? 0 : cpu.others);
    return cpu;
}

/* The place of each block's first call in a list of all that ended, by name. */
static size_t *places(const struct gt_block_analysis *analysis)
{
    size_t names = analysis->events.names.count;
    size_t *place = calloc(names + 2, sizeof *place);
    for (size_t i = 0; place && i < analysis->intervals.count; i++)
        place[analysis->intervals.interval[i].name + 1] += !analysis->intervals.interval[i].unfinished;
    for (size_t i = 0; place && i < names; i++)
        place[i + 1] += place[i];
    return place;
}

static struct gt_time_stretch *stretches_by_name(const struct gt_block_analysis *analysis, const size_t *place)
{
    size_t names = analysis->events.names.count;
    struct gt_time_stretch *stretch = calloc(place[names] + 1, sizeof *stretch);
    size_t *filled = calloc(names + 1, sizeof *filled);
    for (size_t i = 0; stretch && filled && i < analysis->intervals.count; i++) {
        const struct gt_interval *call = &analysis->intervals.interval[i];
        if (!call->unfinished)
            stretch[place[call->name] + filled[call->name]++] = (struct gt_time_stretch){call->start,
                                                                                         fmax(call->start, call->stop)};
    }
    if (!filled) {
        free(stretch);
        stretch = NULL;
    }
    free(filled);
    return stretch;
}

static void count_blocks(struct gt_block_analysis *analysis, const size_t *place, struct gt_time_stretch *stretch,
                         const struct list *list)
{
    for (size_t i = 0, first = 0, next; i < analysis->events.names.count; i++, first = next) {
        /* rows of processes are in the order of blocks, and a block whose calls were all torn has none */
        for (next = first; next < analysis->processes && analysis->process[next].name == i;)
            next++;
        struct block block = {&analysis->process[first], next - first, stretch + place[i], place[i + 1] - place[i]};
        block.stretches = gt_time_stretches_merge(block.stretch, block.stretches);
        analysis->cpu[i] = count_block(analysis, i, &block, list);
    }
}

int gt_block_cpu_count(struct gt_block_analysis *analysis)
{
    struct list list = {0};
    size_t *place = places(analysis);
    struct gt_time_stretch *stretch = place ? stretches_by_name(analysis, place) : NULL;
    analysis->cpu = calloc(analysis->events.names.count + 1, sizeof *analysis->cpu);
    int status = place && stretch && analysis->cpu ? make_list(&list, analysis) : -ENOMEM;
    if (status == 0)
        count_blocks(analysis, place, stretch, &list);
    free(list.process);
    free(stretch);
    free(place);
    return status;
}

double gt_block_cpu_counter(const struct gt_block_analysis *analysis, size_t block, size_t counter)
{
    const struct gt_block_cpu *cpu = &analysis->cpu[block];
    const struct gt_column *column = analysis->counter[counter];
    double by_samples = gt_block_join_block(analysis->join, block).counter[counter];
    if (column->metric != GT_CPU_TIME || !cpu->known)
        return by_samples;
    bool is_called_by_main = !isnan(cpu->main);
    double main = is_called_by_main ? cpu->main : sampled(analysis, block, GT_SCOPE_MAIN);
    switch (column->scope) {
    case GT_SCOPE_MAIN: return main;
    case GT_SCOPE_DESCENDANTS: return cpu->total - (is_called_by_main ? main : 0);
    case GT_SCOPE_COMBINED: return cpu->total + (is_called_by_main || isnan(main) ? 0 : main);
    default: return by_samples;
    }
}
