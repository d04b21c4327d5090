#include "analyse/job/rank_scores.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double DEVIATION = 1.4826, DEVIATIONS = 5, LEAST_DIFFERENCE = 0.05;
enum { LEAST_RANKS = 5, LEAST_PARTS = 2 };

/* ---- Spread ------------------------------------------------------------------------------------------------------ */

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Of sorted values. */
static double quantile(const double *values, size_t count, double part)
{
    double place = part * (double)(count - 1);
    size_t below = (size_t)place;
    size_t above = below + 1 < count ? below + 1 : below;
    return values[below] + (place - (double)below) * (values[above] - values[below]);
}

/* Of the values that are known, which it changes. */
static void find_spread(struct gt_spread *ret, double *values, size_t count)
{
    double sum = 0;
    *ret = (struct gt_spread){count, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (!count)
        return;
    qsort(values, count, sizeof *values, compare);
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    *ret = (struct gt_spread){.count = count,
                              .least = values[0],
                              .quarter = quantile(values, count, 0.25),
                              .median = quantile(values, count, 0.5),
                              .three_quarters = quantile(values, count, 0.75),
                              .most = values[count - 1],
                              .mean = sum / (double)count};
    for (size_t i = 0; i < count; i++)
        values[i] = fabs(values[i] - ret->median);
    qsort(values, count, sizeof *values, compare);
    ret->deviation = quantile(values, count, 0.5);
}

/* Copies what is known of every `step`th value; returns how many. */
static size_t copy_known(double *to, const double *from, size_t count, size_t step)
{
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(from[i * step]))
            to[known++] = from[i * step];
    return known;
}

int gt_spread_of(struct gt_spread *ret, const double *values, size_t count)
{
    double *known = calloc(count + 1, sizeof *known);
    if (!known)
        return -ENOMEM;
    find_spread(ret, known, copy_known(known, values, count, 1));
    free(known);
    return 0;
}

double gt_spread_imbalance(const struct gt_spread *spread)
{
    return spread->count > 1 && spread->mean > 0 ? spread->most / spread->mean - 1 : NAN;
}

/* More than a twentieth from the median. */
static bool spread_differs(const struct gt_spread *spread, double value)
{
    return spread->count > 1 && fabs(value - spread->median) > LEAST_DIFFERENCE * fabs(spread->median);
}

bool gt_spread_is_off(const struct gt_spread *spread, double value)
{
    return spread->count >= LEAST_RANKS && spread_differs(spread, value) &&
           fabs(value - spread->median) > DEVIATIONS * DEVIATION * spread->deviation;
}

static double spread_deviations(const struct gt_spread *spread, double value)
{
    return spread->deviation > 0 ? (value - spread->median) / (DEVIATION * spread->deviation) : NAN;
}

/* ---- Scores ------------------------------------------------------------------------------------------------------ */

/* The mean of the parts from `first` on, up to `end`. */
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

static void score(struct gt_rank_score *ret, const struct gt_spread *spread, double value)
{
    *ret = (struct gt_rank_score){.deviations = spread_deviations(spread, value),
                                  .ratio = spread->median != 0 ? value / spread->median : NAN,
                                  .share_off = NAN,
                                  .since_start = NAN,
                                  .is_off = !isnan(value) && gt_spread_is_off(spread, value)};
}

/* Medians of the stretches are found only when a rank is looked at: usually none is. */
struct medians {
    const struct gt_rank_figures *figures;
    double *median; /* of each part; NaN: not yet */
    double *scratch;
};

static double median_of(struct medians *medians, size_t part)
{
    const struct gt_rank_figures *figures = medians->figures;
    if (isnan(medians->median[part])) {
        size_t count = copy_known(medians->scratch, figures->part + part, figures->ranks, figures->parts);
        qsort(medians->scratch, count, sizeof *medians->scratch, compare);
        medians->median[part] = count ? quantile(medians->scratch, count, 0.5) : 0;
    }
    return medians->median[part];
}

/* Is it as much as a twentieth off, on the side where its whole figure is, in half of its stretches? */
static void look_at_parts(struct gt_rank_score *rank, struct medians *medians, const double *part)
{
    size_t known = 0, off = 0;
    for (size_t i = 0; i < medians->figures->parts; i++) {
        if (isnan(part[i]))
            continue;
        double median = median_of(medians, i), distance = part[i] - median;
        known++;
        off += fabs(distance) > LEAST_DIFFERENCE * fabs(median) && (distance > 0) == (rank->ratio > 1);
    }
    if (known < LEAST_PARTS)
        return;
    rank->share_off = (double)off / (double)known;
    rank->is_off = 2 * off >= known;
}

static void score_ranks(const struct gt_rank_figures *figures, const struct gt_spread *spread,
                        struct gt_rank_score *ranks, struct medians *medians)
{
    for (size_t i = 0; i < figures->parts; i++)
        medians->median[i] = NAN;
    for (size_t i = 0; i < figures->ranks; i++) {
        const double *part = figures->part + i * figures->parts;
        score(&ranks[i], spread, figures->value[i]);
        if (!figures->part || figures->parts < LEAST_PARTS)
            continue;
        size_t first = figures->parts / 10 + 1;
        ranks[i].since_start = mean_of(part, first, figures->parts) / mean_of(part, 0, first) - 1;
        if (ranks[i].is_off)
            look_at_parts(&ranks[i], medians, part);
    }
}

/* Ranks of a node need not stand together. */
static double median_of_node(const struct gt_rank_figures *figures, size_t node, double *scratch, size_t *ret_count)
{
    size_t count = 0;
    for (size_t i = 0; i < figures->ranks; i++)
        if (figures->node[i] == node && !isnan(figures->value[i]))
            scratch[count++] = figures->value[i];
    qsort(scratch, count, sizeof *scratch, compare);
    *ret_count = count;
    return count ? quantile(scratch, count, 0.5) : NAN;
}

static int score_nodes(const struct gt_rank_figures *figures, struct gt_rank_score *ranks, struct gt_rank_score *nodes,
                       double *scratch)
{
    struct gt_spread spread;
    double *median = calloc(figures->nodes + 1, sizeof *median);
    size_t *count = calloc(figures->nodes + 1, sizeof *count);
    int status = median && count ? 0 : -ENOMEM;
    for (size_t i = 0; i < figures->nodes && !status; i++)
        median[i] = median_of_node(figures, i, scratch, &count[i]);
    if (!status)
        status = gt_spread_of(&spread, median, figures->nodes);
    for (size_t i = 0; i < figures->nodes && !status; i++)
        score(&nodes[i], &spread, median[i]);
    for (size_t i = 0; i < figures->ranks && !status; i++) {
        const struct gt_rank_score *node = &nodes[figures->node[i]];
        ranks[i].with_node = ranks[i].is_off && node->is_off && count[figures->node[i]] > 1 &&
                             (node->ratio > 1) == (ranks[i].ratio > 1);
    }
    free(median);
    free(count);
    return status;
}

int gt_rank_scores(const struct gt_rank_figures *figures, struct gt_spread *spread, struct gt_rank_score *ranks,
                   struct gt_rank_score *nodes)
{
    struct medians medians = {.figures = figures};
    medians.median = calloc(figures->parts + 1, sizeof *medians.median);
    medians.scratch = calloc(figures->ranks + 1, sizeof *medians.scratch);
    struct gt_rank_score *of_nodes = nodes ? nodes : calloc(figures->nodes + 1, sizeof *of_nodes);
    int status = medians.median && medians.scratch && of_nodes ? 0 : -ENOMEM;
    if (!status)
        status = gt_spread_of(spread, figures->value, figures->ranks);
    if (!status) {
        score_ranks(figures, spread, ranks, &medians);
        status = figures->node ? score_nodes(figures, ranks, of_nodes, medians.scratch) : 0;
    }
    free(medians.median);
    free(medians.scratch);
    if (!nodes)
        free(of_nodes);
    return status;
}

/* ---- Of several groups ------------------------------------------------------------------------------------------- */

/* The figures of one group, behind each other. */
struct gathered {
    double *value, *part;
    size_t *node, *rank; /* the rank is that among all */
    struct gt_rank_score *score;
};

static size_t gather(struct gathered *to, const struct gt_rank_figures *from, const size_t *group, size_t which)
{
    size_t count = 0;
    for (size_t i = 0; i < from->ranks; i++) {
        if (group[i] != which)
            continue;
        to->value[count] = from->value[i];
        to->node[count] = from->node ? from->node[i] : 0;
        if (from->part)
            memcpy(to->part + count * from->parts, from->part + i * from->parts, from->parts * sizeof *to->part);
        to->rank[count++] = i;
    }
    return count;
}

static int score_group(struct gathered *own, const struct gt_rank_figures *all, const size_t *group, size_t which,
                       struct gt_rank_score *ranks)
{
    struct gt_spread spread;
    const struct gt_rank_figures figures = {.ranks = gather(own, all, group, which),
                                            .parts = all->parts,
                                            .nodes = all->nodes,
                                            .value = own->value,
                                            .part = all->part ? own->part : NULL,
                                            .node = all->node ? own->node : NULL};
    int status = gt_rank_scores(&figures, &spread, own->score, NULL);
    for (size_t i = 0; i < figures.ranks && !status; i++)
        ranks[own->rank[i]] = own->score[i];
    return status;
}

int gt_rank_scores_within(const struct gt_rank_figures *figures, const size_t *group, size_t groups,
                          struct gt_rank_score *ranks)
{
    size_t count = figures->ranks + 1;
    struct gathered own = {.value = calloc(count, sizeof *own.value),
                           .part = calloc(figures->part ? count * figures->parts + 1 : 1, sizeof *own.part),
                           .node = calloc(count, sizeof *own.node),
                           .rank = calloc(count, sizeof *own.rank),
                           .score = calloc(count, sizeof *own.score)};
    int status = own.value && own.part && own.node && own.rank && own.score ? 0 : -ENOMEM;
    for (size_t i = 0; i < groups && !status; i++)
        status = score_group(&own, figures, group, i, ranks);
    free(own.value);
    free(own.part);
    free(own.node);
    free(own.rank);
    free(own.score);
    return status;
}

/* ---- Outliers ---- */

static const struct {
    const char *key, *title, *unit, *name;
    double least; /* a smaller distance from the median is nothing to look after */
} figures[GT_JOB_FIGURES] = {
    [GT_JOB_CORES] = {"cores", "Cores busy", NULL, "CPU", 0.05},
    [GT_JOB_MEMORY] = {"memory_peak", "Memory peak", "bytes", "memory", 16 << 20},
    [GT_JOB_GPU_USE] = {"gpus_busy", "GPUs busy", NULL, "GPU", 0.05},
    [GT_JOB_TIME] = {"elapsed", "Time", "seconds", "time", 1},
};

const char *gt_job_figure_key(enum gt_job_figure figure)
{
    return figures[figure].key;
}

const char *gt_job_figure_title(enum gt_job_figure figure)
{
    return figures[figure].title;
}

const char *gt_job_figure_unit(enum gt_job_figure figure)
{
    return figures[figure].unit;
}

/* When it began and ended is not known. */
static double figure_below(const struct gt_local_rank *below, double time, enum gt_job_figure figure)
{
    switch (figure) {
    case GT_JOB_CORES: return time > 0 ? below->cpu_time / time : NAN;
    case GT_JOB_MEMORY: return below->ram_peak;
    case GT_JOB_GPU_USE: return below->gpu_utilization;
    case GT_JOB_TIME:
    case GT_JOB_FIGURES: break;
    }
    return NAN;
}

double gt_job_figure(const struct gt_job *job, size_t member, enum gt_job_figure figure)
{
    const struct gt_job_rank *rank = &job->rank[job->member[member].rank];
    double time = rank->end - rank->begin;
    if (job->member[member].below)
        return figure_below(job->member[member].below, time, figure);
    switch (figure) {
    case GT_JOB_CORES: return time > 0 ? rank->own[GT_CPU_TIME] / time : NAN;
    case GT_JOB_MEMORY: return isnan(rank->own[GT_RAM_PEAK]) ? rank->ram.least : rank->own[GT_RAM_PEAK];
    case GT_JOB_GPU_USE: return rank->gpu_use;
    case GT_JOB_TIME: return time;
    case GT_JOB_FIGURES: break;
    }
    return NAN;
}

/* NaN where a rank that still runs cannot be compared: its time is not known, and while it begins each is at another place. */
static double figure_to_compare(const struct gt_job *job, size_t member, enum gt_job_figure figure)
{
    enum { SETTLED = 10 }; /* samples */
    const struct gt_job_rank *rank = &job->rank[job->member[member].rank];
    bool is_known = rank->complete || (figure != GT_JOB_TIME && rank->samples >= SETTLED);
    return is_known ? gt_job_figure(job, member, figure) : NAN;
}

/* Those that ended among those that ended, and those that run among those that run. */
static size_t peers_of(const struct gt_job *job, size_t member)
{
    const struct gt_job_rank *rank = &job->rank[job->member[member].rank];
    return 2 * rank->launch + rank->complete;
}

static int compare_peers(struct gt_spread ret[GT_JOB_FIGURES], const struct gt_job *job, size_t peers, double *scratch)
{
    int status = 0;
    for (int figure = 0; figure < GT_JOB_FIGURES && status >= 0; figure++) {
        size_t count = 0;
        for (size_t i = 0; i < job->members; i++)
            if (peers_of(job, i) == peers)
                scratch[count++] = figure_to_compare(job, i, (enum gt_job_figure)figure);
        status = gt_spread_of(&ret[figure], scratch, count);
    }
    return status;
}

/* Of the members of one launch, or all. */
static int spread_of(struct gt_spread ret[GT_JOB_FIGURES], const struct gt_job *job, size_t launch, double *scratch)
{
    int status = 0;
    for (int figure = 0; figure < GT_JOB_FIGURES && status >= 0; figure++) {
        size_t count = 0;
        for (size_t i = 0; i < job->members; i++)
            if (launch == GT_JOB_NO_LAUNCH || gt_job_member_launch(job, i) == launch)
                scratch[count++] = gt_job_figure(job, i, (enum gt_job_figure)figure);
        status = gt_spread_of(&ret[figure], scratch, count);
    }
    return status;
}

int gt_job_outliers_find(struct gt_job_outliers *ret, const struct gt_job *job)
{
    double worst = NAN, *scratch = calloc(job->members + 1, sizeof *scratch);
    *ret = (struct gt_job_outliers){.step = calloc(job->launches + 1, sizeof *ret->step),
                                    .peers = calloc(2 * job->launches + 1, sizeof *ret->peers),
                                    .uneven = GT_JOB_NO_LAUNCH};
    int status = scratch && ret->step && ret->peers ? spread_of(ret->all, job, GT_JOB_NO_LAUNCH, scratch) : -ENOMEM;
    for (size_t i = 0; i < job->launches && status >= 0; i++) {
        status = spread_of(ret->step[i], job, i, scratch);
        double imbalance = gt_spread_imbalance(&ret->step[i][GT_JOB_CORES]);
        if (!isnan(imbalance) && !(imbalance <= worst)) {
            worst = imbalance;
            ret->uneven = i;
        }
    }
    for (size_t i = 0; i < 2 * job->launches && status >= 0; i++)
        status = compare_peers(ret->peers[i], job, i, scratch);
    free(scratch);
    return status;
}

void gt_job_outliers_release(struct gt_job_outliers *outliers)
{
    free(outliers->step);
    free(outliers->peers);
    outliers->step = outliers->peers = NULL;
}

static const double FURTHEST = 1e9; /* where all others are equal */

static void put_semicolon(struct gt_buffer *out, size_t begin)
{
    gt_buffer_text(out, out->length > begin ? "; " : "");
}

/* Returns how far off it is, in deviations; 0: it is not. */
static double remark_figure(struct gt_buffer *out, size_t begin, const struct gt_spread *spread, double value,
                            enum gt_job_figure figure)
{
    const char *name = figures[figure].name;
    bool is_end = value <= spread->least || value >= spread->most,
         is_odd = gt_spread_is_off(spread, value) && fabs(value - spread->median) >= figures[figure].least;
    if (isnan(value) || !spread_differs(spread, value) || (!is_end && !is_odd))
        return 0;
    put_semicolon(out, begin);
    gt_buffer_printf(out, "%s%s", is_end ? value > spread->median ? "most " : "least " : "", name);
    if (spread->median > 0)
        gt_buffer_printf(out, ", %.3g times the median", value / spread->median);
    double deviations = fabs(spread_deviations(spread, value));
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
    const struct gt_spread *spread = outliers->peers[peers_of(job, member)];
    for (enum gt_job_figure i = 0; i < GT_JOB_FIGURES; i++)
        worst = fmax(worst, remark_figure(out, begin, &spread[i], figure_to_compare(job, member, i), i));
    return worst;
}

bool gt_job_is_late(const struct gt_job_outliers *outliers, const struct gt_job *job, size_t member)
{
    const struct gt_job_rank *rank = &job->rank[job->member[member].rank];
    return !rank->complete && outliers->peers[2 * rank->launch + true][GT_JOB_TIME].count > 0;
}
