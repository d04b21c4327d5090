/* Totals over the calls of each block, and of each block in each process. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyse/blocks/blocks_parts.h"
#include "base/order.h"

static double begin_of(const struct gt_interval *interval)
{
    return isnan(interval->clock_start) ? interval->start : interval->clock_start;
}

static double end_of(const struct gt_interval *interval)
{
    return isnan(interval->clock_start) ? interval->stop : interval->clock_stop;
}

static int compare(const void *a, const void *b)
{
    const struct gt_interval *x = *(const struct gt_interval *const *)a, *y = *(const struct gt_interval *const *)b;
    int order = GT_ORDER(x->name, y->name);
    order = order ? order : GT_ORDER(x->source, y->source);
    order = order ? order : GT_ORDER(x->process, y->process);
    order = order ? order : GT_ORDER(begin_of(x), begin_of(y));
    return order ? order : GT_ORDER(x->call, y->call);
}

/* A stretch in which at least one call of a block is open in one process: its CPU time is counted once. */
struct stretch {
    double end, cpu_start, cpu_stop;
    uint64_t calls;
};

static void end_stretch(struct stretch *stretch, struct gt_call_total *block, struct gt_process_total *process)
{
    double used = stretch->cpu_stop - stretch->cpu_start;
    if (stretch->calls && !isnan(used)) {
        block->cpu_covered += used;
        block->cpu_calls += stretch->calls;
        process->cpu_covered = (isnan(process->cpu_covered) ? 0 : process->cpu_covered) + used;
    }
    *stretch = (struct stretch){0};
}

static void extend(struct stretch *stretch, const struct gt_interval *call)
{
    if (!stretch->calls)
        *stretch = (struct stretch){-INFINITY, call->cpu_start, call->cpu_stop, 0};
    stretch->calls++;
    if (end_of(call) >= stretch->end) {
        stretch->end = end_of(call);
        stretch->cpu_stop = call->cpu_stop;
    }
}

static void count_unfinished(struct gt_call_total *block, struct gt_process_total *process,
                             const struct gt_interval *call)
{
    block->unfinished++;
    block->unfinished_time += call->elapsed;
    process->unfinished++;
    process->unfinished_time += call->elapsed;
}

static int count_call(struct gt_call_total *block, struct gt_process_total *process, const struct gt_interval *call)
{
    block->calls++;
    block->non_empty += call->timepoints > 0;
    block->stepped += call->stepped;
    process->calls++;
    process->timepoints += call->timepoints;
    process->elapsed += call->stepped ? 0 : call->elapsed;
    process->self += call->stepped ? 0 : call->self;
    int status = gt_distribution_add(&block->elapsed, call->elapsed);
    status |= gt_distribution_add(&block->self, call->self);
    status |= gt_distribution_add(&block->cpu, call->cpu_stop - call->cpu_start);
    return status ? -ENOMEM : 0;
}

static bool is_same_process(const struct gt_process_total *process, const struct gt_interval *call)
{
    return process->name == call->name && process->source == call->source && process->process == call->process;
}

static int count(struct gt_block_analysis *analysis, const struct gt_interval *const *call)
{
    struct gt_process_total *process = NULL;
    struct stretch stretch = {0};
    int status = 0;
    for (size_t i = 0; i < analysis->intervals.count && status == 0; i++) {
        bool is_next = !process || !is_same_process(process, call[i]);
        if (process && (is_next || begin_of(call[i]) > stretch.end))
            end_stretch(&stretch, &analysis->block[process->name], process);
        if (is_next) {
            process = &analysis->process[analysis->processes++];
            *process = (struct gt_process_total){
                .name = call[i]->name, .source = call[i]->source, .process = call[i]->process, .cpu_covered = NAN};
        }
        struct gt_call_total *block = &analysis->block[call[i]->name];
        if (call[i]->unfinished) {
            count_unfinished(block, process, call[i]);
            continue;
        }
        extend(&stretch, call[i]);
        status = count_call(block, process, call[i]);
    }
    if (process)
        end_stretch(&stretch, &analysis->block[process->name], process);
    return status;
}

int gt_blocks_count_calls(struct gt_block_analysis *analysis)
{
    size_t calls = analysis->intervals.count;
    const struct gt_interval **call = calloc(calls + 1, sizeof *call);
    analysis->block = calloc(analysis->borders.names.count + 1, sizeof *analysis->block);
    analysis->process = calloc(calls + 1, sizeof *analysis->process);
    if (!call || !analysis->block || !analysis->process) {
        free(call);
        return -ENOMEM;
    }
    for (size_t i = 0; i < calls; i++)
        call[i] = &analysis->intervals.interval[i];
    qsort(call, calls, sizeof *call, compare);
    int status = count(analysis, call);
    free(call);
    return status;
}
