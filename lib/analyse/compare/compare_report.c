#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/compare/compare_parts.h"
#include "analyse/display_unit.h"
#include "analyse/blocks/results.h"
#include "base/order.h"
#include "store/store.h"

struct entry {
    const char *name;
    double value;
    size_t place;
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (isnan(x->value) != isnan(y->value))
        return isnan(x->value) ? 1 : -1;
    if (x->value != y->value && !isnan(x->value))
        return x->value > y->value ? 1 : -1;
    return GT_ORDER(x->place, y->place);
}

int gt_compare_row(struct gt_node *parent, const char *key, const char *title, const struct gt_comparison *comparison,
                   const struct gt_figure *figure, unsigned flags)
{
    struct entry *entry = calloc(comparison->sessions, sizeof *entry);
    struct gt_node *row = gt_report_section(parent, key, title);
    if (!entry)
        return -ENOMEM;
    struct gt_figure original = *figure;
    original.as_original = true;
    for (size_t i = 0; i < comparison->sessions; i++)
        entry[i] = (struct entry){comparison->session[i].name, gt_compare_value(comparison, &original, i, NULL), i};
    qsort(entry, comparison->sessions, sizeof *entry, compare_entries);
    gt_node_flags(row, GT_ROW | flags);
    for (size_t i = 0; i < comparison->sessions; i++) {
        double measured = gt_compare_value(comparison, figure, entry[i].place, NULL);
        struct gt_node *number = gt_report_number(row, entry[i].name, entry[i].name, measured, NULL);
        gt_node_flags(number, isnan(measured) && entry[i].value == 0 ? GT_ORIGINAL_ZERO : 0);
    }
    free(entry);
    return 0;
}

static int add_block_values(struct gt_node *parent, const struct gt_comparison *comparison, struct gt_figure figure)
{
    int status = 0;
    for (size_t i = 0; i < comparison->slots && status == 0; i++) {
        figure.slot = &comparison->slot[i];
        status = gt_compare_row(parent, figure.slot->label, figure.slot->label, comparison, &figure, 0);
    }
    return status;
}

/* What the first run says of the units; the sessions are compared in them. */
static void read_units(struct gt_machine *machine, const struct gt_comparison *comparison)
{
    const struct gt_json_value *data = gt_json_member(comparison->run[0], "static_data");
    const char *ram = gt_json_text_of(gt_json_member(data, "ram_unit"));
    const char *gpu_ram = gt_json_text_of(gt_json_member(data, "gpu_ram_unit"));
    snprintf(machine->ram_unit, sizeof machine->ram_unit, "%s", ram ? ram : "bytes");
    snprintf(machine->gpu_ram_unit, sizeof machine->gpu_ram_unit, "%s", gpu_ram ? gpu_ram : "bytes");
}

static bool is_original(const struct gt_columns *columns, const char *name)
{
    int index = gt_store_column_find(columns, name);
    return index >= 0 && columns->column[index].is_original;
}

/* A column in the job and in the blocks, under a title and multiplied. */
struct column {
    const char *name, *label;
    double factor;
    unsigned flags;
};

static int add_column(struct gt_node *overall, struct gt_node *usage, const struct gt_comparison *comparison,
                      const struct column *column)
{
    struct gt_figure figure = {.keys = {"overall", column->name, comparison->statistic}, .factor = column->factor};
    struct gt_figure of_block = {.keys = {"resource_usage", column->name, comparison->statistic},
                                 .factor = column->factor};
    char title[128];
    gt_results_title(title, sizeof title, column->label);
    int status = gt_compare_row(overall, column->name, title, comparison, &figure, column->flags);
    if (!comparison->slots)
        return status;
    struct gt_node *blocks = gt_report_section(usage, column->name, title);
    gt_node_flags(blocks, column->flags);
    return status | add_block_values(blocks, comparison, of_block);
}

/* Columns of the original's are in its units. Ours are in base units for programs; people see those beside them, in text only
 * where no table of differences has them. */
static int add_columns(struct gt_node *overall, struct gt_node *usage, const struct gt_comparison *comparison)
{
    struct gt_machine machine = {0};
    struct gt_columns columns;
    const char *name;
    struct gt_json_value *ignored;
    int status = 0;
    read_units(&machine, comparison);
    gt_store_columns(&columns, &machine);
    gt_json_foreach_member (gt_json_member(comparison->run[0], "overall"), name, ignored) {
        bool is_ours = !is_original(&columns, name);
        status |= add_column(overall, usage, comparison, &(struct column){name, name, 1, is_ours ? GT_ONLY_DATA : 0});
        if (!is_ours || comparison->sessions > 1)
            continue;
        struct gt_display_unit shown = gt_display_unit_as(&columns, name, &machine);
        status |= add_column(overall, usage, comparison,
                             &(struct column){name, shown.label, shown.factor, GT_ONLY_PEOPLE});
    }
    return status;
}

/* The original's text. On pages the tables of differences hold the same; in text they hold what is ours. */
static int add_original(struct gt_node *root, const struct gt_comparison *comparison)
{
    unsigned hidden = comparison->sessions > 1 ? GT_NOT_ON_PAGE : 0;
    struct gt_node *overall = gt_report_section(root, "overall_resource_usage", "Overall Resource Usage");
    struct gt_node *usage = gt_report_section(root, "code_block_resource_usage", "Code Block Resource Usage");
    struct gt_node *time = gt_report_section(root, "code_block_compute_time", "Code Block Compute Time");
    gt_node_flags(overall, hidden);
    gt_node_flags(usage, hidden);
    gt_node_flags(time, hidden);
    return add_columns(overall, usage, comparison) |
           add_block_values(time, comparison, (struct gt_figure){.keys = {"compute_time", comparison->statistic}});
}

/* ---- differences ---- */

struct gt_node *gt_compare_differences(struct gt_node *root, const char *key, const char *title, bool of_blocks)
{
    static const char *const numbers[] = {"baseline", "value", "difference", "percent", "low", "high"};
    struct gt_node *table = gt_report_table(root, key, title);
    if (of_blocks)
        gt_table_column(table, "name", "name", GT_CELL_TEXT, NULL);
    gt_table_column(table, "measurement", "measurement", GT_CELL_TEXT, NULL);
    gt_table_column(table, "unit", "unit", GT_CELL_TEXT, NULL);
    gt_table_column(table, "session", "session", GT_CELL_TEXT, NULL);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        gt_table_column(table, numbers[i], numbers[i], GT_CELL_NUMBER, NULL);
    gt_table_column(table, "runs", "runs", GT_CELL_INTEGER, NULL);
    return table;
}

/* `low` and `high` bound the difference, see gt_compare_interval. */
int gt_compare_difference(struct gt_node *table, const struct gt_comparison *comparison, const struct gt_figure *figure,
                          const char *measurement, const char *unit)
{
    double baseline = gt_compare_value(comparison, figure, 0, NULL);
    for (size_t i = 1; i < comparison->sessions; i++) {
        size_t runs;
        double low, high, value = gt_compare_value(comparison, figure, i, &runs);
        if (isnan(value) || isnan(baseline))
            continue;
        if (gt_compare_interval(comparison, figure, 0, i, &low, &high) < 0)
            return -ENOMEM;
        if (figure->slot)
            gt_table_text(table, figure->slot->label);
        gt_table_text(table, measurement);
        gt_table_text(table, unit);
        gt_table_text(table, comparison->session[i].name);
        gt_table_number(table, baseline);
        gt_table_number(table, value);
        gt_table_number(table, value - baseline);
        gt_table_number(table, baseline != 0 ? (value - baseline) / fabs(baseline) * 100 : NAN);
        gt_table_number(table, low);
        gt_table_number(table, high);
        gt_table_integer(table, (int64_t)runs);
    }
    return 0;
}

/* In results: base units, but for the original's columns. */
static const char *unit_of(const struct gt_columns *columns, const char *name, const struct gt_machine *machine)
{
    int index = gt_store_column_find(columns, name);
    return index < 0 ? "seconds" : gt_store_column_unit(&columns->column[index], machine);
}

/* Programs get base units; people see rows of ours in the units of the original's beside them. */
static int add_column_difference(struct gt_node *const table[2], const struct gt_comparison *comparison,
                                 struct gt_figure figure, const char *column, const struct gt_columns *columns,
                                 const struct gt_machine *machine)
{
    struct gt_display_unit shown = gt_display_unit_as(columns, column, machine);
    int status = gt_compare_difference(table[0], comparison, &figure, column, unit_of(columns, column, machine));
    figure.factor = shown.factor;
    return status ? status : gt_compare_difference(table[1], comparison, &figure, shown.label, NULL);
}

static void hide(struct gt_node *const table[2], unsigned flags)
{
    gt_node_flags(table[0], GT_ONLY_DATA);
    gt_node_flags(table[1], gt_table_rows(table[1]) ? GT_ONLY_PEOPLE | flags : GT_ONLY_DATA | GT_ONLY_PEOPLE);
}

static int add_differences(struct gt_node *root, const struct gt_comparison *comparison)
{
    struct gt_node *overall[2], *blocks[2];
    struct gt_machine machine = {0};
    struct gt_columns columns;
    const char *column;
    struct gt_json_value *ignored;
    int status = 0;
    read_units(&machine, comparison);
    gt_store_columns(&columns, &machine);
    for (int reader = 0; reader < 2; reader++)
        overall[reader] = gt_compare_differences(root, "overall_differences", "Overall Differences", false);
    for (int reader = 0; reader < 2; reader++)
        blocks[reader] = gt_compare_differences(root, "code_block_differences", "Code Block Differences", true);
    gt_json_foreach_member (gt_json_member(comparison->run[0], "overall"), column, ignored) {
        struct gt_figure figure = {.keys = {"overall", column, comparison->statistic}};
        status |= add_column_difference(overall, comparison, figure, column, &columns, &machine);
    }
    gt_json_foreach_member (gt_json_member(comparison->run[0], "peaks"), column, ignored) {
        struct gt_figure figure = {.keys = {"peaks", column}};
        status |= add_column_difference(overall, comparison, figure, column, &columns, &machine);
    }
    struct gt_figure duration = {.keys = {"duration"}};
    status |= add_column_difference(overall, comparison, duration, "duration", &columns, &machine);
    for (size_t i = 0; i < comparison->slots; i++) {
        const struct gt_slot *slot = &comparison->slot[i];
        struct gt_figure time = {.slot = slot, .keys = {"compute_time", comparison->statistic}};
        status |= add_column_difference(blocks, comparison, time, "compute_time", &columns, &machine);
        gt_json_foreach_member (gt_json_member(comparison->run[0], "overall"), column, ignored) {
            struct gt_figure figure = {.slot = slot, .keys = {"resource_usage", column, comparison->statistic}};
            status |= add_column_difference(blocks, comparison, figure, column, &columns, &machine);
        }
    }
    hide(blocks, GT_BRIEF | GT_NOT_IN_TEXT);
    hide(overall, GT_BRIEF);
    return status;
}

/* ---- blocks that only one side has ---- */

static bool has_block(const struct gt_comparison *comparison, const struct gt_slot *slot, size_t session)
{
    for (size_t i = 0; i < comparison->runs; i++)
        if (comparison->session_of_run[i] == session && slot->block[i])
            return true;
    return false;
}

static void add_unmatched(struct gt_node *root, const char *key, const char *title,
                          const struct gt_comparison *comparison, bool in_baseline)
{
    struct gt_node *table = gt_report_table(root, key, title);
    gt_table_column(table, "session", "session", GT_CELL_TEXT, NULL);
    gt_table_column(table, "name", "name", GT_CELL_TEXT, NULL);
    for (size_t i = 0; i < comparison->slots; i++) {
        const struct gt_slot *slot = &comparison->slot[i];
        for (size_t j = 1; j < comparison->sessions; j++)
            if (has_block(comparison, slot, 0) == in_baseline && has_block(comparison, slot, j) != in_baseline) {
                gt_table_text(table, comparison->session[j].name);
                gt_table_text(table, slot->label);
            }
    }
    if (!gt_table_rows(table))
        gt_node_flags(table, GT_ONLY_DATA);
}

int gt_compare_build(struct gt_report *report, const struct gt_comparison *comparison)
{
    struct gt_node *root = gt_report_root(report);
    struct gt_compare_lines lines;
    int status = gt_compare_lines(&lines, comparison);
    if (status < 0)
        return status;
    gt_report_layout(report, GT_LAYOUT_ANALYSIS);
    gt_compare_summary(root, comparison, &lines, GT_ONLY_PAGE);
    status = add_original(root, comparison);
    add_unmatched(root, "added_blocks", "Added Blocks", comparison, false);
    add_unmatched(root, "removed_blocks", "Removed Blocks", comparison, true);
    status |= add_differences(root, comparison);
    status |= gt_compare_energy(root, comparison);
    gt_compare_summary(root, comparison, &lines, GT_ONLY_TEXT);
    gt_compare_significance(root, comparison, &lines);
    gt_compare_lines_release(&lines);
    gt_node_flags(gt_report_text(root, "statistic", "Statistic", comparison->statistic), GT_ONLY_DATA);
    gt_node_flags(gt_report_text(root, "baseline", "Baseline", comparison->session[0].name), GT_ONLY_DATA);
    return status ? -ENOMEM : 0;
}
