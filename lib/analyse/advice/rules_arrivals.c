/* Who comes last to collectives makes the others wait: how long, and why. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/advice/findings.h"
#include "analyse/advice/arrival_replay.h"
#include "analyse/gpu/collectives.h"
#include "analyse/gpu/gpu.h"
#include "analyse/trace/training.h"
#include "analyse/trace/ranks.h"
#include "analyse/views.h"
#include "base/buffer.h"
#include "base/number.h"
#include "schema/human.h"

struct straggler {
    double cost;   /* ns that the others save if it comes to each collective with the last of them */
    double behind; /* ns that it comes behind the median of the others, in `last` collectives, to which it comes last */
    size_t last;
    size_t steps, late; /* late: it is late in this number of them */
    bool has_steps;     /* else they are collectives */
    bool is_pooled, is_named;
};

struct job {
    struct gt_findings *findings;
    const struct gt_collectives *collectives;
    const struct gt_rank_figures *rank;
    size_t ranks;
    struct gt_rows arrivals; /* gt_arrival_rows, and collective rank unit late: see compare_arrivals */
    struct gt_late_ranks late;
    struct gt_replay replay;
    struct straggler
        *straggler;       /* each rank of the collectives; those that come last together have one, that of the first */
    struct gt_rows steps; /* by node and start: node mode step start end is_late, and of the computing kernels that each
                             launched kernels sum excess (ns over the median of the other ranks) */
    double *cost;         /* of each rank: that of its straggler */
    double *kept;         /* for a median over ranks */
    bool *is_left_out;    /* of each rank, in a replay */
    double whole;         /* ns from the first arrival to the last end */
};

/* Returns the median over the ranks that are not late together with `first`; 0 where all are. */
static double median_of_others(struct job *job, const double *value, size_t first)
{
    size_t count = 0;
    for (size_t i = 0; i < job->collectives->ranks; i++)
        if (job->late.first[i] != first)
            job->kept[count++] = value[i];
    return count ? gt_median(job->kept, count) : 0;
}

/* Possible causes of a late rank, and how to word each: as a ratio to the median of the others, or as shares of the
 * time. */
static const struct {
    enum gt_rank_figure figure;
    enum gt_cause loss;
    const char *sentence;
} causes[] = {
    {GT_RANK_KERNEL, GT_CAUSE_OTHER, "%sits kernels are %.0f %% slower (on average %s, the others' %s)"},
    {GT_RANK_LOADING, GT_CAUSE_LOADING,
     "its GPU waits for the data loader for %.0f %% of the time, the others' for %.0f %%"},
    {GT_RANK_HOST, GT_CAUSE_HOST, "its GPU waits for the host for %.0f %% of the time%s, the others' for %.0f %%"},
};

static const double MIN_PERCENT = 5;

/* Of values of a rank's steps those count that are at least a third of their mean, each weighted by itself. */
struct least {
    double sum, squares;
};

static void least_add(struct least *least, double value)
{
    least->sum += value > 0 ? value : 0;
    least->squares += value > 0 ? value * value : 0;
}

static double least_of(const struct least *least)
{
    return least->sum > 0 ? least->squares / least->sum / 3 : INFINITY;
}

/* A rank without a known cause is named if it is late in at least half of the steps. */
static bool is_steady(const struct straggler *straggler)
{
    enum { HALF = 2 };
    return straggler->late && HALF * straggler->late >= straggler->steps;
}

/* 90 % of the steps are called each step. */
static bool is_in_each_step(const struct straggler *straggler)
{
    return 10 * straggler->late >= 9 * straggler->steps;
}

/* Returns how far the figure is above the others', in percent of theirs, or of the time. */
static double excess_of(const struct gt_rank_figures *ranks, size_t count, size_t rank, enum gt_rank_figure figure,
                        double *own, double *others)
{
    double whole = figure == GT_RANK_KERNEL ? 1 : ranks[rank].whole;
    *own = ranks[rank].figure[figure];
    *others = gt_ranks_median(ranks, count, rank, figure) * whole;
    return gt_percent(*own - *others, figure == GT_RANK_KERNEL ? *others : whole);
}

/* Work belongs to the step that launched it, and may run in the next. Without a known call, its own start counts. */
static struct gt_rows kernels_of_steps(const struct job *job)
{
    struct gt_rows work = gt_view_launched_work(job->findings->input);
    work = gt_rows_where(&work, "use", GT_USE_COMPUTE);
    const uint32_t *node = gt_rows_keys(&work, "node"), *of = gt_rows_keys(&job->steps, "node");
    const int64_t *start = gt_rows_wholes(&work, "start"), *launched = gt_rows_wholes(&work, "launched");
    const int64_t *end = gt_rows_wholes(&job->steps, "end");
    uint32_t *number = gt_rows_add_keys(&work, "number", NULL);
    for (size_t i = 0; i < work.count; i++) {
        int64_t time = launched[i] == GT_NO_WHOLE ? start[i] : launched[i];
        size_t behind = gt_rows_behind(&job->steps, node[i], time);
        bool is_in_step = behind && of[behind - 1] == node[i] && end[behind - 1] > time;
        number[i] = is_in_step ? (uint32_t)behind - 1 : GT_NO_KEY;
    }
    return gt_rows_group(&work, "number",
                         GT_AGGREGATES(GT_COUNT("kernels"), GT_SUM("sum", "length"), GT_MEAN("mean", "length")));
}

/* Finds how much longer the kernels of each step are than the same number of the median rank of the others. */
static void measure_kernels(struct job *job)
{
    struct gt_rows *steps = &job->steps, kernels = kernels_of_steps(job);
    uint32_t *number = gt_rows_add_keys(steps, "number", NULL);
    for (size_t i = 0; i < steps->count; i++)
        number[i] = (uint32_t)i;
    gt_rows_join(steps, &kernels, "number", "kernels sum mean");
    const double *mean = gt_rows_reals(steps, "mean"), *others = gt_rows_others(steps, "others", "mean", "mode step");
    const int64_t *count = gt_rows_wholes(steps, "kernels");
    double *excess = gt_rows_add_reals(steps, "excess");
    for (size_t i = 0; i < steps->count; i++)
        excess[i] = isnan(mean[i]) || isnan(others[i]) ? 0 : (mean[i] - others[i]) * (double)count[i];
}

/* Of the ranks of the report; job->ranks: Horovod alone tells of it. */
static size_t figures_of(const struct job *job, uint32_t node)
{
    size_t at = 0;
    while (at < job->ranks && job->rank[at].node != node)
        at++;
    return at;
}

/* Returns the steps that are late, and in which the kernels of `node` are slow: mode step slow. */
static struct gt_rows find_slow_steps(const struct job *job, uint32_t node)
{
    struct gt_rows own = gt_rows_where(&job->steps, "node", node);
    own = gt_rows_where(&own, "is_late", true);
    const double *excess = gt_rows_reals(&own, "excess");
    bool *is_slow = gt_query_memory(own.query, own.count, sizeof *is_slow);
    struct least least = {0};
    for (size_t i = 0; i < own.count; i++)
        least_add(&least, excess[i]);
    for (size_t i = 0; i < own.count && is_slow; i++)
        is_slow[i] = !(least.sum > 0) || excess[i] >= least_of(&least);
    own = gt_rows_filter(&own, is_slow);
    return gt_rows_group(&own, "mode step", GT_AGGREGATES(GT_COUNT("slow")));
}

/* Returns the ranks with the mean length of their kernels in the steps in which those of `node` are slow: a long kernel
 * may make the next step late, too. *slow is the number of these steps. Returns NULL without memory. */
static struct gt_rank_figures *in_slow_steps(const struct job *job, uint32_t node, size_t *slow)
{
    struct gt_rows steps = job->steps, slow_steps = find_slow_steps(job, node);
    gt_rows_join(&steps, &slow_steps, "mode step", "slow");
    steps = gt_rows_known(&steps, "slow");
    struct gt_rows sums = gt_rows_group(&steps, "node",
                                        GT_AGGREGATES(GT_SUM("kernels", "kernels"), GT_SUM("sum", "sum")));
    sums = gt_rows_known(&sums, "kernels");
    struct gt_rank_figures *ranks = gt_query_memory(sums.query, job->ranks, sizeof *ranks);
    *slow = slow_steps.count;
    for (size_t i = 0; ranks && i < job->ranks; i++) {
        ranks[i] = job->rank[i];
        ranks[i].kernels = 0;
        ranks[i].figure[GT_RANK_KERNEL] = NAN;
    }
    for (size_t i = 0; ranks && i < sums.count; i++) {
        size_t at = figures_of(job, gt_rows_keys(&sums, "node")[i]);
        int64_t kernels = gt_rows_wholes(&sums, "kernels")[i];
        if (at == job->ranks)
            continue;
        ranks[at].kernels = (size_t)kernels;
        ranks[at].figure[GT_RANK_KERNEL] = (double)gt_rows_wholes(&sums, "sum")[i] / (double)kernels;
    }
    return ranks;
}

static const char *waits_in(const struct job *job, size_t rank, char *text, size_t size)
{
    gt_write_host_wait(job->findings, job->rank[rank].node, text, size);
    return text;
}

/* The cause that is the most of a rank's whole time. `ranks` are those of the job, or with the kernels of some
 * steps. */
static bool write_greatest_cause(const struct job *job, const struct gt_rank_figures *ranks, size_t rank,
                                 const char *when, char *text, size_t size, struct gt_attributed *attributed)
{
    bool found = false;
    double most = MIN_PERCENT, own, others;
    char words[320];
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        enum gt_rank_figure figure = causes[i].figure;
        double excess = excess_of(ranks, job->ranks, rank, figure, &own, &others), whole = ranks[rank].whole;
        double more = (own - others) * (double)ranks[rank].kernels;
        double share = figure == GT_RANK_KERNEL ? gt_percent(more, whole) : excess;
        if (!(excess >= MIN_PERCENT) || !(share >= most))
            continue;
        most = share;
        found = true;
        attributed->cause = causes[i].loss;
        attributed->ns = (own - others) / (double)ranks[rank].gpus;
        if (figure == GT_RANK_KERNEL)
            snprintf(text, size, causes[i].sentence, when, excess, GT_TIME_WORDS(own), GT_TIME_WORDS(others));
        else if (figure == GT_RANK_HOST)
            snprintf(text, size, causes[i].sentence, gt_percent(own, whole), waits_in(job, rank, words, sizeof words),
                     gt_percent(others, whole));
        else
            snprintf(text, size, causes[i].sentence, gt_percent(own, whole), gt_percent(others, whole));
    }
    return found;
}

/* Kernels that are slow in some steps are compared in these steps. */
static bool write_cause(const struct job *job, const struct straggler *straggler, size_t rank, char *text, size_t size,
                        struct gt_attributed *attributed)
{
    if (!straggler->has_steps || straggler->late == straggler->steps)
        return write_greatest_cause(job, job->rank, rank, "", text, size, attributed);
    char when[80] = "";
    size_t slow;
    struct gt_rank_figures *ranks = in_slow_steps(job, job->rank[rank].node, &slow);
    if (slow < straggler->late)
        snprintf(when, sizeof when, "in %zu of %zu steps ", slow, straggler->steps);
    else if (!is_in_each_step(straggler))
        snprintf(when, sizeof when, "in these steps ");
    return ranks && write_greatest_cause(job, ranks, rank, when, text, size, attributed);
}

/* ---- a rank without GPUs: which of the host's operators and ranges takes longer than on the others ---- */

static bool is_host_work(const struct gt_analysis_input *input, size_t event)
{
    enum gt_work work = gt_analysis_work(input, event);
    return (work == GT_WORK_OPERATOR || work == GT_WORK_ANNOTATION) && gt_trace_lasts(input->trace, event) &&
           !gt_is_profiler_step(gt_trace_text(input->trace, input->trace->events.name[event]));
}

struct host_work {
    uint32_t event;     /* one of them */
    double own, others; /* ns; others: the median */
};

/* What contains most of the difference is less telling than what it contains: the shortest that has nearly all of it
 * counts. */
static bool is_better(const struct host_work *work, const struct host_work *best)
{
    const double nearly = 0.8;
    double excess = work->own - work->others, most = best->own - best->others;
    return excess > most ? !(most >= nearly * excess) || work->own <= best->own
                         : excess >= nearly * most && work->own < best->own;
}

static bool write_host_cause(struct job *job, size_t rank, double whole, char *text, size_t size,
                             struct gt_attributed *attributed)
{
    const struct gt_analysis_input *input = job->findings->input;
    struct gt_rows spans = gt_rows_of_events(input, is_host_work);
    struct gt_rows events = gt_rows_group(&spans, "name", GT_AGGREGATES(GT_ARG_MIN("event", "event", "event")));
    struct gt_rows sums = gt_rows_unite(&spans, "name node");
    gt_rows_difference(&sums, "length", "end", "start");
    sums = gt_rows_group(&sums, "name node", GT_AGGREGATES(GT_SUM("total", "length")));
    sums = gt_rows_complete(&sums, "name", "node");
    gt_rows_others(&sums, "others", "total", "name");
    gt_rows_join(&sums, &events, "name", "event");
    sums = gt_rows_where(&sums, "node", job->rank[rank].node);
    struct host_work best = {0};
    for (size_t i = 0; i < sums.count; i++) {
        struct host_work work = {gt_rows_keys(&sums, "event")[i], (double)gt_rows_wholes(&sums, "total")[i],
                                 gt_rows_reals(&sums, "others")[i]};
        if (work.own > work.others && is_better(&work, &best))
            best = work;
    }
    if (!(gt_percent(best.own - best.others, whole) >= MIN_PERCENT))
        return false;
    snprintf(text, size, "%.100s takes %.0f %% of its time (%s), of the others' %.0f %%",
             gt_trace_text(input->trace, input->trace->events.name[best.event]), gt_percent(best.own, whole),
             GT_TIME_WORDS(best.own), gt_percent(best.others, whole));
    if (gt_loader_part(input, best.event) != GT_LOADER_BATCH)
        attributed->cause = GT_CAUSE_LOADING;
    attributed->ns = best.own - best.others;
    return true;
}

/* ---- how late a rank is in each step ---- */

/* A step, or behind all steps a collective. */
static size_t unit_of(const struct job *job, uint32_t node, int64_t time, size_t collective)
{
    const struct gt_rows *steps = &job->steps;
    const uint32_t *of = gt_rows_keys(steps, "node");
    size_t behind = gt_rows_behind(&job->steps, node, time);
    bool has_step = (behind && of[behind - 1] == node) || (behind < steps->count && of[behind] == node);
    return has_step ? behind : steps->count + 1 + collective;
}

/* Adds what collective and rank each arrival is of, the step in which it was launched (unit), and how late it is: less
 * than 0 where it is the one that waits. A rank that computes meanwhile loses nothing by waiting. `behind` is how far the
 * rank that is blamed comes behind it. */
static void compare_arrivals(struct job *job)
{
    const struct gt_collectives *all = job->collectives;
    struct gt_rows *rows = &job->arrivals;
    const int64_t *computed = gt_rows_wholes(rows, "computed_wait"), *launched = gt_rows_wholes(rows, "launched");
    const int64_t *start = gt_rows_wholes(rows, "start");
    uint32_t *number = gt_rows_add_keys(rows, "collective", NULL), *rank = gt_rows_add_keys(rows, "rank", NULL);
    uint32_t *unit = gt_rows_add_keys(rows, "unit", NULL);
    double *wait = gt_rows_add_reals(rows, "wait"), *behind = gt_rows_add_reals(rows, "behind");
    double *late = gt_rows_add_reals(rows, "late");
    for (size_t k = 0; k < all->count && rows->count; k++) {
        const struct gt_collective *collective = &all->collective[k];
        size_t blamed = job->late.root[k] == k ? job->late.blamed[k] : SIZE_MAX;
        for (size_t i = collective->from; i < collective->to; i++) {
            const struct gt_arrival *arrival = &all->arrival[i];
            double waited = (double)(collective->last - arrival->start);
            int64_t time = arrival->event == SIZE_MAX ? arrival->start : start[i];
            number[i] = (uint32_t)k;
            rank[i] = (uint32_t)gt_late_rank_of(all, arrival);
            unit[i] = (uint32_t)unit_of(job, arrival->node, launched[i] == GT_NO_WHOLE ? time : launched[i], k);
            wait[i] = gt_is_waited_in(collective) ? waited - (double)computed[i] : 0;
            behind[i] = blamed == SIZE_MAX || job->late.first[rank[i]] == blamed ? NAN : waited;
        }
    }
    const double *others = gt_rows_others(rows, "others", "wait", "collective");
    for (size_t i = 0; i < rows->count; i++)
        late[i] = others[i] - wait[i];
}

/* How far the ranks that are blamed come behind the others. */
static void add_behind(struct job *job)
{
    struct gt_rows rows = gt_rows_group(&job->arrivals, "collective",
                                        GT_AGGREGATES(GT_QUANTILE("behind", "behind", 0.5)));
    rows = gt_rows_known(&rows, "behind");
    for (size_t i = 0; i < rows.count; i++) {
        struct straggler *blamed = &job->straggler[job->late.blamed[gt_rows_keys(&rows, "collective")[i]]];
        blamed->last++;
        blamed->behind += gt_rows_reals(&rows, "behind")[i];
    }
}

/* The median of what the others save. */
static double cost_of(struct job *job, size_t first)
{
    for (size_t i = 0; i < job->collectives->ranks; i++)
        job->is_left_out[i] = job->late.first[i] == first;
    return median_of_others(job, gt_replay(&job->replay, GT_REPLAY_WITHOUT, job->is_left_out), first);
}

/* Finds in which steps, or without steps in which collectives, each rank is late. */
static void judge_lateness(struct job *job)
{
    uint32_t *is_late = gt_rows_keys(&job->steps, "is_late"), *node = gt_rows_keys(&job->steps, "node");
    struct gt_rows units = gt_rows_group(&job->arrivals, "rank unit", GT_AGGREGATES(GT_SUM("late", "late")));
    const uint32_t *rank = gt_rows_keys(&units, "rank"), *unit = gt_rows_keys(&units, "unit");
    const double *late = gt_rows_reals(&units, "late");
    for (size_t from = 0, to; from < units.count; from = to) {
        struct straggler *straggler = &job->straggler[rank[from]];
        struct least of_rank = {0};
        to = gt_rows_run(&units, "rank", from);
        for (size_t i = from; i < to; i++)
            least_add(&of_rank, late[i]);
        double least = least_of(&of_rank);
        straggler->steps = to - from;
        for (size_t i = from; i < to; i++) {
            straggler->late += late[i] >= least;
            straggler->has_steps |= unit[i] <= job->steps.count;
            if (unit[i] && unit[i] <= job->steps.count && node[unit[i] - 1] == job->collectives->rank[rank[i]].node)
                is_late[unit[i] - 1] = late[i] >= least;
        }
    }
}

static void find_stragglers(struct job *job)
{
    const struct gt_analysis_input *input = job->findings->input;
    const struct gt_collectives *all = job->collectives;
    job->steps = gt_rows_of_steps(input);
    gt_rows_sort(&job->steps, "node start");
    gt_rows_add_keys(&job->steps, "is_late", NULL);
    job->arrivals = gt_arrival_rows(input, all);
    job->straggler = gt_query_zeros(input->query, all->ranks, sizeof *job->straggler);
    job->is_left_out = gt_query_zeros(input->query, all->ranks, sizeof *job->is_left_out);
    job->cost = gt_query_zeros(input->query, all->ranks, sizeof *job->cost);
    job->kept = gt_query_zeros(input->query, all->ranks, sizeof *job->kept);
    measure_kernels(job);
    compare_arrivals(job);
    gt_replay_open(&job->replay, input, all, &job->arrivals);
    if (gt_query_status(input->query) < 0)
        return;
    add_behind(job);
    judge_lateness(job);
    for (size_t i = 0; i < all->ranks; i++)
        if (job->straggler[i].last)
            job->straggler[i].cost = cost_of(job, i);
    for (size_t i = 0; i < all->ranks; i++)
        job->cost[i] = job->straggler[job->late.first[i]].cost;
}

/* ---- sentences ---- */

/* "each step"; "the time of steps, mostly in 10 of 20 steps" */
static const char *write_when(const struct straggler *straggler, bool has_steps, char *text, size_t size)
{
    if (is_in_each_step(straggler))
        return has_steps ? "each step" : "the time";
    snprintf(text, size, "%s, mostly in %zu of %zu %s", has_steps ? "the time of steps" : "the time", straggler->late,
             straggler->steps, straggler->has_steps ? "steps" : "collectives");
    return text;
}

/* Ranks that Horovod alone tells of have no figures of their own, those without GPUs none but of their steps. */
static bool find_cause(struct job *job, size_t rank, double whole, const struct straggler *straggler, char *text,
                       size_t size, struct gt_attributed *attributed)
{
    size_t at = figures_of(job, job->collectives->rank[rank].node);
    *attributed = (struct gt_attributed){GT_CAUSE_OTHER, job->collectives->rank[rank].node, 0};
    if (at == job->ranks || (!job->rank[at].has_gpu && !is_steady(straggler)))
        return false;
    return job->rank[at].has_gpu ? write_cause(job, straggler, at, text, size, attributed)
                                 : write_host_cause(job, at, whole, text, size, attributed);
}

/* Returns true where the ranks that are late together are all ranks of one host, and there are others. */
static bool is_host(const struct job *job, size_t first, struct gt_span host)
{
    const struct gt_analysis_input *input = job->findings->input;
    bool is_whole = host.length > 0;
    size_t others = 0;
    for (size_t i = 0; i < job->collectives->ranks && is_whole; i++) {
        struct gt_span own = gt_rank_host(input, job->collectives->rank[i].node);
        bool is_of_host = own.length == host.length && memcmp(own.text, host.text, host.length) == 0;
        is_whole = is_of_host == (job->late.first[i] == first);
        others += !is_of_host;
    }
    return is_whole && others;
}

/* "rank 2 makes", "rank 2, rank 3, rank 4 and 5 others make"; returns how many they are. */
static size_t write_late(const struct job *job, size_t first, bool is_rank, struct gt_buffer *out)
{
    enum { SHOWN = 3 };
    size_t count = 0, written = 0;
    for (size_t i = first; i < job->collectives->ranks; i++)
        count += job->late.first[i] == first;
    struct gt_span host = gt_rank_host(job->findings->input, job->collectives->rank[first].node);
    bool is_whole = count > 1 && is_host(job, first, host);
    if (is_whole)
        gt_buffer_printf(out, "all ranks of %.*s (", (int)host.length, host.text);
    for (size_t i = first; i < job->collectives->ranks && written < SHOWN; i++) {
        if (job->late.first[i] != first)
            continue;
        gt_buffer_printf(out, "%s%s%s",
                         !written               ? ""
                         : written + 1 == count ? " and "
                                                : ", ",
                         is_rank ? "" : "rank ",
                         gt_analysis_text(job->findings->input, job->collectives->rank[i].node));
        written++;
    }
    if (count > SHOWN)
        gt_buffer_printf(out, " and %zu other%s", count - SHOWN, count > SHOWN + 1 ? "s" : "");
    gt_buffer_text(out, is_whole ? ") make" : count > 1 ? " make" : " makes");
    return count;
}

/* Each of those that are late together is late for a reason of its own, though mostly the same. */
static void attribute_late(struct job *job, size_t first, double whole)
{
    char text[400];
    struct gt_attributed attributed;
    for (size_t i = first; i < job->collectives->ranks; i++)
        if (job->late.first[i] == first) {
            find_cause(job, i, whole, &job->straggler[first], text, sizeof text, &attributed);
            gt_attribute_time(job->findings, attributed);
        }
}

/* The table of collectives counts those to which it comes last alone; the sentence is of as many. */
static void add_late_ranks(struct job *job, size_t first, double whole, bool has_steps, const char *cause,
                           enum gt_cause kind)
{
    struct straggler *straggler = &job->straggler[first];
    const struct gt_rank_clock *rank = &job->collectives->rank[first];
    char when[120];
    size_t at = figures_of(job, rank->node), last = straggler->last;
    bool is_rank = at < job->ranks;
    double cost = straggler->cost, behind = straggler->behind;
    struct gt_saving saving = is_rank ? gt_saving_on(job->findings, GT_TRACE_NONE, cost) : gt_saving_of(cost, whole);
    struct gt_buffer ranks = {0};
    size_t count = write_late(job, first, is_rank, &ranks);
    if (count == 1 && rank->latest) {
        last = rank->latest;
        behind = rank->kept_waiting;
    }
    struct gt_finding *finding = gt_finding_add(
        job->findings, GT_RULE_LATE_RANKS, GT_IN_JOB, saving,
        "%s the others wait %.1f %% of %s: %s last to %zu of %zu collectives, there on average %s "
        "behind the median of the others; %s%s%s%s",
        ranks.data, gt_saving_of(cost, whole).percent, write_when(straggler, has_steps, when, sizeof when),
        count > 1 ? "they come" : "it comes", last, rank->collectives, GT_TIME_WORDS(behind / (double)last),
        count > 1 ? "of " : "", count > 1 ? gt_analysis_text(job->findings->input, rank->node) : "",
        count > 1 ? ": " : "", cause);
    straggler->is_named = finding;
    if (finding) {
        finding->cause = kind;
        finding->cause_node = rank->node;
        attribute_late(job, first, whole);
    }
    gt_buffer_release(&ranks);
}

/* Ranks that come last together stand out if they cost at least 1.5 times what a rank that is not one of them mostly
 * does. */
static bool stands_out(struct job *job, size_t first)
{
    return !(job->straggler[first].cost < 1.5 * median_of_others(job, job->cost, first));
}

static void judge_rank(struct job *job, size_t number)
{
    struct straggler *straggler = &job->straggler[number];
    char cause[400] = "the trace does not tell why";
    size_t at = figures_of(job, job->collectives->rank[number].node);
    bool is_rank = at < job->ranks, is_known = is_rank && job->rank[at].has_gpu;
    if (!straggler->last)
        return;
    bool has_steps = is_rank && job->rank[at].steps;
    double whole = has_steps ? job->rank[at].step_total : is_known ? job->rank[at].whole : job->whole;
    struct gt_attributed attributed;
    bool is_known_cause = find_cause(job, number, whole, straggler, cause, sizeof cause, &attributed);
    bool is_pooled = !is_steady(straggler) && !is_known_cause;
    if (!is_pooled && stands_out(job, number))
        add_late_ranks(job, number, whole, has_steps, cause, attributed.cause);
    for (size_t i = number; i < job->collectives->ranks && is_pooled; i++)
        job->straggler[i].is_pooled |= job->late.first[i] == number;
}

/* Ranks that are late in a few steps, for no known reason, are one matter. If one of them is late in most steps, they
 * take turns: the work is uneven. */
static void judge_pool(struct job *job)
{
    enum { SHOWN = 3, HALF = 2 };
    struct gt_buffer ranks = {0};
    double cost = 0;
    size_t count = 0, few = 0, steps = 0;
    for (size_t i = 0; i < job->collectives->ranks; i++) {
        const struct straggler *straggler = &job->straggler[i];
        if (!straggler->is_pooled || !straggler->late)
            continue;
        cost += straggler->cost;
        few += straggler->late;
        steps = straggler->steps > steps ? straggler->steps : steps;
        if (count++ < SHOWN)
            gt_buffer_printf(&ranks, "%s%s in %zu of %zu", count > 1 ? ", " : "",
                             gt_analysis_text(job->findings->input, job->collectives->rank[i].node), straggler->late,
                             straggler->steps);
    }
    if (count > SHOWN)
        gt_buffer_printf(&ranks, ", %zu other%s", count - SHOWN, count - SHOWN == 1 ? "" : "s");
    struct gt_saving saving = job->ranks ? gt_saving_on(job->findings, GT_TRACE_NONE, cost)
                                         : gt_saving_of(cost, job->whole);
    bool is_named =
        count && HALF * few <= steps && ranks.data &&
        gt_finding_add(
            job->findings, GT_RULE_POOLED_LATE, GT_IN_JOB, saving,
            "a few long steps: for %.0f %% of the time ranks wait for one that is late in few steps or "
            "collectives alone (mostly %s), and as early as the others in most: no rank is slow, look for what "
            "else ran on the hosts then",
            saving.percent, ranks.data);
    for (size_t i = 0; i < job->collectives->ranks; i++)
        job->straggler[i].is_named |= is_named && job->straggler[i].is_pooled;
    gt_buffer_release(&ranks);
}

/* ---- what of the communication is waiting for those who are named ---- */

/* What a rank saves if it waits for no other. Each device that takes part is listed. */
static void find_awaited(struct job *job)
{
    struct gt_spans *awaited = &job->findings->awaited;
    const double *saved = gt_replay(&job->replay, GT_REPLAY_ALONE, NULL);
    for (size_t i = 0; i < job->replay.parts && job->findings->status >= 0; i++) {
        const struct gt_arrival *arrival = &job->collectives->arrival[i];
        if (arrival->event != SIZE_MAX)
            job->findings->status = gt_spans_add(
                awaited, (struct gt_keyed_span){{arrival->node, gt_arrival_device(job->findings->input, arrival)},
                                                0,
                                                (int64_t)saved[gt_late_rank_of(job->collectives, arrival)],
                                                SIZE_MAX});
    }
    gt_spans_sort(awaited);
    gt_spans_unite(awaited, 2);
}

static double mean_saved(struct job *job, enum gt_replay_kind kind, const bool *is_left_out)
{
    const double *saved = gt_replay(&job->replay, kind, is_left_out);
    double sum = 0;
    for (size_t i = 0; i < job->collectives->ranks; i++)
        sum += saved[i];
    return sum / (double)job->collectives->ranks;
}

/* Saved if all ranks that are not named came at their mean. */
static void judge_uneven(struct job *job)
{
    bool is_any_named = false, *is_named = job->is_left_out;
    for (size_t i = 0; i < job->collectives->ranks; i++) {
        is_named[i] = job->straggler[job->late.first[i]].is_named;
        is_any_named |= is_named[i];
    }
    double saved = mean_saved(job, GT_REPLAY_EVEN, is_named) - mean_saved(job, GT_REPLAY_WITHOUT, is_named);
    struct gt_saving saving = job->ranks ? gt_saving_on(job->findings, GT_TRACE_NONE, saved)
                                         : gt_saving_of(saved, job->whole);
    gt_finding_add(
        job->findings, GT_RULE_UNEVEN, GT_IN_JOB, saving,
        "ranks wait in collectives for ranks that come later, and no %srank stands out: work that is shared out "
        "evenly in each step saves %.1f %% of the time (lengths of samples, sizes of batches)",
        is_any_named ? "other " : "", saving.percent);
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

static void judge_arrivals(struct job *job)
{
    struct gt_query *query = job->findings->input->query;
    job->late = gt_late_ranks_find(query, job->collectives);
    if (gt_query_status(query) >= 0)
        find_stragglers(job);
    job->whole = time_of(job->collectives);
    if (gt_query_status(query) < 0)
        return;
    for (size_t i = 0; i < job->collectives->ranks; i++)
        judge_rank(job, i);
    judge_pool(job);
    find_awaited(job);
    judge_uneven(job);
}

bool gt_rules_arrivals(struct gt_findings *findings, bool *any_in_common)
{
    struct job job = {.findings = findings, .rank = findings->rank, .ranks = findings->ranks};
    findings->status = gt_collectives_find(findings->input, GT_RULE_COLLECTIVES, &job.collectives);
    findings->absent = gt_collectives_absent(job.collectives, &findings->absent_of);
    bool any = false;
    for (size_t i = 0; i < job.collectives->count; i++)
        any |= gt_is_waited_in(&job.collectives->collective[i]);
    *any_in_common = job.collectives->count > 0;
    if (any && findings->status >= 0)
        judge_arrivals(&job);
    return any;
}
