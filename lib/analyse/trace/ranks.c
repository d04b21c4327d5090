#include "analyse/trace/ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/gpu/gpu.h"
#include "analyse/trace/phases.h"
#include "analyse/views.h"
#include "base/number.h"
#include "trace/formats/smdebug.h"

static const char *const figures[GT_RANK_FIGURES] = {"step",    "compute", "communication", "idle",
                                                     "loading", "host",    "kernel"};

/* What a merged file has beside the parts of its nodes, such as critical paths, is no rank's. */
static void leave_out_wholes(const struct gt_analysis_input *input, bool *is_rank)
{
    const struct gt_trace *trace = input->trace;
    for (size_t i = 0; i < trace->file_count; i++) {
        uint32_t whole = trace->file[i].part_of, node = whole == GT_TRACE_NONE ? whole : input->node[whole];
        if (node != GT_TRACE_NONE)
            is_rank[node] = false;
    }
}

/* Those that have events or steps. */
static struct gt_rows find_nodes(const struct gt_analysis_input *input, const struct gt_rows *steps)
{
    struct gt_rows nodes = gt_rows_new(input->query, input->trace->strings.count);
    uint32_t *node = gt_rows_add_keys(&nodes, "node", NULL);
    bool *is_rank = gt_query_memory(input->query, nodes.count, sizeof *is_rank);
    for (size_t i = 0; i < nodes.count && is_rank; i++) {
        node[i] = (uint32_t)i;
        is_rank[i] = false;
    }
    for (size_t i = 0; i < input->trace->events.count && is_rank; i++) {
        uint32_t of = gt_analysis_node(input, i);
        if (of != GT_TRACE_NONE && gt_trace_is_slice(input->trace, i))
            is_rank[of] = true;
    }
    if (is_rank)
        leave_out_wholes(input, is_rank);
    for (size_t i = 0; i < steps->count && is_rank; i++)
        is_rank[gt_rows_keys(steps, "node")[i]] = true;
    return gt_rows_filter(&nodes, is_rank);
}

static struct gt_rows measure_steps(const struct gt_analysis_input *input)
{
    struct gt_rows steps = gt_rows_of_steps(input);
    steps = gt_rows_known(&steps, "node");
    return gt_rows_group(&steps, "node",
                         GT_AGGREGATES(GT_COUNT("steps"), GT_SUM("step_total", "length"),
                                       GT_QUANTILE("step", "length", 0.5), GT_QUANTILE("step_p95", "length", 0.95)));
}

static struct gt_rows measure_kernels(const struct gt_analysis_input *input)
{
    struct gt_rows work = gt_view_work(input);
    work = gt_rows_where(&work, "use", GT_USE_COMPUTE);
    return gt_rows_group(&work, "node", GT_AGGREGATES(GT_COUNT("kernels"), GT_MEAN("kernel", "length")));
}

static struct gt_rows measure_gpus(const struct gt_analysis_input *input)
{
    struct gt_rows times = gt_view_device_times(input), idle = gt_view_idle(input, "node device");
    gt_rows_join(&times, &idle, "node device", "host_wait data_loader");
    gt_rows_difference(&times, "host", "host_wait", "data_loader");
    return gt_rows_group(&times, "node",
                         GT_AGGREGATES(GT_COUNT("gpus"), GT_SUM("whole", "span"), GT_SUM("memory", "memory"),
                                       GT_SUM("compute", "compute"), GT_SUM("communication", "communication"),
                                       GT_SUM("idle", "idle"), GT_SUM("loading", "data_loader"),
                                       GT_SUM("host", "host")));
}

static double number_of(const struct gt_rows *rows, const char *column, size_t row)
{
    return gt_rows_number(gt_rows_need(rows, __func__, column, strlen(column)), row);
}

/* Of ranks without a GPU all the time spent waiting for data is known. */
static struct gt_rank_figures figures_of(const struct gt_analysis_input *input, const struct gt_rows *rows, size_t row)
{
    int64_t first, last;
    struct gt_rank_figures ret = {.node = gt_rows_keys(rows, "node")[row],
                                  .steps = (size_t)number_of(rows, "steps", row),
                                  .step_p95 = number_of(rows, "step_p95", row),
                                  .step_total = number_of(rows, "step_total", row),
                                  .whole = number_of(rows, "whole", row),
                                  .has_gpu = number_of(rows, "gpus", row) > 0,
                                  .memory = number_of(rows, "memory", row),
                                  .kernels = (size_t)number_of(rows, "kernels", row),
                                  .gpus = (size_t)number_of(rows, "gpus", row)};
    for (int i = 0; i < GT_RANK_FIGURES; i++)
        ret.figure[i] = number_of(rows, figures[i], row);
    double waits = number_of(rows, "waits", row);
    if (!ret.has_gpu && !isnan(waits) && gt_node_range(input, ret.node, &first, &last)) {
        ret.whole = (double)gt_analysis_recorded(input, ret.node, first, last);
        ret.figure[GT_RANK_LOADING] = waits;
    }
    return ret;
}

struct gt_rank_figures *gt_ranks_find(const struct gt_analysis_input *input, size_t *count)
{
    struct gt_rows steps = measure_steps(input), kernels = measure_kernels(input), gpus = measure_gpus(input);
    struct gt_rows waits = gt_view_loading(input), ranks = find_nodes(input, &steps);
    waits = gt_rows_group(&waits, "node", GT_AGGREGATES(GT_SUM("waits", "length")));
    gt_rows_join(&ranks, &steps, "node", "steps step_total step step_p95");
    gt_rows_join(&ranks, &kernels, "node", "kernels kernel");
    gt_rows_join(&ranks, &gpus, "node", "gpus whole memory compute communication idle loading host");
    gt_rows_join(&ranks, &waits, "node", "waits");
    gt_rows_fill(&ranks, "steps step_total kernels gpus");
    struct gt_rank_figures *ret = gt_query_memory(input->query, ranks.count, sizeof *ret);
    *count = ret ? ranks.count : 0;
    for (size_t i = 0; i < *count; i++)
        ret[i] = figures_of(input, &ranks, i);
    return ret;
}

struct gt_span gt_rank_host(const struct gt_analysis_input *input, uint32_t node)
{
    const struct gt_trace *trace = input->trace;
    size_t file = 0;
    while (file < trace->file_count && input->node[file] != node)
        file++;
    if (file == trace->file_count)
        return (struct gt_span){0};
    const char *path = trace->file[file].path;
    struct gt_span worker = gt_path_worker(path), host = {0};
    for (size_t length = worker.length; length-- > 1 && !host.length;)
        if (worker.text[length] == '_')
            host = (struct gt_span){worker.text, length};
    return host.length ? host : gt_path_part(path, 1);
}

size_t gt_ranks_absent(const struct gt_analysis_input *input, struct gt_buffer *out, size_t *of)
{
    const struct gt_trace *trace = input->trace;
    int32_t world = 0;
    for (size_t i = 0; i < trace->file_count; i++)
        world = trace->file[i].world > world ? trace->file[i].world : world;
    bool *is_there = calloc((size_t)world + 1, 1);
    for (size_t i = 0; is_there && i < trace->file_count; i++)
        if (trace->file[i].rank >= 0 && trace->file[i].rank < world)
            is_there[trace->file[i].rank] = true;
    size_t absent = is_there ? gt_buffer_absent(out, is_there, (size_t)world) : 0;
    free(is_there);
    *of = (size_t)world;
    return absent;
}

/* ---- compared ---- */

/* A length as it is, and a time as a share of the rank's own: traces of different length are compared by these. */
static double compared(const struct gt_rank_figures *rank, enum gt_rank_figure figure)
{
    bool is_length = figure == GT_RANK_STEP || figure == GT_RANK_KERNEL;
    return is_length ? rank->figure[figure] : rank->figure[figure] / rank->whole;
}

double gt_ranks_median(const struct gt_rank_figures *ranks, size_t count, size_t except, enum gt_rank_figure figure)
{
    struct gt_numbers known = {0};
    int status = 0;
    for (size_t i = 0; i < count && status >= 0; i++)
        if (i != except && !isnan(compared(&ranks[i], figure)))
            status = gt_numbers_add(&known, compared(&ranks[i], figure));
    double median = status < 0 ? NAN : gt_numbers_percentile(&known, 50);
    gt_numbers_release(&known);
    return median;
}

size_t gt_ranks_worst(const struct gt_rank_figures *ranks, size_t count, enum gt_rank_figure figure)
{
    size_t worst = SIZE_MAX;
    double value = NAN;
    for (size_t i = 0; i < count; i++) {
        double own = compared(&ranks[i], figure);
        if (isnan(own) || own <= value)
            continue;
        worst = i;
        value = own;
    }
    if (worst == SIZE_MAX || count < 2)
        return SIZE_MAX;
    double others = gt_ranks_median(ranks, count, worst, figure);
    double whole = figure == GT_RANK_STEP || figure == GT_RANK_KERNEL ? value : 1;
    return value >= 1.05 * others && value - others >= 0.01 * whole ? worst : SIZE_MAX;
}
