#include "analyse/compare/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/blocks/results.h"
#include "analyse/compare/statistics.h"
#include "base/number.h"
#include "schema/unit.h"

enum { KEYS = 4 };

/* A figure stands in results of the run and of a block under these keys, and rules name it there. */
static const struct measure {
    const char *title, *unit, *unit_key; /* `unit_key` names in "static_data" what people see bytes in */
    bool is_original;                    /* of memory: in that unit in results, too */
    const char *run[KEYS], *run_name;
    const char *block[KEYS], *block_name;
} measures[] = {
/* A statistic of a column of samples. */
#define COLUMN(name, statistic) \
    {"overall", name, statistic}, name "." statistic, {"resource_usage", name, statistic}, name "." statistic
#define COUNTER(name) \
    {"overall_counters", name, "total"}, "counters." name, {"counters", name, "total"}, "counters." name
    {"Time", "seconds", NULL, false, {"duration"}, "duration", {"compute_time", "total"}, "compute_time.total"},
    {"CPU time", "seconds", NULL, false, COUNTER("combined_cpu_time")},
    {"Mean CPU", "percent", NULL, false, COLUMN("cpu_combined_sum_utilization_percent", "mean")},
    {"Peak RAM", "bytes", "ram_unit", false, {"peaks", "combined_ram_peak"}, "combined_ram_peak", {NULL}, NULL},
    /* what samples saw: for the whole job only where a session has no peak */
    {"Max RAM", "bytes", "ram_unit", true, COLUMN("combined_ram", "max")},
    {"Max GPU RAM", "bytes", "gpu_ram_unit", true, COLUMN("combined_gpu_ram", "max")},
    {"Mean GPU", "percent", NULL, false, COLUMN("gpu_sum_utilization_percent", "mean")},
    {"Energy", "joules", NULL, false, {"energy", "job"}, "energy.total", {"energy", "total", "energy"}, "energy.total"},
};

enum { MEASURES = sizeof measures / sizeof *measures, TIME = 0, CPU_TIME, MEAN_CPU, PEAK_RAM, MAX_RAM };

static const char *chosen_unit(const struct gt_comparison *comparison, const struct measure *measure, double *ret_bytes)
{
    const char *unit = measure->unit_key ? gt_results_static(gt_compare_results(comparison, 0), measure->unit_key)
                                         : NULL;
    *ret_bytes = 1;
    return unit && gt_unit_memory(unit, ret_bytes, NULL) >= 0 ? unit : measure->unit;
}

static struct gt_compare_line line_of(const struct gt_comparison *comparison, const struct measure *measure,
                                      const struct gt_slot *slot)
{
    double bytes;
    const char *display_unit = chosen_unit(comparison, measure, &bytes);
    struct gt_compare_line line = {.slot = slot,
                                   .title = measure->title,
                                   .name = slot ? measure->block_name : measure->run_name,
                                   .unit = measure->unit,
                                   .display_unit = display_unit,
                                   .display_factor = 1 / bytes,
                                   .figure = {.slot = slot, .factor = measure->is_original ? bytes : 1}};
    memcpy(line.figure.keys, slot ? measure->block : measure->run, sizeof measure->run);
    return line;
}

/* Short runs have no sample of utilization, and all have their CPU time: the mean of a run is that over its length. */
static void choose_exact(struct gt_compare_line *line, const struct gt_comparison *comparison,
                         const struct measure *measure)
{
    struct gt_figure exact = {
        .keys = {"overall_counters", "combined_cpu_time", "total"}, .factor = 100, .is_rate = true};
    if (line->slot || measure != &measures[MEAN_CPU])
        return;
    for (size_t i = 0; i < comparison->runs; i++)
        if (isnan(gt_compare_run(comparison, &exact, i)))
            return;
    line->figure = exact;
}

static void choose_cpu_time(struct gt_compare_line *line, const struct gt_comparison *comparison,
                            const struct measure *measure)
{
    if (!line->slot || measure != &measures[CPU_TIME])
        return;
    line->figure = gt_compare_block_cpu_time(comparison, line->slot);
    line->is_estimated = gt_compare_cpu_time_is_estimated(comparison, &line->figure);
    if (strcmp(line->figure.keys[0], measure->block[0]) != 0)
        line->name = "cpu_time.total";
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

static void choose(struct gt_compare_lines *lines, const struct gt_comparison *comparison,
                   const struct measure *measure, const struct gt_slot *slot)
{
    struct gt_compare_line line = line_of(comparison, measure, slot);
    choose_exact(&line, comparison, measure);
    choose_cpu_time(&line, comparison, measure);
    if (is_worth_a_line(comparison, &line.figure))
        lines->line[lines->count++] = line;
}

static bool is_known_to_all(const struct gt_comparison *comparison, const struct measure *measure)
{
    struct gt_compare_line line = line_of(comparison, measure, NULL);
    for (size_t i = 0; i < comparison->sessions; i++)
        if (isnan(gt_compare_value(comparison, &line.figure, i, NULL)))
            return false;
    return true;
}

/* ---- blocks, the longest first ---- */

struct rank {
    double time;
    const struct gt_slot *slot;
};

static int by_time(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(y->time, x->time), GT_ORDER(x->slot, y->slot));
}

static struct rank *rank_slots(const struct gt_comparison *comparison)
{
    struct rank *rank = calloc(comparison->slots + 1, sizeof *rank);
    for (size_t i = 0; rank && i < comparison->slots; i++) {
        struct gt_compare_line time = line_of(comparison, &measures[TIME], &comparison->slot[i]);
        rank[i].slot = &comparison->slot[i];
        for (size_t j = 0; j < comparison->sessions; j++)
            rank[i].time = fmax(rank[i].time, gt_compare_value(comparison, &time.figure, j, NULL));
    }
    if (rank)
        qsort(rank, comparison->slots, sizeof *rank, by_time);
    return rank;
}

static int choose_all(struct gt_compare_lines *lines, const struct gt_comparison *comparison)
{
    struct rank *rank = rank_slots(comparison);
    lines->line = calloc((comparison->slots + 1) * MEASURES, sizeof *lines->line);
    if (!rank || !lines->line) {
        free(rank);
        return -ENOMEM;
    }
    bool has_peaks = is_known_to_all(comparison, &measures[PEAK_RAM]);
    for (size_t i = 0; i < MEASURES; i++)
        if (i != (has_peaks ? MAX_RAM : PEAK_RAM))
            choose(lines, comparison, &measures[i], NULL);
    for (size_t i = 0; i < comparison->slots; i++)
        for (size_t j = 0; j < MEASURES; j++)
            choose(lines, comparison, &measures[j], rank[i].slot);
    free(rank);
    return 0;
}

/* ---- what differs ---- */

static size_t runs_of(const struct gt_comparison *comparison, size_t session)
{
    return comparison->session[session].runs;
}

/* The values of a session, in the order of its runs; NaN where a run lacks the figure. */
static void take_values(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t session,
                        double *ret)
{
    for (size_t i = 0; i < comparison->runs; i++)
        if (comparison->session_of_run[i] == session)
            *ret++ = gt_compare_run(comparison, figure, i);
}

static int judge_line(struct gt_compare_line *line, const struct gt_comparison *comparison, size_t session)
{
    struct gt_judgement *judgement = &line->judgement[session];
    gt_compare_value(comparison, &line->figure, 0, &judgement->baselines);
    gt_compare_value(comparison, &line->figure, session, &judgement->runs);
    return gt_compare_interval(comparison, &line->figure, 0, session, &judgement->low, &judgement->high);
}

/* All lines of one session against the baseline are tested together. */
static int judge_session(struct gt_compare_lines *lines, const struct gt_comparison *comparison, size_t session)
{
    size_t first = runs_of(comparison, 0), runs = first + runs_of(comparison, session);
    double *value = calloc(lines->count * runs + 1, sizeof *value), *p = calloc(lines->count + 1, sizeof *p);
    int status = value && p ? 0 : -ENOMEM;
    for (size_t i = 0; i < lines->count && status == 0; i++) {
        take_values(comparison, &lines->line[i].figure, 0, value + i * runs);
        take_values(comparison, &lines->line[i].figure, session, value + i * runs + first);
        status = judge_line(&lines->line[i], comparison, session);
    }
    if (status == 0)
        status = gt_permutation_test(value, lines->count, first, runs, p);
    for (size_t i = 0; i < lines->count && status == 0; i++)
        lines->line[i].judgement[session].p = p[i];
    free(value);
    free(p);
    return status;
}

int gt_compare_lines(struct gt_compare_lines *ret, const struct gt_comparison *comparison)
{
    *ret = (struct gt_compare_lines){0};
    int status = choose_all(ret, comparison);
    for (size_t i = 0; i < ret->count && status == 0; i++)
        if (!(ret->line[i].judgement = calloc(comparison->sessions, sizeof *ret->line[i].judgement)))
            status = -ENOMEM;
    for (size_t i = 1; i < comparison->sessions && status == 0; i++)
        status = judge_session(ret, comparison, i);
    if (status < 0)
        gt_compare_lines_release(ret);
    return status;
}

void gt_compare_lines_release(struct gt_compare_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        free(lines->line[i].judgement);
    free(lines->line);
    *lines = (struct gt_compare_lines){0};
}

const char *gt_compare_verdict(const struct gt_judgement *judgement)
{
    if (!judgement->runs || !judgement->baselines)
        return NULL;
    if (isnan(judgement->p))
        return "too few runs";
    return judgement->p <= 0.05 ? "yes" : "no";
}
