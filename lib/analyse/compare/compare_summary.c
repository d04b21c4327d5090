/* What a reader wants first: the sessions beside each other, whole and block by block, the longest block first. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyse/compare/compare_parts.h"

static void add_title(struct gt_node *table, const struct gt_comparison *comparison, const struct gt_compare_line *line)
{
    char title[64];
    bool is_percent = !strcmp(line->shown_unit, "percent");
    bool is_estimate = !strcmp(line->unit, "joules") && gt_compare_is_estimated(comparison);
    snprintf(title, sizeof title, "%s (%s%s)", line->title, is_percent ? "%" : line->shown_unit,
             is_estimate ? ", estimated" : "");
    gt_table_text(table, title);
}

static double percent_of(double difference, double baseline)
{
    return baseline != 0 ? difference / fabs(baseline) * 100 : NAN;
}

static void add_row(struct gt_node *table, const struct gt_comparison *comparison, const struct gt_compare_line *line)
{
    double baseline = gt_compare_value(comparison, &line->figure, 0, NULL);
    gt_table_text(table, line->slot ? line->slot->label : "whole job");
    add_title(table, comparison, line);
    for (size_t i = 0; i < comparison->sessions; i++)
        gt_table_number(table, gt_compare_value(comparison, &line->figure, i, NULL) * line->shown);
    for (size_t i = 1; i < comparison->sessions; i++) {
        const struct gt_judgement *judgement = &line->judgement[i];
        double value = gt_compare_value(comparison, &line->figure, i, NULL);
        gt_table_number(table, percent_of(value - baseline, baseline));
        gt_table_number(table, percent_of(judgement->low, baseline));
        gt_table_number(table, percent_of(judgement->high, baseline));
        gt_table_text(table, gt_compare_verdict(judgement));
    }
}

static void add_columns(struct gt_node *table, const struct gt_comparison *comparison)
{
    static const struct {
        const char *title, *unit;
    } columns[] = {{"Change", "%"}, {"Low", "%"}, {"High", "%"}, {"Significant", NULL}};
    char title[128];
    gt_table_column(table, "name", "Block", GT_CELL_TEXT, NULL);
    gt_table_column(table, "measurement", "Measurement", GT_CELL_TEXT, NULL);
    for (size_t i = 0; i < comparison->sessions; i++)
        gt_table_column(table, comparison->session[i].name, comparison->session[i].name, GT_CELL_NUMBER, NULL);
    for (size_t i = 1; i < comparison->sessions; i++)
        for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
            snprintf(title, sizeof title, comparison->sessions == 2 ? "%s" : "%s of %s", columns[k].title,
                     comparison->session[i].name);
            gt_table_column(table, title, title, columns[k].unit ? GT_CELL_NUMBER : GT_CELL_TEXT, columns[k].unit);
        }
}

void gt_compare_summary(struct gt_node *root, const struct gt_comparison *comparison,
                        const struct gt_compare_lines *lines, unsigned flags)
{
    struct gt_node *table = gt_report_table(root, "summary", "Summary");
    add_columns(table, comparison);
    for (size_t i = 0; i < lines->count; i++)
        add_row(table, comparison, &lines->line[i]);
    gt_node_flags(table, flags | GT_BRIEF);
}

static void add_judgement(struct gt_node *table, const struct gt_comparison *comparison,
                          const struct gt_compare_line *line, size_t session)
{
    const struct gt_judgement *judgement = &line->judgement[session];
    double baseline = gt_compare_value(comparison, &line->figure, 0, NULL);
    double value = gt_compare_value(comparison, &line->figure, session, NULL);
    gt_table_text(table, line->slot ? line->slot->label : NULL);
    gt_table_text(table, line->name);
    gt_table_text(table, comparison->session[session].name);
    gt_table_text(table, line->unit);
    const double numbers[] = {baseline,       value,           value - baseline, percent_of(value - baseline, baseline),
                              judgement->low, judgement->high, judgement->p};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        gt_table_number(table, numbers[i]);
    gt_table_text(table, gt_compare_verdict(judgement));
    gt_table_integer(table, (int64_t)judgement->baselines);
    gt_table_integer(table, (int64_t)judgement->runs);
}

void gt_compare_significance(struct gt_node *root, const struct gt_comparison *comparison,
                             const struct gt_compare_lines *lines)
{
    static const char *const texts[] = {"name", "figure", "session", "unit"};
    static const char *const numbers[] = {"baseline", "value", "difference", "percent", "low", "high", "p"};
    struct gt_node *table = gt_report_table(root, "significance", "Significance");
    gt_node_flags(table, GT_ONLY_DATA);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        gt_table_column(table, texts[i], texts[i], GT_CELL_TEXT, NULL);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        gt_table_column(table, numbers[i], numbers[i], GT_CELL_NUMBER, NULL);
    gt_table_column(table, "significant", "significant", GT_CELL_TEXT, NULL);
    gt_table_column(table, "baseline_runs", "baseline_runs", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "runs", "runs", GT_CELL_INTEGER, NULL);
    for (size_t i = 0; i < lines->count; i++)
        for (size_t session = 1; session < comparison->sessions; session++)
            add_judgement(table, comparison, &lines->line[i], session);
}
