#include "analyse/job/job_outliers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static const struct {
    const char *key, *title, *unit, *name;
} figures[GT_JOB_FIGURES] = {
    [GT_JOB_CORES] = {"cores", "Cores busy", NULL, "CPU"},
    [GT_JOB_MEMORY] = {"memory_peak", "Memory peak", "bytes", "memory"},
    [GT_JOB_GPU_USE] = {"gpus_busy", "GPUs busy", NULL, "GPU"},
    [GT_JOB_TIME] = {"elapsed", "Time", "seconds", "time"},
};

/* Among a thousand healthy ranks one is 3.5 deviations off by chance; and what differs by less than a twentieth hardly matters. */
static const double DEVIATIONS = 5 * 1.4826, LEAST_DIFFERENCE = 0.05;
enum { LEAST_RANKS = 5 };

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

double gt_job_figure(const struct gt_job_rank *rank, enum gt_job_figure figure)
{
    double time = rank->end - rank->begin;
    switch (figure) {
    case GT_JOB_CORES: return time > 0 ? rank->own[GT_CPU_TIME] / time : NAN;
    case GT_JOB_MEMORY: return isnan(rank->own[GT_RAM_PEAK]) ? rank->ram.least : rank->own[GT_RAM_PEAK];
    case GT_JOB_GPU_USE: return rank->gpu_use;
    case GT_JOB_TIME: return time;
    case GT_JOB_FIGURES: break;
    }
    return NAN;
}

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

static void find_spread(struct gt_job_spread *ret, double *values, size_t count)
{
    double sum = 0;
    *ret = (struct gt_job_spread){count, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (!count)
        return;
    qsort(values, count, sizeof *values, compare);
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    *ret = (struct gt_job_spread){.count = count,
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

int gt_job_outliers_find(struct gt_job_outliers *ret, const struct gt_job *job)
{
    double *values = calloc(job->count + 1, sizeof *values);
    if (!values)
        return -ENOMEM;
    for (int figure = 0; figure < GT_JOB_FIGURES; figure++) {
        size_t count = 0;
        for (size_t i = 0; i < job->count; i++) {
            double value = gt_job_figure(&job->rank[i], (enum gt_job_figure)figure);
            if (!isnan(value))
                values[count++] = value;
        }
        find_spread(&ret->spread[figure], values, count);
    }
    free(values);
    return 0;
}

static bool differs(const struct gt_job_spread *spread, double value)
{
    return spread->count > 1 && fabs(value - spread->median) > LEAST_DIFFERENCE * fabs(spread->median);
}

static bool is_outlier(const struct gt_job_spread *spread, double value)
{
    return spread->count >= LEAST_RANKS && differs(spread, value) &&
           fabs(value - spread->median) > DEVIATIONS * spread->deviation;
}

static void put_semicolon(struct gt_buffer *out, size_t begin)
{
    gt_buffer_text(out, out->length > begin ? "; " : "");
}

static bool remark_figure(struct gt_buffer *out, size_t begin, const struct gt_job_spread *spread, double value,
                          const char *name)
{
    bool is_end = value <= spread->least || value >= spread->most, is_odd = is_outlier(spread, value);
    if (isnan(value) || !differs(spread, value) || (!is_end && !is_odd))
        return false;
    put_semicolon(out, begin);
    gt_buffer_printf(out, "%s%s", is_end ? value > spread->median ? "most " : "least " : "", name);
    if (spread->median > 0)
        gt_buffer_printf(out, ", %.3g times the median", value / spread->median);
    return is_odd;
}

static bool remark_end(struct gt_buffer *out, const struct gt_job_rank *rank)
{
    if (!rank->complete)
        gt_buffer_text(out, "recording not finished");
    else if (rank->exit_status > 128)
        gt_buffer_printf(out, "ended by signal %d", rank->exit_status - 128);
    else if (rank->exit_status > 0)
        gt_buffer_printf(out, "failed with %d", rank->exit_status);
    return !rank->complete || rank->exit_status > 0;
}

bool gt_job_remark(struct gt_buffer *out, const struct gt_job_outliers *outliers, const struct gt_job_rank *rank)
{
    size_t begin = out->length;
    bool is_bad = remark_end(out, rank);
    for (int i = 0; i < GT_JOB_FIGURES; i++)
        is_bad |= remark_figure(out, begin, &outliers->spread[i], gt_job_figure(rank, (enum gt_job_figure)i),
                                figures[i].name);
    return is_bad;
}
