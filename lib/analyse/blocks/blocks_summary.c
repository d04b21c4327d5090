/* What a reader wants first: one line for each block, the longest first, and the blocks in pictures of the recording. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/blocks/blocks_parts.h"
#include "analyse/usage/course.h"
#include "base/order.h"

enum { BANDS = 500 }; /* more cannot be told apart in a picture */

/* What a column of the recording adds to the table; the largest or the mean value while the block ran. */
static const struct figure {
    const char *column, *key, *title;
    enum gt_statistic_id statistic;
    bool is_of_gpus;
} figures[] = {
    {"combined_ram", "max_ram", "Max RAM", GT_STAT_MAX, false},
    {"cpu_combined_sum_utilization_percent", "mean_cpu_percent", "Mean CPU %", GT_STAT_MEAN, false},
    {"combined_gpu_ram", "max_gpu_ram", "Max GPU RAM", GT_STAT_MAX, true},
    {"gpu_sum_utilization_percent", "mean_gpu_percent", "Mean GPU %", GT_STAT_MEAN, true},
};

static size_t column_index(const struct gt_column **columns, size_t count, const char *name)
{
    size_t i = 0;
    while (i < count && strcmp(columns[i]->name, name) != 0)
        i++;
    return i;
}

static double figure_of(const struct gt_block_analysis *analysis, const struct gt_block_total *total,
                        const struct figure *figure)
{
    size_t index = column_index(analysis->gauge, analysis->gauges, figure->column);
    bool is_absent = figure->is_of_gpus && !gt_recording_machine(analysis->recording)->gpu_count;
    if (index == analysis->gauges || !total->gauge || is_absent)
        return NAN;
    return gt_distribution_statistic(&total->gauge[index], figure->statistic);
}

static const char *unit_of(const struct gt_machine *machine, const struct figure *figure)
{
    if (figure->statistic == GT_STAT_MEAN)
        return NULL;
    return figure->is_of_gpus ? machine->gpu_ram_unit : machine->ram_unit;
}

static struct gt_node *add_table(struct gt_node *root, const struct gt_block_analysis *analysis)
{
    const struct gt_machine *machine = &analysis->machine;
    struct gt_node *table = gt_report_table(root, "summary", "Summary");
    gt_table_column(table, "name", "Block", GT_CELL_TEXT, NULL);
    gt_table_column(table, "calls", "Calls", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "total", "Total", GT_CELL_NUMBER, "seconds");
    gt_table_column(table, "self", "Self", GT_CELL_NUMBER, "seconds");
    gt_table_column(table, "mean", "Mean", GT_CELL_NUMBER, "seconds");
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        gt_table_column(table, figures[i].key, figures[i].title, GT_CELL_NUMBER, unit_of(machine, &figures[i]));
    gt_energy_columns(table, machine, gt_energy_curve_marks(&analysis->curve));
    gt_table_column(table, "unfinished_calls", "Never ended", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "unfinished_time", "For", GT_CELL_NUMBER, "seconds");
    return table;
}

static void add_row(struct gt_node *table, struct gt_block_analysis *analysis, size_t number)
{
    struct gt_call_total *calls = &analysis->block[number];
    struct gt_block_total total = gt_block_join_block(analysis->join, number);
    gt_table_text(table, gt_strings_text(&analysis->borders.names, number));
    gt_table_integer(table, (int64_t)calls->calls);
    gt_table_number(table, gt_distribution_total(&calls->elapsed));
    gt_table_number(table, gt_distribution_total(&calls->self));
    gt_table_number(table, gt_distribution_mean(&calls->elapsed));
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        gt_table_number(table, figure_of(analysis, &total, &figures[i]));
    gt_energy_cells(table, &analysis->machine, gt_energy_curve_marks(&analysis->curve),
                    gt_energy_sum(analysis->energy[number].device));
    bool ended = !calls->unfinished;
    if (ended)
        gt_table_number(table, NAN);
    else
        gt_table_integer(table, (int64_t)calls->unfinished);
    gt_table_number(table, ended ? NAN : calls->unfinished_time);
}

struct rank {
    double total;
    size_t number;
};

static int by_total(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    return x->total == y->total ? GT_ORDER(x->number, y->number) : x->total < y->total ? 1 : -1;
}

void gt_blocks_summary(struct gt_node *root, struct gt_block_analysis *analysis, unsigned flags)
{
    size_t count = analysis->borders.names.count;
    struct rank *rank = calloc(count + 1, sizeof *rank);
    if (!rank || !count) {
        free(rank);
        return;
    }
    for (size_t i = 0; i < count; i++)
        rank[i] = (struct rank){gt_distribution_total(&analysis->block[i].elapsed), i};
    qsort(rank, count, sizeof *rank, by_total);
    struct gt_node *table = add_table(root, analysis);
    gt_node_flags(table, flags | GT_BRIEF);
    for (size_t i = 0; i < count; i++)
        add_row(table, analysis, rank[i].number);
    free(rank);
}

static int by_length(const void *a, const void *b)
{
    const struct gt_band *x = a, *y = b;
    double first = x->to - x->from, second = y->to - y->from;
    return first == second ? GT_ORDER(x->from, y->from) : first < second ? 1 : -1;
}

/* The longest calls first, so that short ones are drawn over them. */
void gt_blocks_course(struct gt_node *root, const struct gt_block_analysis *analysis)
{
    const struct gt_intervals *calls = &analysis->intervals;
    struct gt_band *band = calloc(calls->count + 1, sizeof *band);
    size_t bands = 0;
    for (size_t i = 0; band && i < calls->count; i++) {
        const struct gt_interval *call = &calls->interval[i];
        double from = (analysis->use_monotonic ? call->clock_start : call->start) - analysis->first;
        double to = (analysis->use_monotonic ? call->clock_stop : call->stop) - analysis->first;
        if (to >= from)
            band[bands++] = (struct gt_band){gt_strings_text(&analysis->borders.names, call->name), from, to};
    }
    if (bands)
        qsort(band, bands, sizeof *band, by_length);
    gt_course_add(&(struct gt_course){.history = &analysis->history,
                                      .machine = gt_recording_machine(analysis->recording),
                                      .band = band,
                                      .bands = bands < BANDS ? bands : BANDS},
                  root);
    free(band);
}
