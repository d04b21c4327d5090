/* Kernels, copies and fills: how often, how long, of which kind, rank by rank, and by kind over ranks. */
#include "analyse/gpu/gpu.h"
#include "analyse/views.h"

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

static int build(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_rows work = gt_view_work(input);
    struct gt_table *kernels = put_kernels(input, root, &work);
    put_types(input, root, &work);
    gt_analysis_empty(root, kernels, GT_NO_GPU_WORK);
    return gt_query_status(work.query);
}

const struct gt_analysis gt_analysis_kernels = {
    .name = "kernels",
    .help = "kernels, copies and fills of each rank: count, total, mean, percentiles; --top, --key " GT_LIST_KEYS,
    .takes = GT_TAKES_KEY | GT_TAKES_TOP,
    .compares = true,
    .of_selected = true,
    .build = build,
};
