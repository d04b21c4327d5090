#include "analyse/compare/compare.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/course.h"
#include "analyse/blocks/results.h"
#include "analyse/display.h"
#include "base/number.h"
#include "report/brief.h"
#include "schema/human.h"
#include "store/store.h"

/* ---- rows of sessions, as the original has them ---- */

struct row {
    const char *key, *title;
    double factor; /* that people see the numbers multiplied with */
    unsigned flags;
};

static int compare_entries(const void *a, const void *b)
{
    const struct gt_session_value *x = a, *y = b;
    return GT_ORDER_BY(isnan(x->value) - isnan(y->value), GT_ORDER(x->value, y->value),
                       GT_ORDER(x->session, y->session));
}

/* The sessions' values, ascending, and then those that have none. */
static void add_row(struct gt_node *parent, const struct gt_comparison *comparison, const struct gt_figure *figure,
                    const struct row *about)
{
    struct gt_node *row = gt_report_section(parent, about->key, about->title);
    struct gt_figure original = *figure;
    original.as_original = true;
    struct gt_session_value *entry = comparison->order;
    for (size_t i = 0; i < comparison->sessions; i++)
        entry[i] = (struct gt_session_value){gt_compare_value(comparison, &original, i), i};
    qsort(entry, comparison->sessions, sizeof *entry, compare_entries);
    gt_node_flags(row, GT_ROW | about->flags);
    for (size_t i = 0; i < comparison->sessions; i++) {
        const char *name = comparison->session[entry[i].session].name;
        double measured = gt_compare_value(comparison, figure, entry[i].session);
        bool is_absent = isnan(measured) && entry[i].value == 0;
        struct gt_node *number = gt_report_number(row, name, name, is_absent ? 0 : measured, NULL);
        gt_node_flags(number, is_absent ? GT_NO_DEVICE : 0);
        gt_node_display(number, about->factor, NULL);
    }
}

static void add_block_values(struct gt_node *parent, const struct gt_comparison *comparison, struct gt_figure figure,
                             double factor)
{
    for (size_t i = 0; i < comparison->slots; i++) {
        figure.slot = &comparison->slot[i];
        add_row(parent, comparison, &figure, &(struct row){figure.slot->label, figure.slot->label, factor, 0});
    }
}

/* Columns in the units of the first run, in which the sessions are compared. */
struct units {
    struct gt_machine machine;
    struct gt_columns columns;
};

static void read_units(struct units *units, const struct gt_comparison *comparison)
{
    const json_t *results = comparison->run[0].results;
    const char *ram = gt_results_static(results, "ram_unit"), *gpu_ram = gt_results_static(results, "gpu_ram_unit");
    snprintf(units->machine.ram_unit, sizeof units->machine.ram_unit, "%s", ram ? ram : "bytes");
    snprintf(units->machine.gpu_ram_unit, sizeof units->machine.gpu_ram_unit, "%s", gpu_ram ? gpu_ram : "bytes");
    gt_store_columns(&units->columns, &units->machine);
}

/* A column in the job and in the blocks. Those of the original are in its units; people see ours in them, too, in
 * text only where no table of differences has them. */
static void add_column(struct gt_node *overall, struct gt_node *usage, const struct gt_comparison *comparison,
                       const char *name, const struct units *units)
{
    struct gt_display_unit display = gt_display_unit_as(&units->columns, name, &units->machine);
    int index = gt_store_column_find(&units->columns, name);
    bool is_original = index >= 0 && units->columns.column[index].is_original;
    const struct gt_figure figure = {.keys = {"overall", name, comparison->statistic}};
    const struct gt_figure of_block = {.keys = {"resource_usage", name, comparison->statistic}};
    char title[128];
    gt_results_title(title, sizeof title, display.label);
    unsigned flags = !is_original && comparison->sessions > 1 ? GT_ONLY_DATA : 0;
    add_row(overall, comparison, &figure, &(struct row){name, title, display.factor, flags});
    if (!comparison->slots)
        return;
    struct gt_node *blocks = gt_report_section(usage, name, title);
    gt_node_flags(blocks, flags);
    add_block_values(blocks, comparison, of_block, display.factor);
}

/* The original's text. On pages the tables of differences hold the same; in text they hold what is ours. */
static void add_original(struct gt_node *root, const struct gt_comparison *comparison, const struct units *units)
{
    unsigned hidden = comparison->sessions > 1 ? GT_NOT_ON_PAGE : 0;
    struct gt_node *overall = gt_report_section(root, "overall_resource_usage", "Overall Resource Usage");
    struct gt_node *usage = gt_report_section(root, "code_block_resource_usage", "Code Block Resource Usage");
    struct gt_node *time = gt_report_section(root, "code_block_compute_time", "Code Block Compute Time");
    gt_node_flags(overall, hidden);
    gt_node_flags(usage, hidden);
    gt_node_flags(time, hidden);
    const char *name;
    json_t *value;
    gt_json_foreach_member (gt_compare_measurements(comparison, "overall"), name, value) {
        add_column(overall, usage, comparison, name, units);
    }
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

static double percent_of(double difference, double baseline)
{
    return baseline != 0 ? difference / fabs(baseline) * 100 : NAN;
}

static void add_difference(struct gt_table *table, const struct gt_comparison *comparison,
                           const struct gt_figure *figure, const struct measurement *measurement)
{
    double baseline = gt_compare_value(comparison, figure, 0);
    for (size_t i = 1; i < comparison->sessions; i++) {
        struct gt_compared own = gt_compare_session(comparison, figure, i);
        if (isnan(own.value) || isnan(baseline))
            continue;
        if (figure->slot)
            gt_table_text(table, figure->slot->label);
        GT_CELLS(table, measurement->name, measurement->label, measurement->factor, measurement->display_unit,
                 measurement->unit, comparison->session[i].name, baseline);
        GT_CELLS(table, own.value, own.value - baseline, percent_of(own.value - baseline, baseline), own.low, own.high,
                 own.runs);
    }
}

/* In results: base units, but for the original's columns. */
static void add_column_difference(struct gt_table *table, const struct gt_comparison *comparison,
                                  struct gt_figure figure, const char *column, const struct units *units)
{
    struct gt_display_unit display = gt_display_unit_as(&units->columns, column, &units->machine);
    int index = gt_store_column_find(&units->columns, column);
    const char *unit = index < 0 ? "seconds" : gt_store_column_unit(&units->columns.column[index], &units->machine);
    add_difference(
        table, comparison, &figure,
        &(struct measurement){column, display.label, display.factor, *display.unit ? display.unit : unit, unit});
}

static void add_differences(struct gt_node *root, const struct gt_comparison *comparison, const struct units *units)
{
    struct gt_table *overall = add_differences_table(
        root, "overall_differences", "Overall Differences: Means of Samples, Peaks, Time", false, GT_COLUMN_ONLY_DATA);
    struct gt_table *blocks = add_differences_table(root, "code_block_differences", "Code Block Differences", true,
                                                    GT_COLUMN_ONLY_DATA);
    const char *const kinds[][2] = {{"overall", comparison->statistic}, {"peaks", NULL}};
    const char *name;
    json_t *value;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        gt_json_foreach_member (gt_compare_measurements(comparison, kinds[i][0]), name, value) {
            struct gt_figure figure = {.keys = {kinds[i][0], name, kinds[i][1]}};
            add_column_difference(overall, comparison, figure, name, units);
        }
    add_column_difference(overall, comparison, (struct gt_figure){.keys = {"duration"}}, "duration", units);
    for (size_t i = 0; i < comparison->slots; i++) {
        const struct gt_slot *slot = &comparison->slot[i];
        struct gt_figure time = {.slot = slot, .keys = {"compute_time", comparison->statistic}};
        add_column_difference(blocks, comparison, time, "compute_time", units);
        gt_json_foreach_member (gt_compare_measurements(comparison, "overall"), name, value) {
            struct gt_figure figure = {.slot = slot, .keys = {"resource_usage", name, comparison->statistic}};
            add_column_difference(blocks, comparison, figure, name, units);
        }
    }
    gt_table_flags(overall, gt_table_rows(overall) ? GT_BRIEF : GT_ONLY_DATA);
    gt_table_flags(blocks, gt_table_rows(blocks) ? GT_BRIEF | GT_NOT_IN_TEXT : GT_ONLY_DATA);
}

/* ---- blocks that only one side has ---- */

static bool has_block(const struct gt_comparison *comparison, const struct gt_slot *slot, size_t session)
{
    for (size_t i = 0; i < comparison->runs; i++)
        if (comparison->run[i].session == session && slot->block[i])
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
        if (!isnan(gt_compare_value(comparison, figure, i)))
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

static void add_energy_difference(struct gt_table *table, const struct gt_comparison *comparison,
                                  const struct gt_figure *figure, const char *name, const char *unit)
{
    add_difference(table, comparison, figure, &(struct measurement){name, name, 1, unit, unit});
}

static void add_job_energy(struct gt_node *root, const struct gt_comparison *comparison)
{
    struct gt_node *rows = gt_report_section(
        root, "energy", gt_compare_is_estimated(comparison) ? "Energy (joules, estimated)" : "Energy (joules)");
    struct gt_table *differences = add_differences_table(root, "energy_differences", "Energy Differences", false, 0);
    for (int i = 0; i < DEVICES; i++) {
        struct gt_figure figure = gt_compare_job_energy(i == TOTAL ? NULL : devices[i].key);
        if (!is_known(comparison, &figure))
            continue;
        add_row(rows, comparison, &figure, &(struct row){devices[i].key, devices[i].title, 1, 0});
        add_energy_difference(differences, comparison, &figure, devices[i].key, "joules");
    }
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        struct gt_figure figure = {.keys = {"energy", costs[i].key}};
        if (!is_known(comparison, &figure))
            continue;
        add_row(rows, comparison, &figure, &(struct row){costs[i].key, costs[i].title, 1, 0});
        add_energy_difference(differences, comparison, &figure, costs[i].key, costs[i].unit);
    }
    if (!gt_table_rows(differences))
        gt_table_flags(differences, GT_ONLY_DATA);
}

static void add_block_energy(struct gt_node *root, const struct gt_comparison *comparison)
{
    struct gt_node *rows = gt_report_section(
        root, "code_block_energy",
        gt_compare_is_estimated(comparison) ? "Code Block Energy (joules, estimated)" : "Code Block Energy (joules)");
    struct gt_table *differences = add_differences_table(root, "code_block_energy_differences",
                                                         "Code Block Energy Differences", true, 0);
    for (size_t i = 0; i < comparison->slots; i++) {
        const struct gt_slot *slot = &comparison->slot[i];
        struct gt_figure total = gt_compare_block_energy(slot, devices[TOTAL].key);
        if (!is_known(comparison, &total))
            continue;
        add_row(rows, comparison, &total, &(struct row){slot->label, slot->label, 1, 0});
        for (int k = 0; k < DEVICES; k++) {
            struct gt_figure figure = gt_compare_block_energy(slot, devices[k].key);
            add_energy_difference(differences, comparison, &figure, devices[k].key, "joules");
        }
    }
    gt_table_flags(differences, GT_ONLY_DATA);
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
            if (comparison->run[run].session != i || isnan(comparison->run[run].others))
                continue;
            disturbed++;
            most = fmax(most, comparison->run[run].others);
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
            gt_table_flags(table, GT_PAGE_FIRST | GT_BRIEF);
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

static void add_energy(struct gt_node *root, const struct gt_comparison *comparison)
{
    struct gt_figure all = gt_compare_job_energy(NULL);
    tell_partial(comparison, &all);
    if (!is_known(comparison, &all))
        return;
    add_job_energy(root, comparison);
    if (gt_compare_is_estimated(comparison))
        add_certainty(root, comparison);
    if (comparison->slots)
        add_block_energy(root, comparison);
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

static void add_line(struct gt_table *table, const struct gt_comparison *comparison, const struct gt_compare_line *line)
{
    const struct gt_compared *baseline = &line->session[0];
    gt_table_text(table, line->slot ? line->slot->label : "whole job");
    add_line_title(table, comparison, line);
    gt_table_text(table, line->display_unit);
    for (size_t i = 0; i < comparison->sessions; i++)
        gt_table_number(table, line->session[i].value * line->display_factor);
    for (size_t i = 1; i < comparison->sessions; i++) {
        const struct gt_compared *own = &line->session[i];
        GT_CELLS(table, percent_of(own->value - baseline->value, baseline->value),
                 percent_of(own->low, baseline->value), percent_of(own->high, baseline->value),
                 gt_compare_verdict(line, i));
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

static void add_significance(struct gt_node *root, const struct gt_comparison *comparison,
                             const struct gt_compare_lines *lines)
{
    struct gt_table *table = gt_report_table(root, "significance", "Significance");
    gt_table_flags(table, GT_ONLY_DATA);
    gt_display_columns(table, "text:name text:figure text:session text:unit number:baseline number:value "
                              "number:difference number:percent number:low number:high number:p text:significant "
                              "integer:baseline_runs integer:runs");
    for (size_t i = 0; i < lines->count; i++)
        for (size_t session = 1; session < comparison->sessions; session++) {
            const struct gt_compare_line *line = &lines->line[i];
            const struct gt_compared *baseline = &line->session[0], *own = &line->session[session];
            double difference = own->value - baseline->value;
            GT_CELLS(table, line->slot ? line->slot->label : NULL, line->name, comparison->session[session].name,
                     line->unit, baseline->value, own->value, difference, percent_of(difference, baseline->value));
            GT_CELLS(table, own->low, own->high, own->p, gt_compare_verdict(line, session), baseline->runs, own->runs);
        }
}

/* ---- the page: a verdict, a forest plot of changes, and curves of the sessions on top of each other ---- */

enum { ROWS = 40 };

/* ---- the forest plot: what changed for certain first, then by how much ---- */

static bool is_significant(const struct gt_compare_line *line, size_t session)
{
    const char *verdict = gt_compare_verdict(line, session);
    return verdict && !strcmp(verdict, "yes");
}

struct change {
    const struct gt_compare_line *line;
    size_t session;
    double low, middle, high; /* percent of the baseline */
    bool is_certain, is_judged;
};

static int by_weight(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(y->is_certain, x->is_certain), GT_ORDER(fabs(y->middle), fabs(x->middle)));
}

static bool find_change(const struct gt_compare_line *line, size_t session, struct change *ret)
{
    const struct gt_compared *own = &line->session[session];
    double baseline = line->session[0].value, share = 100 / fabs(baseline);
    *ret = (struct change){line,
                           session,
                           own->low * share,
                           (own->value - baseline) * share,
                           own->high * share,
                           is_significant(line, session),
                           isfinite(own->p)};
    return baseline != 0 && isfinite(ret->middle);
}

static void add_change(struct gt_node *series, const struct gt_comparison *comparison, const struct change *change)
{
    char title[200];
    const char *name = change->line->slot ? change->line->slot->label : "whole job";
    if (comparison->sessions > 2)
        snprintf(title, sizeof title, "%s, %s, %s", name, change->line->title,
                 comparison->session[change->session].name);
    else
        snprintf(title, sizeof title, "%s, %s", name, change->line->title);
    int row = gt_series_line(series, change->line->name, title);
    gt_series_point(series, row, change->low, 0);
    gt_series_point(series, row, change->middle, change->is_certain);
    gt_series_point(series, row, change->high, 0);
}

/* Returns how many figures differ for certain; -1: there are too few runs to judge. */
static int add_forest(struct gt_node *page, const struct gt_comparison *comparison,
                      const struct gt_compare_lines *lines)
{
    bool is_judged = false, has_interval = false;
    int certain = 0;
    size_t count = 0, most = lines->count * comparison->sessions;
    struct change *change = calloc(most + 1, sizeof *change);
    for (size_t i = 0; change && i < lines->count; i++)
        for (size_t session = 1; session < comparison->sessions; session++)
            count += find_change(&lines->line[i], session, &change[count]);
    for (size_t i = 0; i < count; i++) {
        certain += change[i].is_certain;
        is_judged |= change[i].is_judged;
        has_interval |= isfinite(change[i].low) && isfinite(change[i].high);
    }
    if (count) {
        const char *title = has_interval ? "Change against the baseline, with its 95 % interval"
                                         : "Change against the baseline";
        struct gt_node *series = gt_report_series(page, "changes", title, "percent", "",
                                                  GT_ONLY_PEOPLE | GT_FOREST | GT_PAGE_FIRST);
        qsort(change, count, sizeof *change, by_weight);
        for (size_t i = 0; i < count && i < ROWS; i++)
            add_change(series, comparison, &change[i]);
    }
    free(change);
    return is_judged ? certain : -1;
}

/* ---- curves ---- */

/* Results are no recordings, and have no course. */
static int read_course(struct gt_sample_course *ret, const char *path)
{
    struct gt_recording *recording = NULL;
    const struct gt_sample *sample;
    *ret = (struct gt_sample_course){.is_fine = true};
    int status = gt_recording_open(&recording, path, NULL);
    while (status >= 0 && (status = gt_recording_next(recording, &sample, NULL)) > 0)
        status = gt_sample_course_add(ret, sample);
    gt_recording_close(recording);
    if (status < 0)
        gt_sample_course_release(ret);
    return status == -ENOMEM ? status : 0;
}

static void add_curve(struct gt_node *series, const char *name, const struct gt_sample_course *of,
                      enum gt_metric_id metric, double unit)
{
    struct gt_course *course = of->course;
    int line = gt_sample_course_find(of, GT_SCOPE_COMBINED, metric, -1);
    if (line < 0 || course->line[line].known < 2)
        return;
    int index = gt_series_line(series, name, name);
    size_t step = course->spans / GT_COURSE_SPANS + 1;
    for (size_t from = 0; from < course->spans; from += step) {
        struct gt_course_span span = gt_course_over(course, (size_t)line, from, from + step);
        if (span.count)
            gt_series_point(series, index, ((double)from + 0.5) * gt_course_span_length(course), span.most / unit);
    }
    gt_series_course(series, index, course, line, unit);
}

/* The path of the first run of a session. */
static const char *path_of(const struct gt_comparison *comparison, size_t session)
{
    const char *const *given = comparison->options->sessions;
    size_t length = strlen(comparison->session[session].name);
    for (; given && *given; given++)
        if (!strncmp(*given, comparison->session[session].name, length) && (*given)[length] == '=')
            return *given + length + 1;
    return NULL;
}

/* "before", or of several runs "before (run1.sqlite, 1 of 4 runs)". */
static void write_curve_name(const struct gt_session *session, const char *path, char *text, size_t size)
{
    const char *slash = strrchr(path, '/');
    snprintf(text, size, session->runs > 1 ? "%s (%s, 1 of %zu runs)" : "%s", session->name, slash ? slash + 1 : path,
             session->runs);
}

/* Of the first run of each session that is a recording, from its begin on. */
static int add_curves(struct gt_node *page, const struct gt_comparison *comparison)
{
    struct gt_node *memory = NULL, *cpu = NULL;
    int status = 0;
    for (size_t i = 0; i < comparison->sessions && status == 0; i++) {
        const char *path = path_of(comparison, i);
        struct gt_sample_course course = {0};
        char name[400];
        status = path ? read_course(&course, path) : 0;
        if (!course.course)
            continue;
        if (!memory) {
            memory = gt_report_series(page, "memory_over_time", "Memory", "seconds", "gigabytes",
                                      GT_ONLY_PEOPLE | GT_PEAKS | GT_ALIKE);
            cpu = gt_report_series(page, "cpu_over_time", "CPU in use", "seconds", "cores", GT_ONLY_PEOPLE | GT_ALIKE);
        }
        write_curve_name(&comparison->session[i], path, name, sizeof name);
        add_curve(memory, name, &course, GT_RAM, 1e9);
        add_curve(cpu, name, &course, GT_CPU_UTILIZATION, 1);
        gt_sample_course_release(&course);
    }
    return status;
}

/* ---- the verdict ---- */

static void add_broken_rules(struct gt_brief *brief, const struct gt_node *rules, size_t *ret_broken)
{
    struct gt_table *table = rules ? gt_node_table(rules) : NULL;
    struct gt_buffer rule = {0}, reason = {0};
    for (size_t row = 0; table && row < gt_table_rows(table); row++) {
        const char *why = gt_table_cell_text(table, row, table->columns - 1, &reason);
        if (!why || !*why)
            continue;
        gt_brief_warning(brief, NULL, NULL, "breaks the rule %s: %s", gt_table_cell_text(table, row, 0, &rule), why);
        ++*ret_broken;
    }
    gt_buffer_release(&rule);
    gt_buffer_release(&reason);
}

static void put_value(struct gt_buffer *out, const struct gt_compare_line *line, double value)
{
    if (isnan(value))
        gt_buffer_text(out, "n/a");
    else if (!gt_human_amount(out, value, line->unit))
        gt_buffer_printf(out, "%.*f%s", fabs(value) < 10 ? 1 : 0, value, strcmp(line->unit, "percent") ? "" : " %");
}

/* "-17 % significant" */
static void put_change(struct gt_buffer *out, const struct gt_compare_line *line, size_t session)
{
    double baseline = line->session[0].value;
    double percent = (line->session[session].value - baseline) / fabs(baseline) * 100;
    if (isfinite(percent))
        gt_buffer_printf(out, "%+.*f %%%s", fabs(percent) < 9.95 ? 1 : 0, percent,
                         is_significant(line, session) ? " significant" : "");
    else
        gt_buffer_text(out, "n/a");
}

/* With two sessions the value is that of the second; with more the words list all. */
static void add_text_line(struct gt_brief *brief, const char *title, const struct gt_comparison *comparison,
                          const struct gt_compare_line *line)
{
    struct gt_buffer value = {0}, words = {0};
    if (comparison->sessions == 2) {
        put_value(&value, line, line->session[1].value);
        put_change(&words, line, 1);
        gt_buffer_text(&words, " (was ");
        put_value(&words, line, line->session[0].value);
        gt_buffer_text(&words, ")");
    }
    for (size_t i = 0; comparison->sessions != 2 && i < comparison->sessions; i++) {
        gt_buffer_printf(&words, "%s%s ", i ? ", " : "", comparison->session[i].name);
        put_value(&words, line, line->session[i].value);
        if (i) {
            gt_buffer_text(&words, " (");
            put_change(&words, line, i);
            gt_buffer_text(&words, ")");
        }
    }
    gt_brief_text_line(brief, title, value.data, "%s", words.data ? words.data : "");
    gt_buffer_release(&value);
    gt_buffer_release(&words);
}

/* The whole job by all its lines, the longest blocks by time and memory. */
static void add_text_lines(struct gt_brief *brief, const struct gt_comparison *comparison,
                           const struct gt_compare_lines *lines)
{
    enum { BLOCKS = 6 };
    const struct gt_slot *slot = NULL;
    size_t blocks = 0;
    for (size_t i = 0; i < lines->count; i++) {
        const struct gt_compare_line *line = &lines->line[i];
        char title[160];
        blocks += line->slot && line->slot != slot;
        slot = line->slot;
        if (blocks > BLOCKS)
            continue;
        bool is_time = !strcmp(line->title, "Time"), is_memory = !strcmp(line->title, "Max RAM");
        if (slot && !is_time && !is_memory)
            continue;
        snprintf(title, sizeof title, "%s%s%s", slot ? slot->label : line->title, slot ? " " : "",
                 !slot     ? ""
                 : is_time ? "time"
                           : "memory");
        add_text_line(brief, title, comparison, line);
    }
    if (blocks > BLOCKS)
        gt_brief_text_line(brief, "and", NULL, "%zu more code blocks", blocks - BLOCKS);
}

/* The rules are those of the report's table. */
static void add_verdict(struct gt_report *report, const struct gt_comparison *comparison,
                        const struct gt_compare_lines *lines, int certain)
{
    char title[300] = "", outcome[160];
    const struct gt_node *rules = gt_node_find(&report->root, "rules");
    for (size_t i = 1; i < comparison->sessions; i++)
        snprintf(title + strlen(title), sizeof title - strlen(title), "%s%s", i > 1 ? ", " : "",
                 comparison->session[i].name);
    snprintf(title + strlen(title), sizeof title - strlen(title), " against %s", comparison->session[0].name);
    size_t broken = 0;
    add_broken_rules(NULL, rules, &broken);
    int length = certain < 0 ? snprintf(outcome, sizeof outcome, "too few runs to judge")
                             : snprintf(outcome, sizeof outcome, "%d significant difference%s", certain,
                                        certain == 1 ? "" : "s");
    if (rules && broken)
        snprintf(outcome + length, sizeof outcome - (size_t)length, "; fails %zu rule%s", broken,
                 broken == 1 ? "" : "s");
    else if (rules)
        snprintf(outcome + length, sizeof outcome - (size_t)length, "; all rules pass");
    struct gt_brief *brief = gt_brief_add(&report->page, title, outcome, broken > 0);
    if (brief)
        brief->is_verdict = true;
    add_broken_rules(brief, rules, &broken);
    add_text_lines(brief, comparison, lines);
    gt_brief_more(brief, "all values: --format text, or -o compare.html");
}

/* ---- the report ---- */

static int build(struct gt_report *report, const struct gt_comparison *comparison, const struct gt_compare_lines *lines,
                 int *ret_certain)
{
    struct gt_node *root = &report->root, *page = &report->page;
    struct units *units = calloc(1, sizeof *units);
    if (!units)
        return -ENOMEM;
    read_units(units, comparison);
    report->layout = GT_LAYOUT_ANALYSIS;
    add_original(root, comparison, units);
    add_unmatched(root, "added_blocks", "Added Blocks", comparison, false);
    add_unmatched(root, "removed_blocks", "Removed Blocks", comparison, true);
    add_differences(root, comparison, units);
    add_energy(root, comparison);
    add_failed(root, comparison);
    add_disturbed(root, comparison);
    add_summary(root, comparison, lines);
    add_significance(root, comparison, lines);
    *ret_certain = add_forest(page, comparison, lines);
    int status = comparison->options->page ? add_curves(page, comparison) : 0;
    gt_node_flags(gt_report_text(root, "statistic", "Statistic", comparison->statistic), GT_ONLY_DATA);
    gt_node_flags(gt_report_text(root, "baseline", "Baseline", comparison->session[0].name), GT_ONLY_DATA);
    free(units);
    return status;
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
        status = gt_compare_judge(&comparison, &report->root, error);
    if (status >= 0)
        add_verdict(report, &comparison, &lines, certain);
    gt_compare_lines_release(&lines);
    gt_comparison_close(&comparison);
    if (status < 0)
        gt_report_free(report);
    else
        *ret = report;
    return status;
}
