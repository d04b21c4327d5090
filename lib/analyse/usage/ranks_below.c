#include "analyse/usage/ranks_below.h"
#include "analyse/cells.h"

#include <math.h>

static void add_columns(const struct gt_usage *usage, struct gt_table *table)
{
    gt_table_column(table, "rank", "Rank", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "local_rank", "Local rank", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "launcher", "Numbered by", GT_CELL_TEXT, NULL);
    gt_table_column(table, "pid", "PID", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "processes", "Processes", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "ram_peak", "Peak RAM", GT_CELL_NUMBER, usage->machine->ram_unit);
    gt_table_column(table, "cpu_time", "CPU time", GT_CELL_NUMBER, "seconds");
    gt_table_column(table, "gpu_ram_peak", "Peak GPU RAM", GT_CELL_NUMBER, usage->machine->gpu_ram_unit);
    gt_table_column(table, "gpu_percent", "GPU utilization", GT_CELL_NUMBER, "%");
    gt_table_column(table, "energy", "Energy", GT_CELL_NUMBER, "joules");
    gt_table_column(table, "gpu_energy", "GPU energy", GT_CELL_NUMBER, "joules");
    gt_table_column(table, "gpus", "GPUs", GT_CELL_TEXT, NULL);
}

static void add_rank(const struct gt_usage *usage, struct gt_table *table, const struct gt_local_rank *rank)
{
    gt_table_integer(table, rank->rank);
    gt_integer_if(table, rank->local > 0, rank->local - 1);
    GT_CELLS(table, rank->launcher, rank->pid, rank->processes, rank->ram_peak / usage->ram_unit, rank->cpu_time,
             rank->gpu_ram_peak / usage->gpu_ram_unit, rank->gpu_utilization * 100, gt_local_rank_energy(rank),
             rank->gpu_energy, *rank->gpus ? rank->gpus : NULL);
}

void gt_ranks_below_add(const struct gt_usage *usage, struct gt_node *root)
{
    const struct gt_outcome *outcome = usage->outcome;
    if (!outcome->rank_count)
        return;
    struct gt_table *table = gt_report_table(root, "ranks", "Ranks below the tracker");
    add_columns(usage, table);
    for (size_t i = 0; i < outcome->rank_count; i++)
        add_rank(usage, table, &outcome->rank[i]);
}
