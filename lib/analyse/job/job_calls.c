
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/job/job_analysis.h"
#include "base/grow.h"
#include "base/number.h"
#include "blocks/distribution.h"

static int compare_calls(const void *left, const void *right)
{
    const struct gt_interval *a = left, *b = right;
    return GT_ORDER_BY(GT_ORDER(a->name, b->name), GT_ORDER(a->process, b->process),
                       GT_ORDER(gt_interval_begin(a), gt_interval_begin(b)));
}

/* Put the index into gt_job.member in the place of the process. The first process of a rank below makes its calls;
 * calls of other processes are of no rank below. */
static void find_members(struct gt_calls_of_rank *calls, const struct gt_job_rank *rank)
{
    for (size_t i = 0; i < calls->interval_count; i++) {
        struct gt_interval *call = &calls->interval[i];
        size_t member = rank->whole;
        for (size_t k = 0; k < rank->below_count; k++)
            if (rank->below[k].pid == (pid_t)call->process)
                member = rank->first_member + k;
        call->process = (int64_t)member;
    }
}

/* Call `use` with the calls of each recording by name, then by member, then by start. */
static int each_rank(const struct gt_job *job, int (*use)(void *context, const struct gt_calls_of_rank *calls),
                     void *context, struct gt_error *error)
{
    int status = 0;
    for (size_t i = 0; i < job->count && status >= 0; i++) {
        struct gt_calls_of_rank calls = {0};
        status = job->source->calls(job->source->state, job, i, &calls, error);
        if (status >= 0 && calls.interval_count) {
            find_members(&calls, &job->rank[i]);
            qsort(calls.interval, calls.interval_count, sizeof *calls.interval, compare_calls);
            if ((status = use(context, &calls)) < 0)
                gt_error_system(error, -status, "%s", job->rank[i].path);
        }
        free(calls.interval);
        gt_strings_release(&calls.names);
    }
    return status;
}

/* ---- By name and rank ---- */

static int sum_up(struct gt_job_calls *ret, const struct gt_interval *call, size_t count)
{
    struct gt_distribution lengths = {0};
    int status = 0;
    ret->total = ret->self = ret->cpu_time = NAN;
    for (size_t i = 0; i < count && status == 0; i++) {
        ret->unfinished += call[i].unfinished;
        if (call[i].unfinished)
            continue;
        ret->count++;
        ret->total = gt_job_add(ret->total, call[i].elapsed);
        ret->self = gt_job_add(ret->self, call[i].self);
        ret->cpu_time = gt_job_add(ret->cpu_time, call[i].cpu_stop - call[i].cpu_start);
        status = gt_distribution_add(&lengths, call[i].elapsed);
    }
    ret->p50 = gt_distribution_percentile(&lengths, 50);
    ret->p95 = gt_distribution_percentile(&lengths, 95);
    ret->longest = gt_distribution_statistic(&lengths, GT_STAT_MAX);
    gt_distribution_release(&lengths);
    return status;
}

static int add_rank_calls(void *context, const struct gt_calls_of_rank *own)
{
    struct gt_job_call_list *all = context;
    for (size_t first = 0, end; first < own->interval_count; first = end) {
        const struct gt_interval *call = &own->interval[first];
        const char *name = gt_strings_text(&own->names, call->name);
        int64_t number = gt_strings_add(&all->names, name, strlen(name));
        struct gt_job_calls *calls = number < 0 ? NULL : GT_GROW(all, calls);
        if (!calls || GT_GROW_TO(all->name, all->name_capacity, all->calls_count) < 0)
            return -ENOMEM;
        for (end = first + 1; end < own->interval_count && own->interval[end].name == call->name &&
                              own->interval[end].process == call->process;)
            end++;
        *calls = (struct gt_job_calls){.member = (size_t)call->process};
        all->name[all->calls_count - 1] = (uint32_t)number;
        if (sum_up(calls, call, end - first) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int compare_rank_calls(const void *left, const void *right)
{
    const struct gt_job_calls *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : GT_ORDER(a->member, b->member);
}

int gt_job_calls_read(struct gt_job_call_list *ret, const struct gt_job *job, struct gt_error *error)
{
    *ret = (struct gt_job_call_list){0};
    int status = each_rank(job, add_rank_calls, ret, error);
    for (size_t i = 0; i < ret->calls_count; i++)
        ret->calls[i].name = gt_strings_text(&ret->names, ret->name[i]);
    GT_SORT(ret->calls, ret->calls_count, compare_rank_calls);
    return status;
}

void gt_job_calls_release(struct gt_job_call_list *list)
{
    free(list->calls);
    free(list->name);
    gt_strings_release(&list->names);
}

/* ---- By name and number ---- */

struct steps_of_name {
    struct step {
        double longest, shortest;
        uint32_t slowest, quickest, last, ranks;
    } * step;
    size_t step_count, step_capacity;
};

struct all_steps {
    const struct gt_job *job;
    struct steps_of_name *name; /* number in `names` * steps of the job + step */
    size_t name_capacity, name_count;
    struct gt_strings names;
};

static int add_step(struct steps_of_name *steps, size_t number, size_t rank, double length)
{
    while (steps->step_count <= number) {
        struct step *step = GT_GROW(steps, step);
        if (!step)
            return -ENOMEM;
        *step = (struct step){-INFINITY, INFINITY, 0, 0, UINT32_MAX, 0};
    }
    struct step *step = &steps->step[number];
    step->ranks += step->last != rank;
    step->last = (uint32_t)rank;
    if (length > step->longest)
        step->slowest = (uint32_t)rank;
    if (length < step->shortest)
        step->quickest = (uint32_t)rank;
    step->longest = fmax(step->longest, length);
    step->shortest = fmin(step->shortest, length);
    return 0;
}

static struct steps_of_name *steps_named(struct all_steps *all, const char *name, size_t launch)
{
    int64_t number = gt_strings_add(&all->names, name, strlen(name));
    if (number < 0)
        return NULL;
    size_t place = (size_t)number * all->job->launches + launch;
    while (all->name_count <= place) {
        struct steps_of_name *steps = GT_GROW(all, name);
        if (!steps)
            return NULL;
        *steps = (struct steps_of_name){0};
    }
    return &all->name[place];
}

static int add_rank_steps(void *context, const struct gt_calls_of_rank *calls)
{
    struct all_steps *all = context;
    struct steps_of_name *steps = NULL;
    size_t number = 0;
    for (size_t i = 0; i < calls->interval_count; i++) {
        const struct gt_interval *call = &calls->interval[i];
        if (!i || call->name != call[-1].name)
            steps = steps_named(all, gt_strings_text(&calls->names, call->name),
                                gt_job_member_launch(all->job, (size_t)call->process));
        number = i && call->name == call[-1].name && call->process == call[-1].process ? number + 1 : 0;
        if (!steps)
            return -ENOMEM;
        if (!call->unfinished && !isnan(call->elapsed) &&
            add_step(steps, number, (size_t)call->process, call->elapsed) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static int hand_steps_on(const struct all_steps *all, const char *name, size_t launch,
                         int (*take)(void *context, const struct gt_job_step *step), void *context)
{
    size_t place = (size_t)gt_strings_find(&all->names, name, strlen(name)) * all->job->launches + launch;
    const struct steps_of_name *steps = &all->name[place];
    int status = 0;
    if (place >= all->name_count)
        return 0;
    for (size_t i = 0; i < steps->step_count && status >= 0; i++) {
        const struct step *step = &steps->step[i];
        if (step->ranks)
            status = take(context, &(struct gt_job_step){name, launch, i, step->ranks, step->slowest, step->quickest,
                                                         step->longest, step->shortest});
    }
    return status;
}

int gt_job_calls_by_number(const struct gt_job *job, int (*take)(void *context, const struct gt_job_step *step),
                           void *context, struct gt_error *error)
{
    struct all_steps all = {.job = job};
    int status = each_rank(job, add_rank_steps, &all, error);
    const char **names = calloc(all.names.count + 1, sizeof *names);
    if (status >= 0 && !names)
        status = gt_error_system(error, ENOMEM, "%s", job->source->name);
    for (size_t i = 0; i < all.names.count && names; i++)
        names[i] = gt_strings_text(&all.names, i);
    GT_SORT(names, names ? all.names.count : 0, compare_texts);
    for (size_t i = 0; i < all.names.count * job->launches && status >= 0; i++)
        status = hand_steps_on(&all, names[i / job->launches], i % job->launches, take, context);
    for (size_t i = 0; i < all.name_count; i++)
        free(all.name[i].step);
    free(names);
    free(all.name);
    gt_strings_release(&all.names);
    return status;
}

/* ---- The calls of code blocks over all ranks of a job ---- */

struct all {
    const struct gt_job *job;
    struct gt_job_call_list list;
};

static double mean_of(const struct gt_job_calls *calls)
{
    return calls->count ? calls->total / (double)calls->count : NAN;
}

/* ---- Each block ---- */

static struct gt_table *begin_blocks(struct gt_node *root, const struct gt_job *job)
{
    static const char *const columns[][2] = {{"total", "Time of all"},
                                             {"self", "Self time"},
                                             {"cpu_time", "CPU time"},
                                             {"mean", "Mean call"},
                                             {"median_rank", "Mean call of the median rank"},
                                             {"slowest_rank", "Of the slowest"},
                                             {"longest", "Longest call"}};
    struct gt_table *table = gt_report_table(
        root, "blocks", job->launches > 1 ? "Code blocks over the ranks of each step" : "Code blocks over all ranks");
    gt_table_flags(table, GT_BRIEF | GT_FEWER_COLUMNS);
    gt_table_column(table, "name", "Block", GT_CELL_TEXT, NULL);
    gt_job_launch_column(table, job);
    gt_table_column(table, "ranks", "Ranks", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "num_calls", "Calls", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "num_unfinished_calls", "Unfinished", GT_CELL_INTEGER, NULL);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        gt_table_column(table, columns[i][0], columns[i][1], GT_CELL_NUMBER, "seconds");
    gt_table_column(table, "imbalance", "Imbalance (slowest / mean - 1)", GT_CELL_NUMBER, NULL);
    return table;
}

/* Add a row for one block in the ranks of one step. */
static int add_block(struct gt_table *table, const struct gt_job *job, size_t launch, const struct gt_job_calls *calls,
                     size_t count)
{
    struct gt_job_calls sum = {.total = NAN, .self = NAN, .cpu_time = NAN, .longest = NAN};
    struct gt_spread spread;
    size_t ranks = 0;
    double *mean = calloc(count, sizeof *mean);
    if (!mean)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct gt_job_calls *rank = &calls[i];
        if (gt_job_member_launch(job, rank->member) != launch)
            continue;
        mean[ranks++] = mean_of(rank);
        sum.count += rank->count;
        sum.unfinished += rank->unfinished;
        sum.total = gt_job_add(sum.total, rank->total);
        sum.self = gt_job_add(sum.self, rank->self);
        sum.cpu_time = gt_job_add(sum.cpu_time, rank->cpu_time);
        sum.longest = fmax(sum.longest, rank->longest);
    }
    int status = gt_spread_of(&spread, mean, ranks);
    free(mean);
    if (!ranks)
        return status;
    const double cells[] = {sum.total,     sum.self,    sum.cpu_time, mean_of(&sum),
                            spread.median, spread.most, sum.longest,  gt_spread_imbalance(&spread)};
    gt_table_text(table, calls->name);
    gt_job_launch_cell(table, job, launch);
    gt_table_integer(table, (int64_t)ranks);
    gt_table_integer(table, (int64_t)sum.count);
    gt_table_integer(table, (int64_t)sum.unfinished);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        gt_table_number(table, cells[i]);
    return status;
}

static int add_blocks(struct gt_node *root, const struct all *all)
{
    struct gt_table *table = begin_blocks(root, all->job);
    const struct gt_job_calls *calls = all->list.calls;
    int status = 0;
    for (size_t first = 0, end; first < all->list.calls_count && !status; first = end) {
        for (end = first; end < all->list.calls_count && !strcmp(calls[end].name, calls[first].name);)
            end++;
        for (size_t i = 0; i < all->job->launches && !status; i++)
            status = add_block(table, all->job, i, &calls[first], end - first);
    }
    return status;
}

/* ---- Each block of each rank ---- */

static void add_columns(struct gt_table *table, const void *context)
{
    static const char *const columns[][2] = {{"total", "Time"},     {"self", "Self time"}, {"cpu_time", "CPU time"},
                                             {"mean", "Mean call"}, {"p50", "Median"},     {"p95", "p95"},
                                             {"longest", "Longest"}};
    const struct all *all = context;
    gt_table_column(table, "name", "Block", GT_CELL_TEXT, NULL);
    gt_job_rank_columns(table, all->job);
    gt_table_column(table, "num_calls", "Calls", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "num_unfinished_calls", "Unfinished", GT_CELL_INTEGER, NULL);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        gt_table_column(table, columns[i][0], columns[i][1], GT_CELL_NUMBER, "seconds");
}

static void add_row(struct gt_table *table, const void *context, size_t row)
{
    const struct all *all = context;
    const struct gt_job_calls *calls = &all->list.calls[row];
    gt_table_text(table, calls->name);
    gt_job_rank_cells(table, all->job, calls->member);
    gt_table_integer(table, (int64_t)calls->count);
    gt_table_integer(table, (int64_t)calls->unfinished);
    const double cells[] = {calls->total, calls->self, calls->cpu_time, mean_of(calls),
                            calls->p50,   calls->p95,  calls->longest};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        gt_table_number(table, cells[i]);
}

static int add_ranks(struct gt_node *root, const struct all *all, int top)
{
    double *total = calloc(all->list.calls_count + 1, sizeof *total);
    for (size_t i = 0; i < all->list.calls_count && total; i++)
        total[i] = all->list.calls[i].total;
    int status = total
                     ? gt_job_list(root, &(struct gt_job_listing){.job = all->job,
                                                                  .key = "ranks",
                                                                  .title = "Code blocks of each rank",
                                                                  .few_title = "The shortest and the longest of a rank",
                                                                  .count = all->list.calls_count,
                                                                  .value = total,
                                                                  .top = top,
                                                                  .add_columns = add_columns,
                                                                  .add_row = add_row,
                                                                  .context = all})
                     : -ENOMEM;
    free(total);
    return status;
}

static int build(struct gt_node *root, const struct gt_job *job, const struct gt_job_options *options,
                 struct gt_error *error)
{
    struct all all = {.job = job};
    int status = gt_job_calls_read(&all.list, job, error);
    if (status >= 0 && !all.list.calls_count)
        status = gt_error_set(error, ENOENT,
                              "%s: no recording holds code blocks: record with 'gpu-tracker run --blocks'",
                              job->source->name);
    if (status >= 0)
        status = add_blocks(root, &all);
    if (status >= 0)
        status = add_ranks(root, &all, options->top);
    gt_job_calls_release(&all.list);
    return status;
}

const struct gt_job_analysis gt_job_blocks = {.name = "blocks", .type = "job_blocks", .build = build};
