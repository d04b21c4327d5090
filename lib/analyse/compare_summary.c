/* What a reader wants first: the sessions beside each other, whole and block by block, the longest block first. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/compare_parts.h"

enum { KEYS = 4 };

/* Where a figure stands in results: in the run, and in a block. */
static const struct measure {
    const char *title, *unit_key, *unit; /* `unit_key` names the unit in "static_data" */
    const char *run[KEYS], *block[KEYS];
} measures[] = {
    {"Time", NULL, "seconds", {"duration"}, {"compute_time", "total"}},
    {"CPU time",
     NULL,
     "seconds",
     {"overall_counters", "combined_cpu_time", "total"},
     {"counters", "combined_cpu_time", "total"}},
    {"Mean CPU",
     NULL,
     "%",
     {"overall", "cpu_combined_sum_utilization_percent", "mean"},
     {"resource_usage", "cpu_combined_sum_utilization_percent", "mean"}},
    {"Peak RAM", "ram_unit", NULL, {"peaks", "combined_ram_peak"}, {NULL}},
    /* what samples saw: for the whole job only where a session has no peak */
    {"Max RAM", "ram_unit", NULL, {"overall", "combined_ram", "max"}, {"resource_usage", "combined_ram", "max"}},
    {"Max GPU RAM",
     "gpu_ram_unit",
     NULL,
     {"overall", "combined_gpu_ram", "max"},
     {"resource_usage", "combined_gpu_ram", "max"}},
    {"Mean GPU",
     NULL,
     "%",
     {"overall", "gpu_sum_utilization_percent", "mean"},
     {"resource_usage", "gpu_sum_utilization_percent", "mean"}},
    {"Energy", NULL, "joules", {"energy", "job"}, {"energy", "total", "energy"}},
};

enum { MEASURES = sizeof measures / sizeof *measures, TIME = 0, PEAK_RAM = 3, MAX_RAM };

static struct gt_figure figure_of(const struct measure *measure, const struct gt_slot *slot)
{
    struct gt_figure figure = {.slot = slot};
    memcpy(figure.keys, slot ? measure->block : measure->run, sizeof measure->run);
    return figure;
}

/* Results have 0.0 also for GPUs that are not there: a figure that is 0 in every session says nothing. */
static bool is_worth_a_line(const struct gt_comparison *comparison, const struct gt_figure *figure)
{
    for (size_t i = 0; figure->keys[0] && i < comparison->sessions; i++) {
        double value = gt_compare_value(comparison, figure, i, NULL);
        if (!isnan(value) && value != 0)
            return true;
    }
    return false;
}

static void add_title(struct gt_node *table, const struct gt_comparison *comparison, const struct measure *measure)
{
    const char *unit = measure->unit;
    char title[64];
    if (measure->unit_key)
        unit = json_string_value(
            json_object_get(json_object_get(comparison->run[0], "static_data"), measure->unit_key));
    bool is_estimate = !strcmp(measure->run[0], "energy") && gt_compare_is_estimated(comparison);
    snprintf(title, sizeof title, unit ? "%s (%s%s)" : "%s", measure->title, unit, is_estimate ? ", estimated" : "");
    gt_table_text(table, title);
}

/* Whether the difference is more than the runs differ among themselves; NULL where that is not known. */
static const char *certainty(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t session)
{
    double low, high;
    if (gt_compare_interval(comparison, figure, 0, session, &low, &high) < 0 || isnan(low))
        return NULL;
    return low > 0 || high < 0 ? "yes" : "no";
}

static void add_row(struct gt_node *table, const struct gt_comparison *comparison, const struct measure *measure,
                    const struct gt_slot *slot)
{
    struct gt_figure figure = figure_of(measure, slot);
    if (!is_worth_a_line(comparison, &figure))
        return;
    double baseline = gt_compare_value(comparison, &figure, 0, NULL);
    gt_table_text(table, slot ? slot->label : "whole job");
    add_title(table, comparison, measure);
    for (size_t i = 0; i < comparison->sessions; i++)
        gt_table_number(table, gt_compare_value(comparison, &figure, i, NULL));
    for (size_t i = 1; i < comparison->sessions; i++) {
        double value = gt_compare_value(comparison, &figure, i, NULL);
        gt_table_number(table, baseline != 0 ? (value - baseline) / fabs(baseline) * 100 : NAN);
        gt_table_text(table, certainty(comparison, &figure, i));
    }
}

static bool is_known_to_all(const struct gt_comparison *comparison, const struct measure *measure)
{
    struct gt_figure figure = figure_of(measure, NULL);
    for (size_t i = 0; i < comparison->sessions; i++)
        if (isnan(gt_compare_value(comparison, &figure, i, NULL)))
            return false;
    return true;
}

struct rank {
    double time;
    const struct gt_slot *slot;
};

static int by_time(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    return x->time == y->time ? (x->slot > y->slot) - (x->slot < y->slot) : x->time < y->time ? 1 : -1;
}

static struct rank *rank_slots(const struct gt_comparison *comparison)
{
    struct rank *rank = calloc(comparison->slots + 1, sizeof *rank);
    for (size_t i = 0; rank && i < comparison->slots; i++) {
        struct gt_figure time = figure_of(&measures[TIME], &comparison->slot[i]);
        rank[i].slot = &comparison->slot[i];
        for (size_t j = 0; j < comparison->sessions; j++)
            rank[i].time = fmax(rank[i].time, gt_compare_value(comparison, &time, j, NULL));
    }
    if (rank)
        qsort(rank, comparison->slots, sizeof *rank, by_time);
    return rank;
}

static void add_columns(struct gt_node *table, const struct gt_comparison *comparison)
{
    char title[128];
    gt_table_column(table, "name", "Block", GT_CELL_TEXT, NULL);
    gt_table_column(table, "measurement", "Measurement", GT_CELL_TEXT, NULL);
    for (size_t i = 0; i < comparison->sessions; i++)
        gt_table_column(table, comparison->session[i].name, comparison->session[i].name, GT_CELL_NUMBER, NULL);
    for (size_t i = 1; i < comparison->sessions; i++) {
        bool is_only = comparison->sessions == 2;
        snprintf(title, sizeof title, is_only ? "Change" : "Change of %s", comparison->session[i].name);
        gt_table_column(table, title, title, GT_CELL_NUMBER, "%");
        snprintf(title, sizeof title, is_only ? "Certain" : "Certain of %s", comparison->session[i].name);
        gt_table_column(table, title, title, GT_CELL_TEXT, NULL);
    }
}

int gt_compare_summary(struct gt_node *root, const struct gt_comparison *comparison, unsigned flags)
{
    struct rank *rank = rank_slots(comparison);
    if (!rank)
        return -ENOMEM;
    struct gt_node *table = gt_report_table(root, "summary", "Summary");
    add_columns(table, comparison);
    bool has_peaks = is_known_to_all(comparison, &measures[PEAK_RAM]);
    for (size_t i = 0; i < MEASURES; i++)
        if (i != (has_peaks ? MAX_RAM : PEAK_RAM))
            add_row(table, comparison, &measures[i], NULL);
    for (size_t i = 0; i < comparison->slots; i++)
        for (size_t j = 0; j < MEASURES; j++)
            add_row(table, comparison, &measures[j], rank[i].slot);
    gt_node_flags(table, flags | GT_BRIEF);
    free(rank);
    return 0;
}
