#include "analyse/job/job_outliers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

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
    if (isnan(value) || !gt_spread_differs(spread, value) || (!is_end && !is_odd))
        return 0;
    put_semicolon(out, begin);
    gt_buffer_printf(out, "%s%s", is_end ? value > spread->median ? "most " : "least " : "", name);
    if (spread->median > 0)
        gt_buffer_printf(out, ", %.3g times the median", value / spread->median);
    double deviations = fabs(gt_spread_deviations(spread, value));
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
