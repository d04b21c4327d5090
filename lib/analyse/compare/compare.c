#include "analyse/compare/compare.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/blocks/results.h"
#include "analyse/compare/comparison.h"
#include "analyse/display.h"
#include "base/number.h"
#include "schema/human.h"
#include "store/store.h"

/* ---- rows of sessions, as the original has them ---- */

struct entry {
    const char *name;
    double value;
    size_t place;
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return GT_ORDER_BY(isnan(x->value) - isnan(y->value), GT_ORDER(x->value, y->value), GT_ORDER(x->place, y->place));
}

struct row {
    const char *key, *title;
    double factor; /* that people see the numbers multiplied with */
    unsigned flags;
};

/* The sessions' values, ascending, and then those that have none. */
static int add_row(struct gt_node *parent, const struct gt_comparison *comparison, const struct gt_figure *figure,
                   const struct row *about)
{
    struct entry *entry = calloc(comparison->sessions, sizeof *entry);
    struct gt_node *row = gt_report_section(parent, about->key, about->title);
    if (!entry)
        return -ENOMEM;
    struct gt_figure original = *figure;
    original.as_original = true;
    for (size_t i = 0; i < comparison->sessions; i++)
        entry[i] = (struct entry){comparison->session[i].name, gt_compare_value(comparison, &original, i, NULL), i};
    qsort(entry, comparison->sessions, sizeof *entry, compare_entries);
    gt_node_flags(row, GT_ROW | about->flags);
    for (size_t i = 0; i < comparison->sessions; i++) {
        double measured = gt_compare_value(comparison, figure, entry[i].place, NULL);
        bool is_absent = isnan(measured) && entry[i].value == 0;
        struct gt_node *number = gt_report_number(row, entry[i].name, entry[i].name, is_absent ? 0 : measured, NULL);
        gt_node_flags(number, is_absent ? GT_NO_DEVICE : 0);
        gt_node_display(number, about->factor, NULL);
    }
    free(entry);
    return 0;
}

static int add_block_values(struct gt_node *parent, const struct gt_comparison *comparison, struct gt_figure figure,
                            double factor)
{
    int status = 0;
    for (size_t i = 0; i < comparison->slots && status == 0; i++) {
        figure.slot = &comparison->slot[i];
        status = add_row(parent, comparison, &figure, &(struct row){figure.slot->label, figure.slot->label, factor, 0});
    }
    return status;
}

/* The sessions are compared in the units of the first run. */
static void read_units(struct gt_machine *machine, const struct gt_comparison *comparison)
{
    const struct gt_node *results = gt_compare_results(comparison, 0);
    const char *ram = gt_results_static(results, "ram_unit"), *gpu_ram = gt_results_static(results, "gpu_ram_unit");
    snprintf(machine->ram_unit, sizeof machine->ram_unit, "%s", ram ? ram : "bytes");
    snprintf(machine->gpu_ram_unit, sizeof machine->gpu_ram_unit, "%s", gpu_ram ? gpu_ram : "bytes");
}

static bool is_original(const struct gt_columns *columns, const char *name)
{
    int index = gt_store_column_find(columns, name);
    return index >= 0 && columns->column[index].is_original;
}

/* A column in the job and in the blocks. Those of the original are in its units; people see ours in them, too, in
 * text only where no table of differences has them. */
static int add_column(struct gt_node *overall, struct gt_node *usage, const struct gt_comparison *comparison,
                      const char *name, const struct gt_columns *columns, const struct gt_machine *machine)
{
    struct gt_display_unit display = gt_display_unit_as(columns, name, machine);
    bool is_hidden = !is_original(columns, name) && comparison->sessions > 1;
    const struct gt_figure figure = {.keys = {"overall", name, comparison->statistic}};
    const struct gt_figure of_block = {.keys = {"resource_usage", name, comparison->statistic}};
    char title[128];
    gt_results_title(title, sizeof title, display.label);
    unsigned flags = is_hidden ? GT_ONLY_DATA : 0;
    int status = add_row(overall, comparison, &figure, &(struct row){name, title, display.factor, flags});
    if (!comparison->slots)
        return status;
    struct gt_node *blocks = gt_report_section(usage, name, title);
    gt_node_flags(blocks, flags);
    return status | add_block_values(blocks, comparison, of_block, display.factor);
}

static int add_columns(struct gt_node *overall, struct gt_node *usage, const struct gt_comparison *comparison)
{
    struct gt_machine machine = {0};
    struct gt_columns *columns = malloc(sizeof *columns);
    int status = 0;
    if (!columns)
        return -ENOMEM;
    read_units(&machine, comparison);
    gt_store_columns(columns, &machine);
    for (const struct gt_node *one = gt_compare_measurements(comparison, "overall"); one; one = one->next)
        status |= add_column(overall, usage, comparison, one->key, columns, &machine);
    free(columns);
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
           add_block_values(time, comparison, (struct gt_figure){.keys = {"compute_time", comparison->statistic}}, 1);
}

/* ---- differences ---- */

/* Programs see measurements by name in base units, people by a label in those that the sessions chose. */
static struct gt_table *add_differences_table(struct gt_node *root, const char *key, const char *title, bool of_blocks,
                                              unsigned unit_flags)
{
    const struct {
        const char *key;
        enum gt_cell_kind kind;
        unsigned flags;
    } columns[] = {
        {"measurement", GT_CELL_TEXT, GT_COLUMN_ONLY_DATA},
        {"measurement", GT_CELL_TEXT, GT_COLUMN_ONLY_PEOPLE},
        {"factor", GT_CELL_NUMBER, GT_COLUMN_FACTOR},
        {"shown_in", GT_CELL_TEXT, GT_COLUMN_UNIT},
        {"unit", GT_CELL_TEXT, unit_flags},
        {"session", GT_CELL_TEXT, 0},
        {"baseline", GT_CELL_NUMBER, 0},
        {"value", GT_CELL_NUMBER, 0},
        {"difference", GT_CELL_NUMBER, 0},
        {"percent", GT_CELL_NUMBER, GT_COLUMN_AS_IS},
        {"low", GT_CELL_NUMBER, 0},
        {"high", GT_CELL_NUMBER, 0},
        {"runs", GT_CELL_INTEGER, 0},
    };
    struct gt_table *table = gt_report_table(root, key, title);
    if (of_blocks)
        gt_table_column(table, "name", "name", GT_CELL_TEXT, NULL);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        gt_display_column(table, columns[i].key, columns[i].key, columns[i].kind, NULL, columns[i].flags);
    return table;
}

struct measurement {
    const char *name, *label;
    double factor; /* of what people see */
    const char *display_unit;
    const char *unit;
};

/* `low` and `high` bound the difference, see gt_compare_interval. */
static int add_difference(struct gt_table *table, const struct gt_comparison *comparison,
                          const struct gt_figure *figure, const struct measurement *measurement)
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
        GT_CELLS(table, measurement->name, measurement->label, measurement->factor, measurement->display_unit,
                 measurement->unit, comparison->session[i].name, baseline);
        GT_CELLS(table, value, value - baseline, baseline != 0 ? (value - baseline) / fabs(baseline) * 100 : NAN, low,
                 high, runs);
    }
    return 0;
}

/* In results: base units, but for the original's columns. */
static const char *unit_of(const struct gt_columns *columns, const char *name, const struct gt_machine *machine)
{
    int index = gt_store_column_find(columns, name);
    return index < 0 ? "seconds" : gt_store_column_unit(&columns->column[index], machine);
}

static int add_column_difference(struct gt_table *table, const struct gt_comparison *comparison,
                                 struct gt_figure figure, const char *column, const struct gt_columns *columns,
                                 const struct gt_machine *machine)
{
    struct gt_display_unit display = gt_display_unit_as(columns, column, machine);
    const char *unit = unit_of(columns, column, machine);
    return add_difference(
        table, comparison, &figure,
        &(struct measurement){column, display.label, display.factor, *display.unit ? display.unit : unit, unit});
}

static int add_differences(struct gt_node *root, const struct gt_comparison *comparison)
{
    struct gt_table *overall = add_differences_table(root, "overall_differences", "Overall Differences", false,
                                                     GT_COLUMN_ONLY_DATA);
    struct gt_table *blocks = add_differences_table(root, "code_block_differences", "Code Block Differences", true,
                                                    GT_COLUMN_ONLY_DATA);
    struct gt_machine machine = {0};
    struct gt_columns *columns = malloc(sizeof *columns);
    int status = 0;
    if (!columns)
        return -ENOMEM;
    read_units(&machine, comparison);
    gt_store_columns(columns, &machine);
    const char *const kinds[][2] = {{"overall", comparison->statistic}, {"peaks", NULL}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (const struct gt_node *one = gt_compare_measurements(comparison, kinds[i][0]); one; one = one->next) {
            struct gt_figure figure = {.keys = {kinds[i][0], one->key, kinds[i][1]}};
            status |= add_column_difference(overall, comparison, figure, one->key, columns, &machine);
        }
    struct gt_figure duration = {.keys = {"duration"}};
    status |= add_column_difference(overall, comparison, duration, "duration", columns, &machine);
    for (size_t i = 0; i < comparison->slots; i++) {
        const struct gt_slot *slot = &comparison->slot[i];
        struct gt_figure time = {.slot = slot, .keys = {"compute_time", comparison->statistic}};
        status |= add_column_difference(blocks, comparison, time, "compute_time", columns, &machine);
        for (const struct gt_node *one = gt_compare_measurements(comparison, "overall"); one; one = one->next) {
            const char *column = one->key;
            struct gt_figure figure = {.slot = slot, .keys = {"resource_usage", column, comparison->statistic}};
            status |= add_column_difference(blocks, comparison, figure, column, columns, &machine);
        }
    }
    gt_table_flags(overall, gt_table_rows(overall) ? GT_BRIEF : GT_ONLY_DATA);
    gt_table_flags(blocks, gt_table_rows(blocks) ? GT_BRIEF | GT_NOT_IN_TEXT : GT_ONLY_DATA);
    free(columns);
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
    struct gt_table *table = gt_report_table(root, key, title);
    gt_display_columns(table, "text:session text:name");
    for (size_t i = 0; i < comparison->slots; i++) {
        const struct gt_slot *slot = &comparison->slot[i];
        for (size_t j = 1; j < comparison->sessions; j++)
            if (has_block(comparison, slot, 0) == in_baseline && has_block(comparison, slot, j) != in_baseline) {
                GT_CELLS(table, comparison->session[j].name, slot->label);
            }
    }
    if (!gt_table_rows(table))
        gt_table_flags(table, GT_ONLY_DATA);
}

/* ---- energy ---- */

static const struct {
    const char *key, *title; /* as the results have them */
} devices[] = {{"cpu", "CPU packages"}, {"dram", "DRAM"}, {"gpu", "GPUs"}, {"total", "All"}};

static const struct {
    const char *key, *title, *unit;
} costs[] = {{"carbon", "CO2 equivalent (grams)", "grams"}, {"price", "Price", NULL}};

enum { DEVICES = sizeof devices / sizeof *devices, TOTAL = DEVICES - 1 };

static bool is_known(const struct gt_comparison *comparison, const struct gt_figure *figure)
{
    for (size_t i = 0; i < comparison->sessions; i++)
        if (!isnan(gt_compare_value(comparison, figure, i, NULL)))
            return true;
    return false;
}

/* Tells which sessions' energy is measured, where some is not. */
static void add_certainty(struct gt_node *root, const struct gt_comparison *comparison)
{
    struct gt_node *rows = gt_report_section(root, "energy_certainty", "Energy Is");
    for (size_t i = 0; i < comparison->sessions; i++)
        gt_report_text(rows, comparison->session[i].name, comparison->session[i].name,
                       gt_compare_session_is_estimated(comparison, i) ? "estimated" : "measured");
}

static int add_energy_difference(struct gt_table *table, const struct gt_comparison *comparison,
                                 const struct gt_figure *figure, const char *name, const char *unit)
{
    return add_difference(table, comparison, figure, &(struct measurement){name, name, 1, unit, unit});
}

static int add_job_energy(struct gt_node *root, const struct gt_comparison *comparison)
{
    struct gt_node *rows = gt_report_section(
        root, "energy", gt_compare_is_estimated(comparison) ? "Energy (joules, estimated)" : "Energy (joules)");
    struct gt_table *differences = add_differences_table(root, "energy_differences", "Energy Differences", false, 0);
    int status = 0;
    for (int i = 0; i < DEVICES && status == 0; i++) {
        struct gt_figure figure = gt_compare_job_energy(i == TOTAL ? NULL : devices[i].key);
        if (!is_known(comparison, &figure))
            continue;
        status |= add_row(rows, comparison, &figure, &(struct row){devices[i].key, devices[i].title, 1, 0});
        status |= add_energy_difference(differences, comparison, &figure, devices[i].key, "joules");
    }
    for (size_t i = 0; i < sizeof costs / sizeof *costs && status == 0; i++) {
        struct gt_figure figure = {.keys = {"energy", costs[i].key}};
        if (!is_known(comparison, &figure))
            continue;
        status |= add_row(rows, comparison, &figure, &(struct row){costs[i].key, costs[i].title, 1, 0});
        status |= add_energy_difference(differences, comparison, &figure, costs[i].key, costs[i].unit);
    }
    if (!gt_table_rows(differences))
        gt_table_flags(differences, GT_ONLY_DATA);
    return status;
}

static int add_block_energy(struct gt_node *root, const struct gt_comparison *comparison)
{
    struct gt_node *rows = gt_report_section(
        root, "code_block_energy",
        gt_compare_is_estimated(comparison) ? "Code Block Energy (joules, estimated)" : "Code Block Energy (joules)");
    struct gt_table *differences = add_differences_table(root, "code_block_energy_differences",
                                                         "Code Block Energy Differences", true, 0);
    int status = 0;
    for (size_t i = 0; i < comparison->slots && status == 0; i++) {
        const struct gt_slot *slot = &comparison->slot[i];
        struct gt_figure total = gt_compare_block_energy(slot, devices[TOTAL].key);
        if (!is_known(comparison, &total))
            continue;
        status |= add_row(rows, comparison, &total, &(struct row){slot->label, slot->label, 1, 0});
        for (int k = 0; k < DEVICES && status == 0; k++) {
            struct gt_figure figure = gt_compare_block_energy(slot, devices[k].key);
            status |= add_energy_difference(differences, comparison, &figure, devices[k].key, "joules");
        }
    }
    gt_table_flags(differences, GT_ONLY_DATA);
    return status;
}

/* A run that ended early looks like a saving. */
static void add_failed(struct gt_node *root, const struct gt_comparison *comparison)
{
    struct gt_table *table = NULL;
    for (size_t i = 0; i < comparison->sessions; i++) {
        int status;
        size_t failed = gt_compare_failed_runs(comparison, i, &status);
        if (!failed)
            continue;
        GT_COMPARE_WARN(comparison,
                        "session \"%s\": %zu of %zu runs failed, the first with status %d: its figures end there",
                        comparison->session[i].name, failed, comparison->session[i].runs, status);
        if (!table) {
            table = gt_report_table(root, "failed", "Runs That Failed");
            gt_table_flags(table, GT_PAGE_FIRST);
            gt_display_columns(table, "text:session integer:runs integer:failed integer:exit_status");
        }
        gt_table_text(table, comparison->session[i].name);
        gt_table_integer(table, (int64_t)comparison->session[i].runs);
        gt_table_integer(table, (int64_t)failed);
        gt_table_integer(table, status);
    }
}

/* The worst run of each session. */
static void add_disturbed(struct gt_node *root, const struct gt_comparison *comparison)
{
    struct gt_table *table = NULL;
    for (size_t i = 0; i < comparison->sessions; i++) {
        size_t disturbed = 0;
        double most = 0;
        char number[GT_HUMAN_SIZE];
        for (size_t run = 0; run < comparison->runs; run++) {
            if (comparison->session_of_run[run] != i || isnan(comparison->others[run]))
                continue;
            disturbed++;
            most = fmax(most, comparison->others[run]);
        }
        if (!disturbed)
            continue;
        GT_COMPARE_WARN(comparison,
                        "session \"%s\": other programs used up to %s cores in %zu of %zu runs: do not compare these "
                        "times",
                        comparison->session[i].name, gt_human_number(number, most), disturbed,
                        comparison->session[i].runs);
        if (!table) {
            table = gt_report_table(root, "disturbed", "Runs Beside Other Programs");
            gt_table_flags(table, GT_PAGE_FIRST);
            gt_display_columns(table, "text:session integer:runs integer:disturbed number:other_cores");
        }
        GT_CELLS(table, comparison->session[i].name, comparison->session[i].runs, disturbed, most);
    }
}

/* Joules of a part of the time look like savings. */
static void tell_partial(const struct gt_comparison *comparison, const struct gt_figure *figure)
{
    for (size_t i = 0; i < comparison->sessions; i++) {
        double percent = gt_compare_session_covered(comparison, figure, i);
        if (percent < 100)
            GT_COMPARE_WARN(
                comparison, "session \"%s\": energy was measured for %.3g %% of the time only%s",
                comparison->session[i].name, percent,
                comparison->options->allow_partial ? "" : "; it is left out (--allow-partial compares it as it is)");
    }
}

static int add_energy(struct gt_node *root, const struct gt_comparison *comparison)
{
    struct gt_figure all = gt_compare_job_energy(NULL);
    tell_partial(comparison, &all);
    if (!is_known(comparison, &all))
        return 0;
    int status = add_job_energy(root, comparison);
    if (gt_compare_is_estimated(comparison))
        add_certainty(root, comparison);
    if (comparison->slots)
        status |= add_block_energy(root, comparison);
    return status ? -ENOMEM : 0;
}

/* ---- the summary: the sessions beside each other, whole and block by block, the longest block first ---- */

static void add_line_title(struct gt_table *table, const struct gt_comparison *comparison,
                           const struct gt_compare_line *line)
{
    char title[64];
    bool is_percent = !strcmp(line->display_unit, "percent");
    bool is_estimate = line->is_estimated || (!strcmp(line->unit, "joules") && gt_compare_is_estimated(comparison));
    snprintf(title, sizeof title, "%s (%s%s)", line->title, is_percent ? "%" : line->display_unit,
             is_estimate ? ", estimated" : "");
    gt_table_text(table, title);
}

static double percent_of(double difference, double baseline)
{
    return baseline != 0 ? difference / fabs(baseline) * 100 : NAN;
}

static void add_line(struct gt_table *table, const struct gt_comparison *comparison, const struct gt_compare_line *line)
{
    double baseline = gt_compare_value(comparison, &line->figure, 0, NULL);
    gt_table_text(table, line->slot ? line->slot->label : "whole job");
    add_line_title(table, comparison, line);
    gt_table_text(table, line->display_unit);
    for (size_t i = 0; i < comparison->sessions; i++)
        gt_table_number(table, gt_compare_value(comparison, &line->figure, i, NULL) * line->display_factor);
    for (size_t i = 1; i < comparison->sessions; i++) {
        const struct gt_judgement *judgement = &line->judgement[i];
        double value = gt_compare_value(comparison, &line->figure, i, NULL);
        GT_CELLS(table, percent_of(value - baseline, baseline), percent_of(judgement->low, baseline),
                 percent_of(judgement->high, baseline), gt_compare_verdict(judgement));
    }
}

static void add_summary_columns(struct gt_table *table, const struct gt_comparison *comparison)
{
    static const struct {
        const char *title, *unit;
    } columns[] = {{"Change", "%"}, {"Low", "%"}, {"High", "%"}, {"Significant", NULL}};
    char title[128];
    gt_table_column(table, "name", "Block", GT_CELL_TEXT, NULL);
    gt_table_column(table, "measurement", "Measurement", GT_CELL_TEXT, NULL);
    gt_display_column(table, "shown_in", "", GT_CELL_TEXT, NULL, GT_COLUMN_UNIT);
    for (size_t i = 0; i < comparison->sessions; i++)
        gt_table_column(table, comparison->session[i].name, comparison->session[i].name, GT_CELL_NUMBER, NULL);
    for (size_t i = 1; i < comparison->sessions; i++)
        for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
            snprintf(title, sizeof title, comparison->sessions == 2 ? "%s" : "%s of %s", columns[k].title,
                     comparison->session[i].name);
            gt_table_column(table, title, title, columns[k].unit ? GT_CELL_NUMBER : GT_CELL_TEXT, columns[k].unit);
        }
}

static void add_summary(struct gt_node *root, const struct gt_comparison *comparison,
                        const struct gt_compare_lines *lines)
{
    struct gt_table *table = gt_report_table(root, "summary", "Summary");
    add_summary_columns(table, comparison);
    for (size_t i = 0; i < lines->count; i++)
        add_line(table, comparison, &lines->line[i]);
    gt_table_flags(table, GT_ONLY_PEOPLE | GT_PAGE_FIRST | GT_BRIEF);
}

static void add_judgement(struct gt_table *table, const struct gt_comparison *comparison,
                          const struct gt_compare_line *line, size_t session)
{
    const struct gt_judgement *judgement = &line->judgement[session];
    double baseline = gt_compare_value(comparison, &line->figure, 0, NULL);
    double value = gt_compare_value(comparison, &line->figure, session, NULL);
    GT_CELLS(table, line->slot ? line->slot->label : NULL, line->name, comparison->session[session].name, line->unit);
    const double numbers[] = {baseline,       value,           value - baseline, percent_of(value - baseline, baseline),
                              judgement->low, judgement->high, judgement->p};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        gt_table_number(table, numbers[i]);
    GT_CELLS(table, gt_compare_verdict(judgement), judgement->baselines, judgement->runs);
}

static void add_significance(struct gt_node *root, const struct gt_comparison *comparison,
                             const struct gt_compare_lines *lines)
{
    struct gt_table *table = gt_report_table(root, "significance", "Significance");
    gt_table_flags(table, GT_ONLY_DATA);
    gt_display_columns(table, "text:name text:figure text:session text:unit number:baseline number:value "
                              "number:difference number:percent number:low number:high number:p text:significant "
                              "integer:baseline_runs integer:runs");
    for (size_t i = 0; i < lines->count; i++)
        for (size_t session = 1; session < comparison->sessions; session++)
            add_judgement(table, comparison, &lines->line[i], session);
}

/* ---- the report ---- */

static int build(struct gt_report *report, const struct gt_comparison *comparison, const struct gt_compare_lines *lines,
                 int *ret_certain)
{
    struct gt_node *root = gt_report_root(report);
    gt_report_layout(report, GT_LAYOUT_ANALYSIS);
    int status = add_original(root, comparison);
    add_unmatched(root, "added_blocks", "Added Blocks", comparison, false);
    add_unmatched(root, "removed_blocks", "Removed Blocks", comparison, true);
    status |= add_differences(root, comparison);
    status |= add_energy(root, comparison);
    add_failed(root, comparison);
    add_disturbed(root, comparison);
    add_summary(root, comparison, lines);
    add_significance(root, comparison, lines);
    *ret_certain = gt_compare_forest(gt_report_page(report), comparison, lines);
    if (comparison->options->page)
        status |= gt_compare_curves(gt_report_page(report), comparison);
    gt_node_flags(gt_report_text(root, "statistic", "Statistic", comparison->statistic), GT_ONLY_DATA);
    gt_node_flags(gt_report_text(root, "baseline", "Baseline", comparison->session[0].name), GT_ONLY_DATA);
    return status ? -ENOMEM : 0;
}

int gt_compare_report(struct gt_report **ret, const struct gt_compare_options *options, struct gt_error *error)
{
    struct gt_comparison comparison;
    struct gt_compare_lines lines = {0};
    struct gt_report *report = NULL;
    int certain = -1;
    int status = gt_comparison_open(&comparison, options, error);
    if (status == 0)
        status = gt_report_new(&report, "comparison_results", error);
    if (status >= 0 && (gt_compare_lines(&lines, &comparison) < 0 || build(report, &comparison, &lines, &certain) < 0 ||
                        gt_report_failed(report)))
        status = gt_error_system(error, ENOMEM, "comparison");
    if (status >= 0)
        status = gt_compare_judge(&comparison, gt_report_root(report), error);
    if (status >= 0)
        gt_compare_verdict_first(report, &comparison, &lines, certain);
    gt_compare_lines_release(&lines);
    gt_comparison_close(&comparison);
    if (status < 0)
        gt_report_free(report);
    else
        *ret = report;
    return status;
}
