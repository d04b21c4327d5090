/* The time of GPUs by what they did, why they stood still, and their kernels. */
#include "analyse/gpu/gpu.h"
#include "analyse/views.h"

/* ---- breakdown ----
 * The time of each GPU by what it did: compute, communication, memory, nothing.
 *
 * Between the first start and the last end of GPU work of a device, each moment counts once: as compute when a
 * computing kernel runs, else as communication when a collective does, else as memory when only copies or fills do,
 * else as idle. The four sum to the span (the temporal breakdown of Holistic Trace Analysis, with its non-compute
 * part cut in two). Overlap is the part of all communication (memory) time during which computation ran, too. */

static int build_breakdown(const struct gt_analysis_input *input, struct gt_node *root)
{
    static const char *const parts[][3] = {
        {"idle_percent", "idle", "span"},
        {"compute_percent", "compute", "span"},
        {"communication_percent", "communication", "span"},
        {"memory_percent", "memory", "span"},
        {"communication_overlap_percent", "hidden_communication", "all_communication"},
        {"memory_overlap_percent", "hidden_memory", "all_memory"},
    };
    struct gt_rows rows = gt_view_device_times(input);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        gt_rows_percent(&rows, parts[i][0], parts[i][1], parts[i][2]);
    gt_rows_put(
        input, root, "breakdown", "Breakdown", &rows,
        "text:node text:device number:span_us number:idle_us number:compute_us number:communication_us number:memory_us "
        "number:idle_percent number:compute_percent number:communication_percent number:memory_percent "
        "number:all_communication_us number:communication_overlap_percent number:memory_overlap_percent",
        GT_NO_GPU_WORK);
    return gt_query_status(input->query);
}

const struct gt_analysis gt_analysis_breakdown = {
    .name = "breakdown",
    .group = "gpu",
    .help = "idle, compute, communication and memory time of each GPU, and their overlap",
    .of_selected = true,
    .build = build_breakdown,
};

/* ---- idle GPUs ----
 * Why GPUs stood still. A gap lies between the latest end of work so far and the start of the next work, of a device or of one
 * stream. Its cause is read from the runtime call that launched the next work (as Holistic Trace Analysis does for streams):
 *
 *   waiting for the host   the call began after the gap had: the GPU had nothing to do. Part of it may lie in the data loader
 *   between kernels        launched before, and no longer than 30 ns: what the GPU takes from one kernel to the next
 *   other                  launched before: waits for an event or another stream; or the launch is not known
 */

#define COLUMNS                                                                           \
    "number:span_us number:idle_us number:idle_percent integer:gaps number:host_wait_us " \
    "number:between_kernels_us number:other_us number:data_loader_us"

static struct gt_table *put_idle(const struct gt_analysis_input *input, struct gt_node *root, const char *keys,
                                 const char *key, const char *title, const char *columns)
{
    struct gt_rows rows = gt_view_idle(input, keys);
    gt_rows_percent(&rows, "idle_percent", "idle", "span");
    return gt_rows_put(input, root, key, title, &rows, columns, NULL);
}

static int build_idle(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_table *devices = put_idle(input, root, "node device", "devices", "Devices",
                                        "text:node text:device " COLUMNS);
    put_idle(input, root, "node device stream", "streams", "Streams", "text:node text:device text:stream " COLUMNS);
    gt_analysis_empty(root, devices, GT_NO_GPU_WORK);
    return gt_query_status(input->query);
}

const struct gt_analysis gt_analysis_idle = {
    .name = "idle",
    .group = "gpu",
    .help = "why GPUs stood still: waiting for the host (and its data loader), between kernels, other",
    .joins = true,
    .takes = GT_TAKES_TOP,
    .of_selected = true,
    .build = build_idle,
};

/* ---- kernels ----
 * Kernels, copies and fills: how often, how long, of which kind, rank by rank, and by kind over ranks. */

static struct gt_table *put_kernels(const struct gt_analysis_input *input, struct gt_node *root,
                                    const struct gt_rows *work)
{
    struct gt_rows kernels = gt_rows_group(
        work, "node name use", GT_AGGREGATES(GT_COUNT("count"), GT_SUM("total", "length"), GT_STATISTICS_US("length")));
    gt_rows_share(&kernels, "percent", "total", "node");
    gt_rows_sort_list(input, &kernels, "node", "name use");
    gt_rows_rename(&kernels, "use", "type");
    struct gt_table *table = gt_rows_put(
        input, root, "kernels", "Kernels", &kernels,
        "text:node kernel:name text:type integer:count number:total_us number:percent " GT_NUMBERS_COLUMNS_US, NULL);
    gt_top_shown(table, GT_LIST_SHOWN);
    return table;
}

/* A node that has none of a kind has 0. */
static void put_types(const struct gt_analysis_input *input, struct gt_node *root, const struct gt_rows *work)
{
    struct gt_rows nodes = gt_rows_group(work, "use node", GT_AGGREGATES(GT_COUNT("count"), GT_SUM("total", "length")));
    nodes = gt_rows_complete(&nodes, "use", "node");
    struct gt_rows types = gt_rows_group(
        &nodes, "use",
        GT_AGGREGATES(GT_COUNT("ranks"), GT_SUM("count", "count"), GT_SUM("total", "total"),
                      GT_MEAN_US("mean_us", "total"), GT_MIN("min", "total"), GT_MAX("max", "total"),
                      GT_ARG_MIN("min_node", "total", "node"), GT_ARG_MAX("max_node", "total", "node")));
    gt_rows_share(&types, "percent", "total", "");
    const int64_t *min = gt_rows_wholes(&types, "min"), *max = gt_rows_wholes(&types, "max");
    double *spread = gt_rows_add_reals(&types, "spread");
    for (size_t i = 0; i < types.count; i++)
        spread[i] = (double)(max[i] - min[i]) / 1e3;
    gt_rows_percent(&types, "spread_percent", "spread", "mean_us");
    gt_rows_rename(&types, "use", "type");
    gt_top_left_out(gt_rows_put(input, root, "types", "Types over ranks", &types,
                                "text:type integer:ranks integer:count number:total_us number:percent number:mean_us "
                                "number:min_us text:min_node number:max_us text:max_node number:spread_percent",
                                NULL),
                    0); /* there are three at most */
}

static int build_kernels(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_rows work = gt_view_work(input);
    struct gt_table *kernels = put_kernels(input, root, &work);
    put_types(input, root, &work);
    gt_analysis_empty(root, kernels, GT_NO_GPU_WORK);
    return gt_query_status(work.query);
}

const struct gt_analysis gt_analysis_kernels = {
    .name = "kernels",
    .group = "gpu",
    .help = "kernels, copies and fills of each rank: count, total, mean, percentiles; --top, --key " GT_LIST_KEYS,
    .takes = GT_TAKES_KEY | GT_TAKES_TOP,
    .compares = true,
    .of_selected = true,
    .build = build_kernels,
};
