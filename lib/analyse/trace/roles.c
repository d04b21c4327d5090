/* What each step's time went to, as the overview of TensorBoard's PyTorch plugin has it: each moment of a step belongs to
 * the first of these roles that is active on the node, in this order; "other" is what is left.
 *
 * What GPUs do for a step counts to it. Unlike there, the last step stays where few of its kernels were recorded. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/gpu/gpu.h"
#include "analyse/trace/training.h"
#include "base/number.h"

enum role { KERNEL, MEMCPY, MEMSET, COMMUNICATION, RUNTIME, LOADER, CPU, ROLES };

/* Those of GPUs, then the others, in the order of the roles. */
#define GPU_COLUMNS "number:kernel_us number:memcpy_us number:memset_us"
#define HOST_COLUMNS "number:communication_us number:runtime_us number:dataloader_us number:cpu_us number:other_us"
#define GPU_SHARES "number:kernel_percent number:memcpy_percent number:memset_percent"
#define HOST_SHARES                                                                                     \
    "number:communication_percent number:runtime_percent number:dataloader_percent number:cpu_percent " \
    "number:other_percent"

/* ---- roles ---- */

/* Collectives as the host calls them. */
static bool is_collective(const struct gt_trace *trace, size_t event)
{
    const char *name = gt_trace_text(trace, trace->events.name[event]);
    return strncmp(name, "nccl:", 5) == 0 || strncmp(name, "gloo:", 5) == 0;
}

static enum role role_of(const struct gt_analysis_input *input, size_t event)
{
    const struct gt_trace *trace = input->trace;
    if (!gt_trace_is_slice(trace, event))
        return ROLES;
    if (gt_loader_part(input, event) == GT_LOADER_NEXT)
        return LOADER;
    switch (gt_analysis_work(input, event)) {
    case GT_WORK_KERNEL:
        return input->usage[trace->events.name[event]] == GT_USE_COMMUNICATION ? COMMUNICATION : KERNEL;
    case GT_WORK_COPY: return MEMCPY;
    case GT_WORK_SET: return MEMSET;
    case GT_WORK_RUNTIME: return RUNTIME;
    case GT_WORK_OPERATOR:
    case GT_WORK_ANNOTATION:
        return gt_is_profiler_step(gt_trace_text(trace, trace->events.name[event])) ? ROLES
               : is_collective(trace, event)                                        ? COMMUNICATION
                                                                                    : CPU;
    default: return ROLES;
    }
}

/* The times in which a role or one before it is active, united; key: node. */
struct roles {
    struct gt_spans until[ROLES];
};

static int find_roles(const struct gt_analysis_input *input, struct roles *roles)
{
    int status = 0;
    for (size_t i = 0; i < input->trace->events.count && status >= 0; i++) {
        enum role role = role_of(input, i);
        if (role != ROLES)
            status = gt_spans_add_event(&roles->until[role], input->trace, i, GT_SPAN_KEY(gt_analysis_node(input, i)));
    }
    for (int role = 0; role < ROLES && status >= 0; role++) {
        for (size_t i = 0; role && i < roles->until[role - 1].count && status >= 0; i++)
            status = gt_spans_add(&roles->until[role], roles->until[role - 1].span[i]);
        gt_spans_sort(&roles->until[role]);
        gt_spans_unite(&roles->until[role], 1);
    }
    return status;
}

/* The first of a node's spans, of those sorted by it. */
static size_t first_of(const struct gt_spans *spans, uint32_t node)
{
    return GT_SEARCH(0, spans->count, middle, spans->span[middle].key[0] < node);
}

/* Times of the roles and of "other" in a stretch. */
static void divide(const struct roles *roles, uint32_t node, int64_t start, int64_t end, int64_t part[ROLES + 1])
{
    int64_t before = 0;
    for (int role = 0; role < ROLES; role++) {
        const struct gt_spans *spans = &roles->until[role];
        size_t from = first_of(spans, node), to = first_of(spans, node + 1);
        int64_t until = gt_spans_overlap(spans, from, to, start, end);
        part[role] = until - before;
        before = until;
    }
    part[ROLES] = end - start - before;
}

/* ---- tables of steps ---- */

/* What GPUs did is not known of a node without any work of theirs. */
static bool is_known(int role, bool has_gpu)
{
    return has_gpu || role > MEMSET;
}

static void add_step(const struct gt_analysis_input *input, struct gt_table *table, const struct gt_gpu_step *step,
                     const int64_t part[ROLES + 1], bool has_gpu)
{
    GT_CELLS(table, gt_analysis_text(input, step->span.key[0]), gt_analysis_text(input, step->span.key[1]));
    gt_integer_if(table, !step->is_whole_node, (int32_t)step->span.key[2]);
    GT_CELLS(table, gt_analysis_us(input, step->span.start), (double)(step->span.end - step->span.start) / 1e3);
    for (int i = 0; i <= ROLES; i++)
        gt_table_number(table, is_known(i, has_gpu) ? (double)part[i] / 1e3 : NAN);
    gt_integer_if(table, has_gpu, (int64_t)step->work);
}

static void add_node(const struct gt_analysis_input *input, struct gt_table *table, const struct gt_gpu_step *first,
                     size_t steps, int64_t whole, const int64_t part[ROLES + 1], bool has_gpu)
{
    gt_table_text(table, gt_analysis_text(input, first->span.key[0]));
    gt_integer_if(table, !first->is_whole_node, (int64_t)steps);
    gt_table_number(table, (double)whole / (double)steps / 1e3);
    for (int i = 0; i <= ROLES; i++)
        gt_table_number(table, is_known(i, has_gpu) ? gt_percent((double)part[i], (double)whole) : NAN);
}

static struct gt_table *make_nodes(struct gt_node *root, unsigned of_gpus)
{
    struct gt_table *table = gt_analysis_table(root, "roles", "Roles", "text:node integer:steps number:mean_step_us");
    gt_analysis_columns(table, GPU_SHARES, of_gpus);
    gt_analysis_columns(table, HOST_SHARES, 0);
    return table;
}

static struct gt_table *make_steps(struct gt_node *root, unsigned of_gpus)
{
    struct gt_table *table = gt_analysis_table(root, "steps", "Steps",
                                               "text:node text:mode integer:step number:start_us number:duration_us");
    gt_analysis_columns(table, GPU_COLUMNS, of_gpus);
    gt_analysis_columns(table, HOST_COLUMNS, 0);
    gt_analysis_columns(table, "integer:gpu_work", of_gpus);
    return table;
}

static void tell_missing(struct gt_node *root, const struct gt_gpu_steps *steps, bool any_gpu)
{
    char text[160];
    size_t whole = 0;
    for (size_t i = 0; i < steps->count; i++)
        whole += steps->step[i].is_whole_node;
    snprintf(text, sizeof text, "%s%s%s%s", any_gpu ? "" : "no work of GPUs was recorded",
             whole && !any_gpu ? "; " : "",
             !whole                 ? ""
             : whole < steps->count ? "no steps of some nodes"
                                    : "no steps",
             whole ? ": the whole trace is one interval" : "");
    if (steps->count && *text)
        gt_report_text(root, "not_known", "Not known", text);
}

static void add_steps(const struct gt_analysis_input *input, struct gt_node *root, const struct gt_gpu_steps *steps,
                      const struct roles *roles, const bool *gpus)
{
    bool any_gpu = false;
    for (size_t i = 0; i < steps->count; i++)
        any_gpu |= gt_gpu_has_node(input, gpus, steps->step[i].span.key[0]) &&
                   gt_analysis_shows(input, steps->step[i].span.key[0]);
    struct gt_table *nodes = make_nodes(root, any_gpu ? 0 : GT_COLUMN_ONLY_DATA);
    struct gt_table *table = make_steps(root, any_gpu ? 0 : GT_COLUMN_ONLY_DATA);
    int64_t sum[ROLES + 1] = {0}, whole = 0;
    size_t first = 0;
    for (size_t i = 0; i < steps->count; i++) {
        const struct gt_gpu_step *step = &steps->step[i];
        int64_t part[ROLES + 1];
        bool has_gpu = gt_gpu_has_node(input, gpus, step->span.key[0]);
        divide(roles, step->span.key[0], step->span.start, step->span.end, part);
        add_step(input, table, step, part, has_gpu);
        for (int role = 0; role <= ROLES; role++)
            sum[role] += part[role];
        whole += step->span.end - step->span.start;
        if (i + 1 < steps->count && step[1].span.key[0] == step->span.key[0])
            continue;
        add_node(input, nodes, &steps->step[first], i + 1 - first, whole, sum, has_gpu);
        memset(sum, 0, sizeof sum);
        whole = 0;
        first = i + 1;
    }
    gt_analysis_empty(root, nodes, "no operators, calls or work of GPUs (torch.profiler, Nsight Systems)");
    gt_analysis_empty(root, table, NULL);
    tell_missing(root, steps, any_gpu);
}

/* ---- how well GPUs were used ---- */

enum { OCCUPANCY, BLOCKS, WARPS };
static const char *const arguments[] = {"est. achieved occupancy %", "blocks per SM", "warps per SM", NULL};

/* Parts of names of kernels that use tensor cores: NVIDIA's PyProf has a list of them, which TensorBoard uses, too; the last
 * are CUTLASS's. */
static const char *const tensor_kernels[] = {"h884",
                                             "s884",
                                             "h1688",
                                             "s1688",
                                             "c1688",
                                             "hmma",
                                             "i8816",
                                             "16816",
                                             "dgrad_1x1_stride_2x2",
                                             "first_layer_wgrad_kernel",
                                             "conv1x1",
                                             "conv2d_c1_k1",
                                             "direct_group",
                                             "xmma_implicit_gemm",
                                             "xmma_sparse_conv",
                                             "xmma_warp_specialized_implicit_gemm",
                                             "xmma_gemm",
                                             "xmma_sparse_gemm",
                                             "tensorop",
                                             "gmma"};

static bool uses_tensor_cores(const struct gt_analysis_input *input, size_t event)
{
    const char *name = gt_trace_text(input->trace, input->trace->events.name[event]);
    for (size_t i = 0; i < sizeof tensor_kernels / sizeof *tensor_kernels; i++)
        if (strstr(name, tensor_kernels[i]))
            return true;
    return false;
}

static double argument_of(const struct gt_analysis_input *input, size_t event, uint32_t key)
{
    double number = gt_argument_number(input->trace, event, key);
    return number >= 0 ? number : NAN;
}

struct edge {
    int64_t time;
    double blocks; /* from here on more, or less */
};

static int compare_edges(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return GT_ORDER(x->time, y->time);
}

/* The area below the blocks on each SM, at most 1 at a time; NaN when no kernel tells them. */
static double efficient_time(struct edge *edge, size_t count)
{
    double blocks = 0, area = 0;
    if (!count)
        return NAN;
    GT_SORT(edge, count, compare_edges);
    for (size_t i = 0; i < count; i++) {
        if (i)
            area += fmin(blocks, 1) * (double)(edge[i].time - edge[i - 1].time);
        blocks += edge[i].blocks;
    }
    return area;
}

struct device {
    double kernels, tensor;   /* ns of all kernels */
    double sum[3], weight[3]; /* of the arguments, by time within the steps */
    double busy, efficient;   /* ns within the steps */
    int64_t busy_until;
};

/* Takes a kernel, which come by start, as far as it lies between `start` and `end`. */
static size_t take_kernel(const struct gt_analysis_input *input, struct device *device,
                          const struct gt_keyed_span *span, int64_t start, int64_t end, struct edge edge[2])
{
    int64_t from = span->start > start ? span->start : start, to = span->end < end ? span->end : end;
    device->kernels += (double)(span->end - span->start);
    device->tensor += uses_tensor_cores(input, span->event) ? (double)(span->end - span->start) : 0;
    if (from >= to)
        return 0;
    for (uint32_t key = 0; key < 3; key++) {
        double value = argument_of(input, span->event, key);
        device->sum[key] += isnan(value) ? 0 : value * (double)(to - from);
        device->weight[key] += isnan(value) ? 0 : (double)(to - from);
    }
    int64_t fresh = from > device->busy_until ? from : device->busy_until;
    device->busy += to > fresh ? (double)(to - fresh) : 0;
    device->busy_until = to > device->busy_until ? to : device->busy_until;
    double blocks = argument_of(input, span->event, BLOCKS);
    if (isnan(blocks) || blocks <= 0)
        return 0;
    edge[0] = (struct edge){from, blocks};
    edge[1] = (struct edge){to, -blocks};
    return 2;
}

static int measure_device(const struct gt_analysis_input *input, const struct gt_spans *work, size_t from, size_t to,
                          int64_t start, int64_t end, struct device *device)
{
    struct edge *edge = malloc((2 * (to - from) + 2) * sizeof *edge);
    size_t edges = 0;
    *device = (struct device){.busy_until = INT64_MIN};
    for (size_t i = from; edge && i < to; i++)
        if (gt_analysis_work(input, work->span[i].event) == GT_WORK_KERNEL)
            edges += take_kernel(input, device, &work->span[i], start, end, &edge[edges]);
    device->efficient = edge ? efficient_time(edge, edges) : NAN;
    free(edge);
    return edge ? 0 : -ENOMEM;
}

static void add_device(const struct gt_analysis_input *input, struct gt_table *table, const struct gt_keyed_span *span,
                       const struct device *device, double whole)
{
    GT_CELLS(table, gt_analysis_text(input, span->key[GT_GPU_NODE]), gt_gpu_device(input, span),
             gt_percent(device->busy, whole), gt_percent(device->efficient, whole));
    for (int key = 0; key < 3; key++)
        gt_table_number(table, device->weight[key] > 0 ? device->sum[key] / device->weight[key] : NAN);
    gt_table_number(table, gt_percent(device->tensor, device->kernels));
}

static int by_device(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    return GT_ORDER_BY(gt_order_lists(x->key, y->key, 2), GT_ORDER(x->start, y->start), GT_ORDER(x->event, y->event));
}

static int add_devices(const struct gt_analysis_input *input, struct gt_node *root, const struct gt_gpu_steps *steps,
                       struct gt_spans *work)
{
    struct gt_table *table = gt_analysis_table(
        root, "devices", "Devices",
        "text:node text:device number:kernel_percent number:sm_efficiency_percent number:achieved_occupancy_percent "
        "number:blocks_per_sm number:warps_per_sm number:tensor_core_percent");
    int status = 0;
    gt_spans_sort_by(work, by_device);
    for (size_t from = 0, to = 0; status >= 0 && gt_spans_next(work, 2, &from, &to);) {
        uint32_t node = work->span[from].key[GT_GPU_NODE];
        int64_t start = INT64_MAX, end = INT64_MIN;
        struct device device;
        for (size_t i = 0; i < steps->count; i++)
            if (steps->step[i].span.key[0] == node) {
                start = steps->step[i].span.start < start ? steps->step[i].span.start : start;
                end = steps->step[i].span.end > end ? steps->step[i].span.end : end;
            }
        status = measure_device(input, work, from, to, start, end, &device);
        add_device(input, table, &work->span[from], &device, (double)(end - start));
    }
    gt_analysis_empty(root, table, NULL);
    return status;
}

static int build(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct roles roles = {0};
    struct gt_gpu_steps steps = {0};
    struct gt_spans work = gt_gpu_spans(input);
    bool *gpus = gt_gpu_nodes(input);
    int status = gpus ? find_roles(input, &roles) : -ENOMEM;
    if (status >= 0 && roles.until[ROLES - 1].count)
        steps = gt_gpu_steps_find(input, &roles.until[ROLES - 1], &work, NULL);
    status = status < 0 ? status : gt_query_status(input->query);
    if (status >= 0) {
        add_steps(input, root, &steps, &roles, gpus);
        status = add_devices(input, root, &steps, &work);
    }
    for (int role = 0; role < ROLES; role++)
        gt_spans_release(&roles.until[role]);
    return status;
}

const struct gt_analysis gt_analysis_roles = {
    .name = "roles",
    .group = "gpu",
    .help =
        "what each step's time went to (kernels, copies, calls, data loader, CPU), SM efficiency, occupancy, tensor cores",
    .takes = GT_TAKES_PHASES | GT_TAKES_TOP,
    .arguments = arguments,
    .joins = true,
    .of_selected = true,
    .build = build,
};
