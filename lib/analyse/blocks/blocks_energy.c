/* What each block drew: of CPU energy by the CPU time of its processes where the file has it, of the rest by time. Time in
 * which several calls of a block are open counts once. */
#include <errno.h>
#include <stdlib.h>

#include "analyse/blocks/blocks_parts.h"
#include "base/order.h"

struct call {
    uint32_t name;
    uint16_t source;
    int64_t process;
    struct gt_time_stretch stretch;
    double cpu_start, cpu_stop;
};

static struct gt_time_stretch stretch_of(const struct gt_block_analysis *analysis, const struct gt_interval *interval)
{
    if (analysis->use_monotonic)
        return (struct gt_time_stretch){interval->clock_start, interval->clock_stop};
    return (struct gt_time_stretch){interval->start, fmax(interval->start, interval->stop)};
}

static int by_process(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    int order = GT_ORDER(x->name, y->name);
    order = order ? order : GT_ORDER(x->source, y->source);
    order = order ? order : GT_ORDER(x->process, y->process);
    return order ? order : GT_ORDER(x->stretch.start, y->stretch.start);
}

/* The calls from `first` on that overlap, of one process, as one; returns the number behind the last. */
static size_t join(const struct call *call, size_t first, size_t end, struct call *ret)
{
    size_t next = first + 1;
    *ret = call[first];
    for (; next < end && call[next].source == ret->source && call[next].process == ret->process &&
           call[next].stretch.start <= ret->stretch.stop;
         next++)
        if (call[next].stretch.stop >= ret->stretch.stop) {
            ret->stretch.stop = call[next].stretch.stop;
            ret->cpu_stop = call[next].cpu_stop;
        }
    return next;
}

/* Joined calls go into `stretch`, whose beginning becomes the block's time. */
static void count_block(const struct gt_energy_curve *curve, const struct call *call, size_t first, size_t end,
                        struct gt_time_stretch *stretch, struct gt_block_energy *ret)
{
    size_t count = 0;
    struct gt_spent cpu = {.joules = NAN, .error = NAN};
    bool by_cpu_time = true;
    for (size_t i = first; i < end; count++) {
        struct call joined;
        i = join(call, i, end, &joined);
        double used = joined.cpu_stop - joined.cpu_start;
        by_cpu_time &= !isnan(used);
        gt_spent_add(&cpu, gt_energy_curve_of_cpu(curve, joined.stretch, used));
        stretch[count] = joined.stretch;
    }
    count = gt_time_stretches_merge(stretch, count);
    for (int device = 0; device < GT_ENERGY_DEVICES; device++)
        ret->device[device] = gt_energy_curve_over(curve, device, GT_ENERGY_JOB, stretch, count);
    ret->by_cpu_time = by_cpu_time;
    if (by_cpu_time)
        ret->device[GT_ENERGY_CPU] = cpu;
}

/* Those that ended. */
static struct call *sorted_calls(const struct gt_block_analysis *analysis, size_t *ret_count)
{
    struct call *call = calloc(analysis->intervals.count + 1, sizeof *call);
    size_t count = 0;
    for (size_t i = 0; call && i < analysis->intervals.count; i++) {
        const struct gt_interval *interval = &analysis->intervals.interval[i];
        if (!interval->unfinished)
            call[count++] = (struct call){interval->name,      interval->source,
                                          interval->process,   stretch_of(analysis, interval),
                                          interval->cpu_start, interval->cpu_stop};
    }
    if (call)
        qsort(call, count, sizeof *call, by_process);
    *ret_count = count;
    return call;
}

int gt_blocks_count_energy(struct gt_block_analysis *analysis)
{
    static const struct gt_spent unknown = {.joules = NAN, .error = NAN};
    size_t blocks = analysis->borders.names.count, calls;
    analysis->energy = calloc(blocks + 1, sizeof *analysis->energy);
    if (!analysis->energy || gt_energy_curve_finish(&analysis->curve) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < blocks; i++)
        for (int device = 0; device < GT_ENERGY_DEVICES; device++)
            analysis->energy[i].device[device] = unknown;
    if (!gt_energy_curve_is_measured(&analysis->curve))
        return 0;
    struct call *call = sorted_calls(analysis, &calls);
    struct gt_time_stretch *stretch = calloc(calls + 1, sizeof *stretch);
    for (size_t first = 0, end; call && stretch && first < calls; first = end) {
        for (end = first + 1; end < calls && call[end].name == call[first].name;)
            end++;
        count_block(&analysis->curve, call, first, end, stretch, &analysis->energy[call[first].name]);
    }
    int status = call && stretch ? 0 : -ENOMEM;
    free(call);
    free(stretch);
    return status;
}

struct gt_spent gt_blocks_energy_of_call(const struct gt_block_analysis *analysis, const struct gt_interval *interval)
{
    struct gt_time_stretch stretch = stretch_of(analysis, interval);
    struct gt_spent spent[GT_ENERGY_DEVICES];
    for (int device = 0; device < GT_ENERGY_DEVICES; device++)
        spent[device] = gt_energy_curve_over(&analysis->curve, device, GT_ENERGY_JOB, &stretch, 1);
    spent[GT_ENERGY_CPU] = gt_energy_curve_of_cpu(&analysis->curve, stretch, interval->cpu_stop - interval->cpu_start);
    return gt_energy_sum(spent);
}
