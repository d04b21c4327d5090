/* Who comes last to collectives makes the others wait: how long, and why. */
#include <stdio.h>
#include <stdlib.h>

#include "analyse/advice/advice.h"
#include "analyse/trace/time_words.h"
#include "analyse/trace/collectives.h"
#include "analyse/trace/ranks.h"

struct job {
    struct gt_adviser *adviser;
    struct gt_collectives collectives;
    struct gt_rank_figures *rank;
    size_t ranks;
    double whole; /* ns from the first arrival to the last end */
};

/* What of a rank may make it late, and how it is told: as a ratio to the median of the others, or as shares of the time. */
static const struct {
    enum gt_rank_figure figure;
    const char *sentence;
} causes[] = {
    {GT_RANK_KERNEL, "its kernels are %.0f %% slower (on average %s, the others' %s)"},
    {GT_RANK_LOADING, "its GPU waits for the data loader for %.0f %% of the time, the others' for %.0f %%"},
    {GT_RANK_HOST, "its GPU waits for the host for %.0f %% of the time, the others' for %.0f %%"},
};

static const double TELLING = 5; /* percent */

/* Returns how far the figure is above the others', in percent of theirs, or of the time. */
static double excess_of(const struct job *job, size_t rank, enum gt_rank_figure figure, double *own, double *others)
{
    *own = job->rank[rank].figure[figure];
    *others = gt_ranks_median(job->rank, job->ranks, rank, figure);
    if (figure == GT_RANK_KERNEL)
        return gt_percent(*own - *others, *others);
    return gt_percent(*own - *others, job->rank[rank].whole);
}

/* The cause that is the most of a rank's whole time. */
static void write_cause(const struct job *job, size_t rank, char *text, size_t size)
{
    double most = TELLING, own, others;
    snprintf(text, size, "%s", "the trace does not tell why");
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        enum gt_rank_figure figure = causes[i].figure;
        double excess = excess_of(job, rank, figure, &own, &others), whole = job->rank[rank].whole;
        double share = figure == GT_RANK_KERNEL ? excess * job->rank[rank].figure[GT_RANK_COMPUTE] / whole : excess;
        if (!(excess >= TELLING) || !(share >= most))
            continue;
        most = share;
        if (figure == GT_RANK_KERNEL)
            snprintf(text, size, causes[i].sentence, excess, GT_TIME_WORDS(own), GT_TIME_WORDS(others));
        else
            snprintf(text, size, causes[i].sentence, gt_percent(own, whole), gt_percent(others, whole));
    }
}

/* Ranks that Horovod alone tells of have no figures of their own. */
static void judge_rank(struct job *job, const struct gt_rank_clock *rank)
{
    char cause[200] = "the trace does not tell why";
    size_t at = 0;
    while (at < job->ranks && job->rank[at].node != rank->node)
        at++;
    bool is_known = at < job->ranks && job->rank[at].has_gpu;
    if (!rank->latest)
        return;
    struct gt_gain gain = gt_gain_of(rank->kept_waiting, is_known ? job->rank[at].whole : job->whole);
    if (is_known)
        write_cause(job, at, cause, sizeof cause);
    const char *name = gt_analysis_text(job->adviser->input, rank->node);
    gt_advise(job->adviser, gain, "collectives, stragglers",
              "%s%s makes the others wait %.1f %% of %s: it comes last to %zu of %zu collectives, there on average %s "
              "behind the median of the others; %s",
              is_known ? "" : "rank ", name, gain.percent, is_known && job->rank[at].steps ? "each step" : "the time",
              rank->latest, rank->collectives, GT_TIME_WORDS(rank->kept_waiting / (double)rank->latest), cause);
}

static double time_of(const struct gt_collectives *collectives)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < collectives->count; i++) {
        first = collectives->collective[i].first < first ? collectives->collective[i].first : first;
        last = collectives->collective[i].end > last ? collectives->collective[i].end : last;
    }
    return first < last ? (double)(last - first) : NAN;
}

bool gt_advise_arrivals(struct gt_adviser *adviser)
{
    struct job job = {.adviser = adviser};
    int status = gt_collectives_find(adviser->input, GT_ADVICE_COLLECTIVES, &job.collectives);
    bool any = false;
    for (size_t i = 0; i < job.collectives.ranks; i++)
        any |= job.collectives.rank[i].latest > 0;
    if (status >= 0 && any)
        status = gt_ranks_find(adviser->input, &job.rank, &job.ranks);
    adviser->status = status;
    job.whole = time_of(&job.collectives);
    for (size_t i = 0; i < job.collectives.ranks && status >= 0; i++)
        judge_rank(&job, &job.collectives.rank[i]);
    free(job.rank);
    gt_collectives_release(&job.collectives);
    return any;
}
