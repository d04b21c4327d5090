#include "analyse/usage/usage_parts.h"

static void add_columns(const struct gt_usage *usage, struct gt_node *table)
{
    gt_table_column(table, "pid", "PID", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "parent", "Parent", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "name", "Name", GT_CELL_TEXT, NULL);
    gt_table_column(table, "begin", "Begin", GT_CELL_NUMBER, "seconds");
    gt_table_column(table, "end", "End", GT_CELL_NUMBER, "seconds");
    gt_table_column(table, "ram_peak", "Peak RAM", GT_CELL_NUMBER, usage->machine->ram_unit);
    gt_table_column(table, "cpu_time", "CPU time", GT_CELL_NUMBER, "seconds");
    gt_table_column(table, "command", "Command", GT_CELL_TEXT, NULL);
}

static void add_row(const struct gt_usage *usage, struct gt_node *table, const struct gt_life *life)
{
    gt_table_integer(table, life->pid);
    if (life->parent)
        gt_table_integer(table, life->parent);
    else
        gt_table_number(table, NAN);
    gt_table_text(table, *life->name ? life->name : NULL);
    gt_table_number(table, life->begin);
    gt_table_number(table, life->end);
    gt_table_number(table, life->ram_peak / usage->ram_unit);
    gt_table_number(table, life->cpu_time);
    gt_table_text(table, *life->command ? life->command : NULL);
}

int gt_usage_processes(const struct gt_usage *usage, struct gt_node *root)
{
    struct gt_lives sorted = {0};
    const struct gt_lives *lives = &usage->outcome->lives;
    int status = 0;
    if (!lives->count)
        return 0;
    for (size_t i = 0; !status && i < lives->count; i++)
        status = gt_lives_add(&sorted, &lives->life[i]);
    gt_lives_sort(&sorted);
    struct gt_node *table = gt_report_table(root, "process_list", "Each process");
    add_columns(usage, table);
    for (size_t i = 0; !status && i < sorted.count; i++)
        add_row(usage, table, &sorted.life[i]);
    if (usage->outcome->processes_not_listed)
        gt_report_integer(root, "processes_not_listed", "Further processes",
                          (int64_t)usage->outcome->processes_not_listed, NULL);
    gt_lives_release(&sorted);
    return status;
}
