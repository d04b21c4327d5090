#include "analyse/trace/ranks.h"

#include <errno.h>
#include <stdlib.h>

#include "analyse/gpu/gpu.h"
#include "analyse/trace/dataloader.h"
#include "analyse/trace/phases.h"
#include "analyse/trace/step_spans.h"
#include "analyse/views.h"
#include "base/number.h"
#include "trace/formats/smdebug.h"

struct search {
    const struct gt_analysis_input *input;
    struct gt_rank_figures *rank; /* by place, while they are sought */
};

/* What a merged file has beside the parts of its nodes, such as critical paths, is no rank's. */
static void leave_out_wholes(struct search *search)
{
    const struct gt_trace *trace = search->input->trace;
    for (size_t i = 0; i < trace->file_count; i++) {
        uint32_t whole = trace->file[i].part_of, node = whole == GT_TRACE_NONE ? whole : search->input->node[whole];
        if (node != GT_TRACE_NONE)
            search->rank[node].events = 0;
    }
}

static void count_events(struct search *search)
{
    for (size_t i = 0; i < search->input->trace->events.count; i++) {
        uint32_t node = gt_analysis_node(search->input, i);
        if (node != GT_TRACE_NONE && gt_trace_is_slice(search->input->trace, i))
            search->rank[node].events++;
    }
}

static void measure_steps(struct search *search)
{
    struct gt_rows steps = gt_rows_of_steps(search->input);
    steps = gt_rows_known(&steps, "node");
    struct gt_rows nodes = gt_rows_group(&steps, "node",
                                         GT_AGGREGATES(GT_COUNT("steps"), GT_SUM("total", "length"),
                                                       GT_QUANTILE("median", "length", 0.5),
                                                       GT_QUANTILE("p95", "length", 0.95)));
    const uint32_t *node = gt_rows_keys(&nodes, "node");
    for (size_t i = 0; i < nodes.count; i++) {
        struct gt_rank_figures *rank = &search->rank[node[i]];
        rank->steps = (size_t)gt_rows_wholes(&nodes, "steps")[i];
        rank->figure[GT_RANK_STEP] = gt_rows_reals(&nodes, "median")[i];
        rank->step_total = (double)gt_rows_wholes(&nodes, "total")[i];
        rank->step_p95 = gt_rows_reals(&nodes, "p95")[i];
    }
}

static void measure_kernels(struct search *search)
{
    struct gt_rows work = gt_view_work(search->input);
    work = gt_rows_where(&work, "use", GT_USE_COMPUTE);
    struct gt_rows nodes = gt_rows_group(&work, "node", GT_AGGREGATES(GT_COUNT("kernels"), GT_SUM("total", "length")));
    const uint32_t *node = gt_rows_keys(&nodes, "node");
    for (size_t i = 0; i < nodes.count && node[i] != GT_NO_KEY; i++) { /* no node is last */
        struct gt_rank_figures *rank = &search->rank[node[i]];
        rank->kernels = (size_t)gt_rows_wholes(&nodes, "kernels")[i];
        rank->figure[GT_RANK_KERNEL] = (double)gt_rows_wholes(&nodes, "total")[i] / (double)rank->kernels;
    }
}

static void measure_gpus(struct search *search)
{
    struct gt_rows times = gt_view_device_times(search->input), idle = gt_view_idle(search->input, "node device");
    const uint32_t *node = gt_rows_keys(&times, "node");
    gt_rows_join(&times, &idle, "node device", "host_wait data_loader");
    const int64_t *host = gt_rows_wholes(&times, "host_wait"), *loading = gt_rows_wholes(&times, "data_loader");
    for (size_t i = 0; i < times.count; i++) {
        struct gt_rank_figures *rank = node[i] == GT_TRACE_NONE ? NULL : &search->rank[node[i]];
        if (!rank)
            continue;
        if (!rank->has_gpu) {
            rank->has_gpu = true;
            rank->whole = rank->memory = 0;
            for (int k = GT_RANK_COMPUTE; k < GT_RANK_FIGURES; k++)
                rank->figure[k] = 0;
        }
        rank->gpus++;
        rank->whole += (double)gt_rows_wholes(&times, "span")[i];
        rank->memory += (double)gt_rows_wholes(&times, "memory")[i];
        rank->figure[GT_RANK_COMPUTE] += (double)gt_rows_wholes(&times, "compute")[i];
        rank->figure[GT_RANK_COMMUNICATION] += (double)gt_rows_wholes(&times, "communication")[i];
        rank->figure[GT_RANK_IDLE] += (double)gt_rows_wholes(&times, "idle")[i];
        rank->figure[GT_RANK_LOADING] += (double)loading[i];
        rank->figure[GT_RANK_HOST] += (double)(host[i] - loading[i]);
    }
}

/* Of ranks without a GPU all the time spent waiting for data is known. */
static int measure_loading(struct search *search)
{
    struct gt_spans waits = {0};
    int status = gt_loader_waits(search->input, &waits);
    for (size_t from = 0, to = 0; status >= 0 && gt_spans_next(&waits, 1, &from, &to);) {
        int64_t first, last;
        uint32_t node = waits.span[from].key[0];
        if (node == GT_TRACE_NONE || search->rank[node].has_gpu || !gt_node_range(search->input, node, &first, &last))
            continue;
        struct gt_rank_figures *rank = &search->rank[node];
        rank->whole = (double)gt_analysis_recorded(search->input, node, first, last);
        rank->figure[GT_RANK_LOADING] = (double)gt_spans_total(&waits, from, to);
    }
    gt_spans_release(&waits);
    return status;
}

static int measure(struct search *search)
{
    count_events(search);
    leave_out_wholes(search);
    measure_steps(search);
    measure_gpus(search);
    measure_kernels(search);
    int status = gt_query_status(search->input->query);
    return status < 0 ? status : measure_loading(search);
}

int gt_ranks_find(const struct gt_analysis_input *input, struct gt_rank_figures **ret, size_t *ret_count)
{
    uint32_t places = input->trace->strings.count;
    struct search search = {input, calloc(places + (size_t)1, sizeof *search.rank)};
    size_t count = 0;
    if (!search.rank)
        return -ENOMEM;
    for (uint32_t i = 0; i < places; i++) {
        search.rank[i] = (struct gt_rank_figures){.node = i, .step_p95 = NAN, .whole = NAN, .memory = NAN};
        for (int figure = 0; figure < GT_RANK_FIGURES; figure++)
            search.rank[i].figure[figure] = NAN;
    }
    int status = measure(&search);
    for (uint32_t i = 0; i < places; i++)
        if (search.rank[i].events || search.rank[i].steps)
            search.rank[count++] = search.rank[i];
    if (status < 0) {
        free(search.rank);
        return status;
    }
    *ret = search.rank;
    *ret_count = count;
    return 0;
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

double gt_rank_compared(const struct gt_rank_figures *rank, enum gt_rank_figure figure)
{
    bool is_length = figure == GT_RANK_STEP || figure == GT_RANK_KERNEL;
    return is_length ? rank->figure[figure] : rank->figure[figure] / rank->whole;
}

double gt_ranks_median(const struct gt_rank_figures *ranks, size_t count, size_t except, enum gt_rank_figure figure)
{
    struct gt_numbers known = {0};
    int status = 0;
    for (size_t i = 0; i < count && status >= 0; i++)
        if (i != except && !isnan(gt_rank_compared(&ranks[i], figure)))
            status = gt_numbers_add(&known, gt_rank_compared(&ranks[i], figure));
    double median = status < 0 ? NAN : gt_numbers_percentile(&known, 50);
    gt_numbers_release(&known);
    return median;
}

size_t gt_ranks_worst(const struct gt_rank_figures *ranks, size_t count, enum gt_rank_figure figure)
{
    size_t worst = SIZE_MAX;
    double value = NAN;
    for (size_t i = 0; i < count; i++) {
        double own = gt_rank_compared(&ranks[i], figure);
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
