#include "analyse/job/job_analysis.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double DEVIATION = 1.4826, DEVIATIONS = 5, LEAST_DIFFERENCE = 0.05;
enum { LEAST_RANKS = 5, LEAST_PARTS = 2 };

/* ---- Spread ---- */

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Values are sorted. */
static double quantile(const double *values, size_t count, double part)
{
    double place = part * (double)(count - 1);
    size_t below = (size_t)place;
    size_t above = below + 1 < count ? below + 1 : below;
    return values[below] + (place - (double)below) * (values[above] - values[below]);
}

/* Changes the values, which have no NaN. */
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

int gt_spread_of(struct gt_spread *ret, const double *values, size_t count)
{
    double *known = calloc(count + 1, sizeof *known);
    size_t length = 0;
    if (!known)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i]))
            known[length++] = values[i];
    find_spread(ret, known, length);
    free(known);
    return 0;
}

double gt_spread_imbalance(const struct gt_spread *spread)
{
    return spread->count > 1 && spread->mean > 0 ? spread->most / spread->mean - 1 : NAN;
}

/* Returns true if a value differs from the median by more than 5 %. */
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

/* ---- Scores ---- */

/* One group of ranks. */
struct scorer {
    const struct gt_rank_figures *figures;
    size_t *rank; /* [count]: indices into the figures */
    size_t count;
    double *part_median; /* of each part; NaN: not needed yet */
    double *node_median;
    size_t *node_count;
    double *scratch; /* [count] */
};

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

static double median_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return count ? quantile(values, count, 0.5) : NAN;
}

static double median_of_part(struct scorer *scorer, size_t part)
{
    const struct gt_rank_figures *figures = scorer->figures;
    size_t count = 0;
    if (!isnan(scorer->part_median[part]))
        return scorer->part_median[part];
    for (size_t i = 0; i < scorer->count; i++) {
        double value = figures->part[scorer->rank[i] * figures->parts + part];
        if (!isnan(value))
            scorer->scratch[count++] = value;
    }
    return scorer->part_median[part] = median_of(scorer->scratch, count);
}

/* A rank is off only if at least half of its parts differ by a twentieth on the same side as its value. */
static void check_parts(struct scorer *scorer, struct gt_rank_score *rank, const double *part)
{
    size_t known = 0, off = 0;
    for (size_t i = 0; i < scorer->figures->parts; i++) {
        if (isnan(part[i]))
            continue;
        double median = median_of_part(scorer, i), distance = part[i] - median;
        known++;
        off += fabs(distance) > LEAST_DIFFERENCE * fabs(median) && (distance > 0) == (rank->ratio > 1);
    }
    if (known < LEAST_PARTS)
        return;
    rank->share_off = (double)off / (double)known;
    rank->is_off = 2 * off >= known;
}

static void score_ranks(struct scorer *scorer, struct gt_spread *spread, struct gt_rank_score *ranks)
{
    const struct gt_rank_figures *figures = scorer->figures;
    size_t known = 0, first = figures->parts / 10 + 1;
    for (size_t i = 0; i < scorer->count; i++)
        if (!isnan(figures->value[scorer->rank[i]]))
            scorer->scratch[known++] = figures->value[scorer->rank[i]];
    find_spread(spread, scorer->scratch, known);
    for (size_t i = 0; i < figures->parts; i++)
        scorer->part_median[i] = NAN;
    for (size_t i = 0; i < scorer->count; i++) {
        struct gt_rank_score *rank = &ranks[scorer->rank[i]];
        const double *part = figures->part ? figures->part + scorer->rank[i] * figures->parts : NULL;
        score(rank, spread, figures->value[scorer->rank[i]]);
        if (!part || figures->parts < LEAST_PARTS)
            continue;
        rank->since_start = mean_of(part, first, figures->parts) / mean_of(part, 0, first) - 1;
        if (rank->is_off)
            check_parts(scorer, rank, part);
    }
}

static int score_nodes(struct scorer *scorer, struct gt_rank_score *ranks, struct gt_rank_score *nodes)
{
    const struct gt_rank_figures *figures = scorer->figures;
    struct gt_spread spread;
    for (size_t node = 0; node < figures->nodes; node++) {
        size_t count = 0;
        for (size_t i = 0; i < scorer->count; i++)
            if (figures->node[scorer->rank[i]] == node && !isnan(figures->value[scorer->rank[i]]))
                scorer->scratch[count++] = figures->value[scorer->rank[i]];
        scorer->node_count[node] = count;
        scorer->node_median[node] = median_of(scorer->scratch, count);
    }
    if (gt_spread_of(&spread, scorer->node_median, figures->nodes) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < scorer->count; i++) {
        struct gt_rank_score own, *rank = &ranks[scorer->rank[i]];
        size_t node = figures->node[scorer->rank[i]];
        score(&own, &spread, scorer->node_median[node]);
        rank->with_node = rank->is_off && own.is_off && scorer->node_count[node] > 1 &&
                          (own.ratio > 1) == (rank->ratio > 1);
        if (nodes)
            nodes[node] = own;
    }
    return 0;
}

int gt_rank_scores(const struct gt_rank_figures *figures, struct gt_spread *spread, struct gt_rank_score *ranks,
                   struct gt_rank_score *nodes)
{
    struct scorer scorer = {.figures = figures,
                            .rank = calloc(figures->ranks + 1, sizeof *scorer.rank),
                            .part_median = calloc(figures->parts + 1, sizeof *scorer.part_median),
                            .node_median = calloc(figures->nodes + 1, sizeof *scorer.node_median),
                            .node_count = calloc(figures->nodes + 1, sizeof *scorer.node_count),
                            .scratch = calloc(figures->ranks + 1, sizeof *scorer.scratch)};
    struct gt_spread unused;
    bool has_memory = scorer.rank && scorer.part_median && scorer.node_median && scorer.node_count && scorer.scratch;
    int status = has_memory ? 0 : -ENOMEM;
    for (size_t group = 0; group < (figures->group ? figures->groups : 1) && !status; group++) {
        scorer.count = 0;
        for (size_t i = 0; i < figures->ranks; i++)
            if (!figures->group || figures->group[i] == group)
                scorer.rank[scorer.count++] = i;
        score_ranks(&scorer, spread ? spread : &unused, ranks);
        status = figures->node ? score_nodes(&scorer, ranks, nodes) : 0;
    }
    free(scorer.rank);
    free(scorer.part_median);
    free(scorer.node_median);
    free(scorer.node_count);
    free(scorer.scratch);
    return status;
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
static size_t peers_of(const struct gt_job *job, size_t member)
{
    const struct gt_job_rank *rank = &job->rank[job->member[member].rank];
    return 2 * rank->launch + rank->complete;
}

/* Find the spread of each figure over members of one launch, or all, or over `peers` if given (not
 * GT_JOB_NO_LAUNCH). */
static int spread_of(struct gt_spread ret[GT_JOB_FIGURES], const struct gt_job *job, size_t launch, size_t peers,
                     double *scratch)
{
    bool of_peers = peers != GT_JOB_NO_LAUNCH;
    int status = 0;
    for (enum gt_job_figure figure = 0; figure < GT_JOB_FIGURES && status >= 0; figure++) {
        size_t count = 0;
        for (size_t i = 0; i < job->members; i++)
            if (of_peers ? peers_of(job, i) == peers
                         : launch == GT_JOB_NO_LAUNCH || gt_job_member_launch(job, i) == launch)
                scratch[count++] = of_peers ? figure_to_compare(job, i, figure) : gt_job_figure(job, i, figure);
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
    int status = scratch && ret->step && ret->peers
                     ? spread_of(ret->all, job, GT_JOB_NO_LAUNCH, GT_JOB_NO_LAUNCH, scratch)
                     : -ENOMEM;
    for (size_t i = 0; i < job->launches && status >= 0; i++) {
        status = spread_of(ret->step[i], job, i, GT_JOB_NO_LAUNCH, scratch);
        double imbalance = gt_spread_imbalance(&ret->step[i][GT_JOB_CORES]);
        if (!isnan(imbalance) && !(imbalance <= worst)) {
            worst = imbalance;
            ret->uneven = i;
        }
    }
    for (size_t i = 0; i < 2 * job->launches && status >= 0; i++)
        status = spread_of(ret->peers[i], job, 0, i, scratch);
    free(scratch);
    return status;
}

void gt_job_outliers_release(struct gt_job_outliers *outliers)
{
    free(outliers->step);
    free(outliers->peers);
    outliers->step = outliers->peers = NULL;
}

static const double FURTHEST = 1e9; /* if all others are equal */

/* Returns the distance from the median in deviations; 0: no outlier. */
static double remark_figure(struct gt_buffer *out, size_t begin, const struct gt_spread *spread, double value,
                            enum gt_job_figure figure)
{
    const char *name = gt_job_figure_infos[figure].name;
    bool is_end = value <= spread->least || value >= spread->most,
         is_odd = gt_spread_is_off(spread, value) && fabs(value - spread->median) >= gt_job_figure_infos[figure].least;
    if (isnan(value) || !spread_differs(spread, value) || (!is_end && !is_odd))
        return 0;
    gt_buffer_text(out, out->length > begin ? "; " : "");
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
