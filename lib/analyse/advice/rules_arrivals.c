/* Who comes last to collectives makes the others wait: how long, and why. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/advice/findings.h"
#include "analyse/advice/arrival_replay.h"
#include "analyse/gpu/collectives.h"
#include "analyse/gpu/gpu.h"
#include "analyse/trace/dataloader.h"
#include "analyse/trace/ranks.h"
#include "analyse/trace/step_spans.h"
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

/* Computing kernels that a step launched. */
struct step_kernels {
    uint32_t key[2], node; /* key: mode, number */
    size_t step, count;    /* step: its place in job.steps */
    double sum, excess;    /* ns; excess: over the median of the other ranks */
};

struct job {
    struct gt_findings *findings;
    const struct gt_collectives *collectives;
    const struct gt_rank_figures *rank;
    size_t ranks;
    struct gt_rows arrivals; /* gt_arrival_rows */
    struct gt_late_ranks late;
    struct gt_replay replay;
    struct straggler
        *straggler;        /* each rank of the collectives; those that come last together have one, that of the first */
    struct gt_spans work;  /* of GPUs, in the order of events */
    const size_t *call;    /* of each, the event that launched it, or SIZE_MAX */
    struct gt_spans steps; /* by node and start */
    bool *is_late;         /* each step: its rank is late in it */
    struct step_kernels *kernels; /* of each step, by mode, number and node */
    struct gt_numbers values;     /* for a median; has room for a value of each arrival, step and rank */
    bool *is_left_out;            /* of each rank, in a replay */
    double whole;                 /* ns from the first arrival to the last end */
};

static void add_value(struct job *job, double value)
{
    job->values.value[job->values.count++] = value;
    job->values.is_sorted = false;
}

static void clear_values(struct job *job)
{
    job->values.count = 0;
}

/* Sorts the values. */
static double median(struct job *job)
{
    return gt_numbers_percentile(&job->values, 50);
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
static int64_t launch_of(const struct job *job, size_t work)
{
    const struct gt_trace_events *events = &job->findings->input->trace->events;
    return events->start[job->call[work] == SIZE_MAX ? job->work.span[work].event : job->call[work]];
}

static int by_step(const void *a, const void *b)
{
    const struct step_kernels *x = a, *y = b;
    return GT_ORDER_BY(gt_order_lists(x->key, y->key, 2), GT_ORDER(x->node, y->node), GT_ORDER(x->step, y->step));
}

static size_t step_run(const struct job *job, size_t from)
{
    size_t to = from;
    while (to < job->steps.count && gt_order_lists(job->kernels[to].key, job->kernels[from].key, 2) == 0)
        to++;
    return to;
}

static void add_kernels(struct job *job)
{
    for (size_t i = 0; i < job->work.count; i++) {
        const struct gt_keyed_span *work = &job->work.span[i];
        int64_t time = launch_of(job, i);
        size_t behind = gt_spans_behind(&job->steps, work->key[GT_GPU_NODE], time);
        const struct gt_keyed_span *step = behind ? &job->steps.span[behind - 1] : NULL;
        if (work->key[GT_GPU_USE] != GT_USE_COMPUTE || !step || step->key[0] != work->key[GT_GPU_NODE] ||
            step->end <= time)
            continue;
        job->kernels[behind - 1].sum += (double)(work->end - work->start);
        job->kernels[behind - 1].count++;
    }
}

/* Finds how much longer the kernels of each step are than the same number of the median rank of the others. */
static void measure_kernels(struct job *job)
{
    for (size_t i = 0; i < job->steps.count; i++) {
        const uint32_t *key = job->steps.span[i].key;
        job->kernels[i] = (struct step_kernels){.key = {key[1], key[2]}, .node = key[0], .step = i};
    }
    add_kernels(job);
    GT_SORT(job->kernels, job->steps.count, by_step);
    for (size_t from = 0, to; from < job->steps.count; from = to) {
        to = step_run(job, from);
        clear_values(job);
        for (size_t i = from; i < to; i++)
            if (job->kernels[i].count)
                add_value(job, job->kernels[i].sum / (double)job->kernels[i].count);
        median(job);
        for (size_t i = from; i < to && job->values.count > 1; i++) {
            struct step_kernels *own = &job->kernels[i];
            double mean = own->sum / (double)own->count;
            own->excess = own->count ? own->sum - (double)own->count * gt_median_of_others(&job->values, mean) : 0;
        }
    }
}

static bool is_slow_step(const struct job *job, const struct step_kernels *kernels, uint32_t node, double least)
{
    return kernels->node == node && job->is_late[kernels->step] && kernels->excess >= least;
}

/* Returns the ranks with the mean length of their kernels in the steps that are late, and in which the kernels of
 * `node` are slow: a long kernel may make the next step late, too. *slow is the number of these steps. Returns NULL
 * without memory. */
static struct gt_rank_figures *in_slow_steps(const struct job *job, uint32_t node, size_t *slow)
{
    struct gt_rank_figures *ranks = gt_query_memory(job->findings->input->query, job->ranks, sizeof *ranks);
    struct least least = {0};
    *slow = 0;
    for (size_t i = 0; i < job->steps.count; i++)
        if (is_slow_step(job, &job->kernels[i], node, -INFINITY))
            least_add(&least, job->kernels[i].excess);
    double excess = least.sum > 0 ? least_of(&least) : -INFINITY;
    for (size_t i = 0; ranks && i < job->ranks; i++) {
        ranks[i] = job->rank[i];
        ranks[i].kernels = 0;
        ranks[i].figure[GT_RANK_KERNEL] = ranks[i].has_gpu ? 0 : NAN;
    }
    for (size_t from = 0, to; ranks && from < job->steps.count; from = to) {
        bool is_slow = false;
        to = step_run(job, from);
        for (size_t i = from; i < to && !is_slow; i++)
            is_slow = is_slow_step(job, &job->kernels[i], node, excess);
        *slow += is_slow;
        for (size_t i = from, rank = 0; i < to && is_slow; i++) {
            while (rank < job->ranks && ranks[rank].node < job->kernels[i].node)
                rank++;
            if (rank == job->ranks || ranks[rank].node != job->kernels[i].node)
                continue;
            ranks[rank].figure[GT_RANK_KERNEL] += job->kernels[i].sum;
            ranks[rank].kernels += job->kernels[i].count;
        }
    }
    for (size_t i = 0; ranks && i < job->ranks; i++)
        ranks[i].figure[GT_RANK_KERNEL] /= ranks[i].kernels ? (double)ranks[i].kernels : NAN;
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
    uint32_t name, event; /* event: one of them */
    double own, others;   /* ns; others: the median */
};

/* Rows from..to are of one name. */
static struct host_work compare_work(struct job *job, const struct gt_rows *sums, size_t from, size_t to, uint32_t node)
{
    const uint32_t *of = gt_rows_keys(sums, "node");
    const int64_t *total = gt_rows_wholes(sums, "total");
    struct host_work ret = {gt_rows_keys(sums, "name")[from], gt_rows_keys(sums, "event")[from], 0, 0};
    clear_values(job);
    for (size_t i = 0; i < job->ranks; i++) {
        double sum = 0;
        for (size_t j = from; j < to; j++)
            sum += of[j] == job->rank[i].node ? (double)total[j] : 0;
        if (job->rank[i].node == node)
            ret.own = sum;
        else
            add_value(job, sum);
    }
    ret.others = median(job);
    return ret;
}

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
    gt_rows_join(&sums, &events, "name", "event");
    struct host_work best = {0};
    for (size_t from = 0, to; from < sums.count; from = to) {
        to = gt_rows_run(&sums, "name", from);
        struct host_work work = compare_work(job, &sums, from, to, job->rank[rank].node);
        if (work.own > work.others && is_better(&work, &best))
            best = work;
    }
    if (!(gt_percent(best.own - best.others, whole) >= MIN_PERCENT))
        return false;
    snprintf(text, size, "%.100s takes %.0f %% of its time (%s), of the others' %.0f %%",
             gt_analysis_text(input, best.name), gt_percent(best.own, whole), GT_TIME_WORDS(best.own),
             gt_percent(best.others, whole));
    if (gt_loader_part(input, best.event) != GT_LOADER_BATCH)
        attributed->cause = GT_CAUSE_LOADING;
    attributed->ns = best.own - best.others;
    return true;
}

/* ---- how late a rank is in each step ---- */

static int by_start(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->key[0], y->key[0]), GT_ORDER(x->start, y->start));
}

/* A step, or behind all steps a collective. */
static size_t unit_of(const struct job *job, const struct gt_arrival *arrival, size_t collective)
{
    const struct gt_spans *steps = &job->steps, *work = &job->work;
    int64_t time = arrival->event == SIZE_MAX ? arrival->start
                                              : job->findings->input->trace->events.start[arrival->event];
    size_t at = GT_SEARCH(0, work->count, middle, work->span[middle].event < arrival->event);
    if (at < work->count && work->span[at].event == arrival->event)
        time = launch_of(job, at);
    size_t low = gt_spans_behind(steps, arrival->node, time);
    bool has_step = (low && steps->span[low - 1].key[0] == arrival->node) ||
                    (low < steps->count && steps->span[low].key[0] == arrival->node);
    return has_step ? low : steps->count + 1 + collective;
}

/* How far the rank that is blamed comes behind the others. */
static void add_behind(struct job *job, size_t number)
{
    const struct gt_collective *collective = &job->collectives->collective[number];
    size_t blamed = job->late.blamed[number];
    clear_values(job);
    if (blamed == SIZE_MAX || job->late.root[number] != number)
        return;
    for (size_t i = collective->from; i < collective->to; i++) {
        const struct gt_arrival *arrival = &job->collectives->arrival[i];
        if (job->late.first[gt_late_rank_of(job->collectives, arrival)] != blamed)
            add_value(job, (double)(collective->last - arrival->start));
    }
    if (job->values.count) {
        job->straggler[blamed].last++;
        job->straggler[blamed].behind += median(job);
    }
}

/* How late each rank comes: less than 0 where it is the one that waits. A rank that computes meanwhile loses nothing by
 * waiting. */
static void add_lateness(struct job *job, size_t number, uint32_t *rank, uint32_t *unit, double *late)
{
    const struct gt_collective *collective = &job->collectives->collective[number];
    const int64_t *computed = gt_rows_wholes(&job->arrivals, "computed_wait");
    clear_values(job);
    for (size_t i = collective->from; i < collective->to; i++) {
        const struct gt_arrival *arrival = &job->collectives->arrival[i];
        rank[i] = (uint32_t)gt_late_rank_of(job->collectives, arrival);
        unit[i] = (uint32_t)unit_of(job, arrival, number);
        late[i] = gt_is_waited_in(collective) ? (double)(collective->last - arrival->start - computed[i]) : 0;
        add_value(job, late[i]);
    }
    median(job);
    for (size_t i = collective->from; i < collective->to; i++)
        late[i] = gt_median_of_others(&job->values, late[i]) - late[i];
}

/* The median of what the others save. */
static double cost_of(struct job *job, size_t first)
{
    size_t ranks = job->collectives->ranks;
    for (size_t i = 0; i < ranks; i++)
        job->is_left_out[i] = job->late.first[i] == first;
    const double *ns = gt_replay(&job->replay, GT_REPLAY_WITHOUT, job->is_left_out);
    clear_values(job);
    for (size_t i = 0; i < ranks; i++)
        if (!job->is_left_out[i])
            add_value(job, ns[i]);
    return job->values.count ? median(job) : 0;
}

/* Finds in which steps, or without steps in which collectives, each rank is late. */
static void judge_lateness(struct job *job)
{
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
            bool is_late = late[i] >= least;
            straggler->late += is_late;
            straggler->has_steps |= unit[i] <= job->steps.count;
            if (unit[i] && unit[i] <= job->steps.count &&
                job->steps.span[unit[i] - 1].key[0] == job->collectives->rank[rank[i]].node)
                job->is_late[unit[i] - 1] = is_late;
        }
    }
}

static void *zeroed(const struct job *job, size_t count, size_t size)
{
    void *memory = gt_query_memory(job->findings->input->query, count, size);
    return memory ? memset(memory, 0, count * size) : NULL;
}

static void find_stragglers(struct job *job)
{
    const struct gt_analysis_input *input = job->findings->input;
    const struct gt_collectives *all = job->collectives;
    size_t arrivals = all->collective[all->count - 1].to;
    job->work = gt_gpu_all_spans(input);
    job->call = gt_gpu_launches(input, &job->work);
    job->steps = gt_step_spans(input);
    gt_spans_sort_by(&job->steps, by_start);
    job->arrivals = gt_arrival_rows(input, all);
    uint32_t *rank = gt_rows_add_keys(&job->arrivals, "rank", NULL),
             *unit = gt_rows_add_keys(&job->arrivals, "unit", NULL);
    double *late = gt_rows_add_reals(&job->arrivals, "late");
    job->straggler = zeroed(job, all->ranks, sizeof *job->straggler);
    job->is_left_out = zeroed(job, all->ranks, sizeof *job->is_left_out);
    job->is_late = zeroed(job, job->steps.count, sizeof *job->is_late);
    job->kernels = zeroed(job, job->steps.count, sizeof *job->kernels);
    job->values.value = zeroed(job, arrivals + job->steps.count + job->ranks + all->ranks, sizeof *job->values.value);
    if (!job->values.value)
        return;
    measure_kernels(job);
    for (size_t i = 0; i < all->count; i++) {
        add_lateness(job, i, rank, unit, late);
        add_behind(job, i);
    }
    judge_lateness(job);
    gt_replay_open(&job->replay, input, all, &job->arrivals, &job->work, job->call);
    for (size_t i = 0; i < all->ranks && gt_query_status(input->query) >= 0; i++)
        if (job->straggler[i].last)
            job->straggler[i].cost = cost_of(job, i);
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

/* Of the ranks of the report; job->ranks: Horovod alone tells of it. */
static size_t figures_of(const struct job *job, size_t rank)
{
    size_t at = 0;
    while (at < job->ranks && job->rank[at].node != job->collectives->rank[rank].node)
        at++;
    return at;
}

/* Ranks that Horovod alone tells of have no figures of their own, those without GPUs none but of their steps. */
static bool find_cause(struct job *job, size_t rank, double whole, const struct straggler *straggler, char *text,
                       size_t size, struct gt_attributed *attributed)
{
    size_t at = figures_of(job, rank);
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
    size_t at = figures_of(job, first), last = straggler->last;
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
    clear_values(job);
    for (size_t i = 0; i < job->collectives->ranks; i++)
        if (job->late.first[i] != first)
            add_value(job, job->straggler[job->late.first[i]].cost);
    return !(job->straggler[first].cost < 1.5 * median(job));
}

static void judge_rank(struct job *job, size_t number)
{
    struct straggler *straggler = &job->straggler[number];
    char cause[400] = "the trace does not tell why";
    size_t at = figures_of(job, number);
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
