/* Ranks as rows: tables of them, the spread of their values, and which differ from the others. */
#include "analyse/job/job_analysis.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/display.h"
#include "base/number.h"

void gt_job_name_members(const struct gt_job *job, struct gt_rows *rows)
{
    gt_rows_join(rows, &job->rows, "member", "rank node job");
}

const char **gt_job_add_texts(struct gt_rows *rows, const char *name)
{
    const char **texts = gt_query_memory(rows->query, rows->count, sizeof *texts);
    uint32_t *key = gt_rows_add_keys(rows, name, texts);
    for (size_t i = 0; i < rows->count; i++) {
        key[i] = (uint32_t)i;
        texts[i] = NULL;
    }
    return texts;
}

const char *gt_job_keep_text(const struct gt_job *job, struct gt_buffer *text)
{
    char *copy = text->length ? gt_query_memory(job->query, text->length + 1, 1) : NULL;
    if (copy)
        memcpy(copy, text->data, text->length + 1);
    gt_buffer_release(text);
    return copy;
}

/* ---- Tables ---- */

static void put_cell(struct gt_table *table, const struct gt_rows_column *column, size_t row)
{
    if (gt_rows_is_missing(column, row))
        gt_table_missing(table);
    else if (column->type == GT_REAL)
        gt_table_number(table, column->real[row]);
    else if (column->words)
        gt_table_text(table, column->words[column->key[row]]);
    else
        gt_table_integer(table, column->type == GT_KEY ? column->key[row] : column->whole[row]);
}

/* Returns the column of the rows for a column of a table; NULL: the job has no such column. */
static const struct gt_rows_column *column_of(const struct gt_job *job, const struct gt_rows *rows,
                                              const struct gt_job_column *column)
{
    const char *name = column->from ? column->from : column->key;
    return job->launches < 2 && !strcmp(column->key, "job") ? NULL : gt_rows_need(rows, __func__, name, strlen(name));
}

void gt_job_put_rows(struct gt_table *table, const struct gt_job *job, const struct gt_rows *rows,
                     const struct gt_job_column *columns)
{
    const struct gt_rows_column *from[GT_COLUMNS];
    int count = 0;
    for (; columns->key && count < GT_COLUMNS; columns++)
        if ((from[count] = column_of(job, rows, columns)))
            count++;
    for (size_t row = 0; row < rows->count && !gt_query_status(rows->query); row++)
        for (int i = 0; i < count; i++)
            put_cell(table, from[i], row);
}

struct gt_table *gt_job_table(struct gt_node *root, const struct gt_job *job, const char *key, const char *title,
                              unsigned flags, const struct gt_rows *rows, const struct gt_job_column *columns)
{
    struct gt_table *table = gt_report_table(root, key, title);
    gt_table_flags(table, flags);
    for (const struct gt_job_column *at = columns; at->key; at++) {
        const struct gt_rows_column *column = column_of(job, rows, at);
        if (!column)
            continue;
        enum gt_cell_kind kind = column->type == GT_REAL ? GT_CELL_NUMBER
                                 : column->words         ? GT_CELL_TEXT
                                                         : GT_CELL_INTEGER;
        gt_display_column(table, at->key, at->title, kind, at->unit, at->flags);
    }
    gt_job_put_rows(table, job, rows, columns);
    return table;
}

enum { FEW = 10, RANKS_IN_TEXT = 32 };

/* Returns the rows at both ends, and up to RANKS_IN_TEXT of those to be shown anyway, in the order of values. */
static struct gt_rows choose_few(const struct gt_rows *rows, const struct gt_job_listing *listing)
{
    struct gt_rows sorted = *rows;
    size_t top = (size_t)(listing->top ? listing->top : FEW), known = 0, shown = 0;
    bool *is_wanted = gt_query_memory(rows->query, rows->count, sizeof *is_wanted);
    gt_rows_sort(&sorted, listing->order);
    const double *value = gt_rows_reals(&sorted, listing->order);
    const uint32_t *is_shown = listing->shown ? gt_rows_keys(&sorted, listing->shown) : NULL;
    while (known < sorted.count && !isnan(value[known]))
        known++;
    for (size_t i = 0; i < sorted.count; i++) {
        bool is_end = i < known && (i < top || i + top >= known);
        is_wanted[i] = is_end || (is_shown && is_shown[i] && shown++ < RANKS_IN_TEXT);
    }
    return gt_rows_filter(&sorted, is_wanted);
}

void gt_job_list(struct gt_node *root, const struct gt_job *job, const struct gt_job_listing *listing,
                 const struct gt_rows *rows, const struct gt_job_column *columns)
{
    bool is_whole = listing->top < 0 || rows->count <= RANKS_IN_TEXT;
    unsigned flags = GT_BRIEF | GT_FEWER_COLUMNS;
    char key[40];
    gt_job_table(root, job, listing->key, listing->title, flags | (is_whole ? 0 : GT_NOT_IN_TEXT), rows, columns);
    if (is_whole)
        return;
    struct gt_rows few = choose_few(rows, listing);
    snprintf(key, sizeof key, "%s_at_the_ends", listing->key);
    gt_job_table(root, job, key, listing->few_title, flags | GT_ONLY_PEOPLE | GT_NOT_ON_PAGE, &few, columns);
}

/* ---- Spread ---- */

static const double DEVIATION = 1.4826, DEVIATIONS = 5, LEAST_DIFFERENCE = 0.05;
enum { LEAST_RANKS = 5, LEAST_PARTS = 2 };

struct gt_rows gt_job_spread(const struct gt_rows *rows, const char *keys, const char *of)
{
    struct gt_rows known = gt_rows_above(rows, of, -INFINITY);
    struct gt_rows ret = gt_rows_group(&known, keys,
                                       GT_AGGREGATES(GT_COUNT("count"), GT_MIN("least", of),
                                                     GT_QUANTILE("quarter", of, 0.25), GT_QUANTILE("median", of, 0.5),
                                                     GT_QUANTILE("three_quarters", of, 0.75), GT_MAX("most", of),
                                                     GT_MEAN("mean", of)));
    struct gt_rows away = known;
    gt_rows_join(&away, &ret, keys, "median");
    const double *value = gt_rows_reals(&away, of), *median = gt_rows_reals(&away, "median");
    double *distance = gt_rows_add_reals(&away, "distance");
    for (size_t i = 0; i < away.count; i++)
        distance[i] = fabs(value[i] - median[i]);
    struct gt_rows deviations = gt_rows_group(&away, keys, GT_AGGREGATES(GT_QUANTILE("deviation", "distance", 0.5)));
    gt_rows_join(&ret, &deviations, keys, "deviation");
    const int64_t *count = gt_rows_wholes(&ret, "count");
    const double *most = gt_rows_reals(&ret, "most"), *mean = gt_rows_reals(&ret, "mean");
    double *imbalance = gt_rows_add_reals(&ret, "imbalance");
    for (size_t i = 0; i < ret.count; i++)
        imbalance[i] = count[i] > 1 && mean[i] > 0 ? most[i] / mean[i] - 1 : NAN;
    return ret;
}

bool gt_job_differs(int64_t count, double median, double value)
{
    return count > 1 && fabs(value - median) > LEAST_DIFFERENCE * fabs(median);
}

double gt_job_deviations(double median, double deviation, double value)
{
    return deviation > 0 ? (value - median) / (DEVIATION * deviation) : NAN;
}

bool gt_job_is_off(int64_t count, double median, double deviation, double value)
{
    return count >= LEAST_RANKS && gt_job_differs(count, median, value) &&
           fabs(value - median) > DEVIATIONS * DEVIATION * deviation;
}

/* ---- Scores ---- */

/* Compare a column within groups of the same keys: add count ratio deviations off. */
static void compare(struct gt_rows *rows, const char *keys, const char *of)
{
    struct gt_rows spread = gt_job_spread(rows, keys, of), with = *rows;
    gt_rows_join(&with, &spread, keys, "count median deviation");
    const int64_t *count = gt_rows_wholes(&with, "count");
    const double *value = gt_rows_reals(&with, of), *median = gt_rows_reals(&with, "median"),
                 *deviation = gt_rows_reals(&with, "deviation");
    double *ratio = gt_rows_add_reals(rows, "ratio"), *deviations = gt_rows_add_reals(rows, "deviations");
    uint32_t *off = gt_rows_add_keys(rows, "off", NULL);
    for (size_t i = 0; i < rows->count; i++) {
        ratio[i] = median[i] != 0 ? value[i] / median[i] : NAN;
        deviations[i] = gt_job_deviations(median[i], deviation[i], value[i]);
        off[i] = !isnan(value[i]) && gt_job_is_off(count[i], median[i], deviation[i], value[i]);
    }
}

static double mean_of(const double *part, size_t first, size_t end)
{
    double sum = 0, count = 0;
    for (size_t i = first; i < end; i++)
        if (!isnan(part[i])) {
            sum += part[i];
            count++;
        }
    return count ? sum / count : NAN;
}

/* A part of the time, whose value a rank and its group have. */
struct part_check {
    const double *part;
    size_t parts;
    const double *ratio;
    uint32_t *off;
    double *share_off, *scratch;
};

/* A rank is off only if at least half of its parts differ by a twentieth on the same side as its value. */
static void check_parts(const struct part_check *check, size_t row, const double *median)
{
    const double *part = check->part + row * check->parts;
    size_t known = 0, off = 0;
    for (size_t i = 0; i < check->parts; i++) {
        if (isnan(part[i]))
            continue;
        known++;
        off += gt_job_differs(2, median[i], part[i]) && (part[i] > median[i]) == (check->ratio[row] > 1);
    }
    if (known < LEAST_PARTS)
        return;
    check->share_off[row] = (double)off / (double)known;
    check->off[row] = 2 * off >= known;
}

/* Check the rows of one group that are off. */
static void check_group(const struct part_check *check, const uint32_t *row, size_t count, double *median)
{
    bool is_any_off = false;
    for (size_t i = 0; i < count; i++)
        is_any_off |= check->off[row[i]];
    for (size_t part = 0; part < check->parts && is_any_off; part++) {
        size_t known = 0;
        for (size_t i = 0; i < count; i++) {
            double value = check->part[row[i] * check->parts + part];
            if (!isnan(value))
                check->scratch[known++] = value;
        }
        median[part] = known ? gt_median(check->scratch, known) : NAN;
    }
    for (size_t i = 0; i < count; i++)
        if (check->off[row[i]])
            check_parts(check, row[i], median);
}

static void score_parts(struct gt_rows *rows, const char *keys, const double *part, size_t parts)
{
    size_t first = parts / 10 + 1;
    double *share_off = gt_rows_add_reals(rows, "share_off"), *since_start = gt_rows_add_reals(rows, "since_start");
    for (size_t i = 0; i < rows->count; i++)
        share_off[i] = since_start[i] = NAN;
    if (!part || parts < LEAST_PARTS)
        return;
    struct gt_rows sorted = *rows;
    uint32_t *row = gt_rows_add_keys(&sorted, "row", NULL);
    for (size_t i = 0; i < sorted.count; i++) {
        row[i] = (uint32_t)i;
        since_start[i] = mean_of(part + i * parts, first, parts) / mean_of(part + i * parts, 0, first) - 1;
    }
    gt_rows_sort(&sorted, keys);
    row = gt_rows_keys(&sorted, "row");
    double *median = gt_query_memory(rows->query, parts, sizeof *median);
    const struct part_check check = {.part = part,
                                     .parts = parts,
                                     .ratio = gt_rows_reals(rows, "ratio"),
                                     .off = gt_rows_keys(rows, "off"),
                                     .share_off = share_off,
                                     .scratch = gt_query_memory(rows->query, rows->count, sizeof(double))};
    for (size_t from = 0, to; from < sorted.count && check.scratch; from = to) {
        to = gt_rows_run(&sorted, keys, from);
        check_group(&check, row + from, to - from, median);
    }
}

void gt_job_score(struct gt_rows *rows, const char *keys, const double *part, size_t parts)
{
    char by_node[64];
    snprintf(by_node, sizeof by_node, "%s node", keys);
    struct gt_rows known = gt_rows_above(rows, "value", -INFINITY), with = *rows;
    struct gt_rows nodes = gt_rows_group(
        &known, by_node, GT_AGGREGATES(GT_COUNT("node_ranks"), GT_QUANTILE("node_value", "value", 0.5)));
    compare(rows, keys, "value");
    compare(&nodes, keys, "node_value");
    score_parts(rows, keys, part, parts);
    gt_rows_join(&with, &nodes, by_node, "node_ranks off ratio");
    const int64_t *node_ranks = gt_rows_wholes(&with, "node_ranks");
    const uint32_t *node_off = gt_rows_keys(&with, "off");
    const double *node_ratio = gt_rows_reals(&with, "ratio"), *ratio = gt_rows_reals(rows, "ratio");
    uint32_t *off = gt_rows_keys(rows, "off");
    for (size_t i = 0; i < rows->count; i++)
        if (off[i] && node_off[i] == 1 && node_ranks[i] > 1 && (node_ratio[i] > 1) == (ratio[i] > 1))
            off[i] = 2;
}

/* ---- Outliers ---- */

const struct gt_job_figure_info gt_job_figure_infos[GT_JOB_FIGURES] = {
    [GT_JOB_CORES] = {"cores", "Cores busy", NULL, "CPU", 0.05},
    [GT_JOB_MEMORY] = {"memory_peak", "Memory peak", "bytes", "memory", 16 << 20},
    [GT_JOB_GPU_USE] = {"gpus_busy", "GPUs busy", NULL, "GPU", 0.05},
    [GT_JOB_TIME] = {"elapsed", "Time", "seconds", "time", 1},
};

double gt_job_figure(const struct gt_job *job, size_t member, enum gt_job_figure figure)
{
    const struct gt_job_rank *rank = &job->rank[job->member[member].rank];
    const struct gt_local_rank *below = job->member[member].below;
    double time = rank->end - rank->begin, cpu_time = below ? below->cpu_time : rank->own[GT_CPU_TIME];
    switch (figure) {
    case GT_JOB_CORES: return time > 0 ? cpu_time / time : NAN;
    case GT_JOB_MEMORY:
        return below ? below->ram_peak : isnan(rank->own[GT_RAM_PEAK]) ? rank->ram.least : rank->own[GT_RAM_PEAK];
    case GT_JOB_GPU_USE: return below ? below->gpu_utilization : rank->gpu_use;
    case GT_JOB_TIME: return below ? NAN : time; /* start and end of ranks below are unknown */
    case GT_JOB_FIGURES: break;
    }
    return NAN;
}

/* Returns NaN if a running rank cannot be compared: its time is unknown, and at the start each is at another place. */
static double figure_to_compare(const struct gt_job *job, size_t member, enum gt_job_figure figure)
{
    enum { SETTLED = 10 }; /* samples */
    const struct gt_job_rank *rank = &job->rank[job->member[member].rank];
    bool is_known = rank->complete || (figure != GT_JOB_TIME && rank->samples >= SETTLED);
    return is_known ? gt_job_figure(job, member, figure) : NAN;
}

/* Ranks that ended are compared with those that ended, and running ranks with running ranks. */
static uint32_t peers_of(const struct gt_job *job, size_t member)
{
    const struct gt_job_rank *rank = &job->rank[job->member[member].rank];
    return (uint32_t)(2 * rank->launch + rank->complete);
}

/* Each member and figure: member figure job peers value compared. */
static struct gt_rows figure_rows(const struct gt_job *job)
{
    struct gt_rows rows = gt_rows_new(job->query, job->members * GT_JOB_FIGURES);
    uint32_t *member = gt_rows_add_keys(&rows, "member", NULL), *figure = gt_rows_add_keys(&rows, "figure", NULL),
             *launch = gt_rows_add_keys(&rows, "job", job->launch), *peers = gt_rows_add_keys(&rows, "peers", NULL);
    double *value = gt_rows_add_reals(&rows, "value"), *compared = gt_rows_add_reals(&rows, "compared");
    for (size_t i = 0; i < rows.count; i++) {
        size_t of = i / GT_JOB_FIGURES;
        member[i] = (uint32_t)of;
        figure[i] = i % GT_JOB_FIGURES;
        launch[i] = (uint32_t)gt_job_member_launch(job, of);
        peers[i] = peers_of(job, of);
        value[i] = gt_job_figure(job, of, figure[i]);
        compared[i] = figure_to_compare(job, of, figure[i]);
    }
    return rows;
}

struct gt_job_outliers gt_job_outliers_find(const struct gt_job *job)
{
    struct gt_rows figures = figure_rows(job), peers = gt_job_spread(&figures, "peers figure", "compared");
    struct gt_job_outliers ret = {.all = gt_job_spread(&figures, "figure", "value"),
                                  .steps = gt_job_spread(&figures, "figure job", "value"),
                                  .peers = peers,
                                  .uneven = GT_NO_KEY};
    gt_rows_join(&figures, &peers, "peers figure", "count least most median deviation");
    ret.figures = figures;
    const uint32_t *figure = gt_rows_keys(&ret.steps, "figure"), *launch = gt_rows_keys(&ret.steps, "job");
    const double *imbalance = gt_rows_reals(&ret.steps, "imbalance");
    double worst = NAN;
    for (size_t i = 0; i < ret.steps.count; i++)
        if (figure[i] == GT_JOB_CORES && !isnan(imbalance[i]) && !(imbalance[i] <= worst)) {
            worst = imbalance[i];
            ret.uneven = launch[i];
        }
    return ret;
}

static const double FURTHEST = 1e9; /* if all others are equal */

/* Returns the distance from the median in deviations; 0: no outlier. `row` is one of the figures. */
static double remark_figure(struct gt_buffer *out, size_t begin, const struct gt_rows *figures, size_t row)
{
    double value = gt_rows_reals(figures, "compared")[row], median = gt_rows_reals(figures, "median")[row];
    double deviation = gt_rows_reals(figures, "deviation")[row];
    int64_t count = gt_rows_wholes(figures, "count")[row];
    const struct gt_job_figure_info *info = &gt_job_figure_infos[row % GT_JOB_FIGURES];
    bool is_end = value <= gt_rows_reals(figures, "least")[row] || value >= gt_rows_reals(figures, "most")[row],
         is_odd = gt_job_is_off(count, median, deviation, value) && fabs(value - median) >= info->least;
    if (isnan(value) || !gt_job_differs(count, median, value) || (!is_end && !is_odd))
        return 0;
    gt_buffer_text(out, out->length > begin ? "; " : "");
    gt_buffer_printf(out, "%s%s", is_end ? value > median ? "most " : "least " : "", info->name);
    if (median > 0)
        gt_buffer_printf(out, ", %.3g times the median", value / median);
    double deviations = fabs(gt_job_deviations(median, deviation, value));
    return !is_odd ? 0 : isnan(deviations) ? FURTHEST : fmin(deviations, FURTHEST);
}

bool gt_job_remark_end(struct gt_buffer *out, const struct gt_job_rank *rank)
{
    if (!rank->complete)
        gt_buffer_text(out, "recording not finished");
    else if (rank->exit_status > 128 && rank->ending != GT_ENDED_BY_ITSELF)
        gt_buffer_printf(out, "ended by signal %d", rank->exit_status - 128);
    else if (rank->exit_status > 0)
        gt_buffer_printf(out, "failed with %d", rank->exit_status);
    return !rank->complete || rank->exit_status > 0;
}

double gt_job_remark(struct gt_buffer *out, const struct gt_job_outliers *outliers, const struct gt_job *job,
                     size_t member)
{
    size_t begin = out->length;
    const struct gt_job_member *one = &job->member[member];
    const struct gt_job_rank *rank = &job->rank[one->rank];
    bool is_bad = !one->below && gt_job_remark_end(out, rank) && (rank->complete || gt_job_is_silent(job, rank));
    double worst = is_bad ? INFINITY : 0;
    for (size_t i = member * GT_JOB_FIGURES; i < (member + 1) * GT_JOB_FIGURES && i < outliers->figures.count; i++)
        worst = fmax(worst, remark_figure(out, begin, &outliers->figures, i));
    return worst;
}

bool gt_job_is_late(const struct gt_job_outliers *outliers, const struct gt_job *job, size_t member)
{
    const struct gt_job_rank *rank = &job->rank[job->member[member].rank];
    const struct gt_rows *peers = &outliers->peers;
    for (size_t i = 0; i < peers->count && !rank->complete; i++)
        if (gt_rows_keys(peers, "peers")[i] == 2 * rank->launch + true &&
            gt_rows_keys(peers, "figure")[i] == GT_JOB_TIME)
            return true;
    return false;
}
