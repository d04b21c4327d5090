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

/* ---- By name and rank, and by name and number ---- */

struct summary {
    uint32_t name, member;
    int64_t count, unfinished;
    double total, self, cpu_time, mean, p50, p95, longest;
};

/* Call `number` of a block in the ranks of a launch. */
struct step {
    uint32_t name, job, number, last, slowest, quickest;
    int64_t ranks;
    double longest, shortest, lost;
};

struct steps_of_name {
    struct step *step;
    size_t step_count, step_capacity;
};

struct reading {
    const struct gt_job *job;
    struct gt_strings names;
    struct summary *summary;
    size_t summary_count, summary_capacity;
    bool has_steps;
    struct steps_of_name *name; /* number of the name * launches + launch */
    size_t name_count, name_capacity;
};

static int sum_up(struct summary *ret, const struct gt_interval *call, size_t count)
{
    struct gt_distribution lengths = {0};
    int status = 0;
    ret->total = ret->self = ret->cpu_time = NAN;
    for (size_t i = 0; i < count && status == 0; i++) {
        ret->unfinished += call[i].unfinished;
        if (call[i].unfinished)
            continue;
        ret->count++;
        gt_add_known(&ret->total, call[i].elapsed);
        gt_add_known(&ret->self, call[i].self);
        gt_add_known(&ret->cpu_time, call[i].cpu_stop - call[i].cpu_start);
        status = gt_distribution_add(&lengths, call[i].elapsed);
    }
    ret->mean = ret->count ? ret->total / (double)ret->count : NAN;
    ret->p50 = gt_distribution_percentile(&lengths, 50);
    ret->p95 = gt_distribution_percentile(&lengths, 95);
    ret->longest = gt_distribution_statistic(&lengths, GT_STAT_MAX);
    gt_distribution_release(&lengths);
    return status;
}

static int add_step(struct steps_of_name *steps, struct step at, double length)
{
    while (steps->step_count <= at.number) {
        struct step *step = GT_GROW(steps, step);
        if (!step)
            return -ENOMEM;
        *step = at;
        step->number = (uint32_t)steps->step_count - 1;
        step->last = UINT32_MAX;
        step->longest = -INFINITY;
        step->shortest = INFINITY;
    }
    struct step *step = &steps->step[at.number];
    step->ranks += step->last != at.last;
    step->last = at.last;
    if (length > step->longest)
        step->slowest = at.last;
    if (length < step->shortest)
        step->quickest = at.last;
    step->longest = fmax(step->longest, length);
    step->shortest = fmin(step->shortest, length);
    step->lost = step->longest - step->shortest;
    return 0;
}

/* Add the calls of one name and member. */
static int add_steps(struct reading *reading, uint32_t name, const struct gt_interval *call, size_t count)
{
    size_t launch = gt_job_member_launch(reading->job, (size_t)call->process);
    size_t place = name * reading->job->launches + launch;
    int status = 0;
    while (reading->name_count <= place) {
        struct steps_of_name *steps = GT_GROW(reading, name);
        if (!steps)
            return -ENOMEM;
        *steps = (struct steps_of_name){0};
    }
    for (size_t i = 0; i < count && status >= 0; i++) {
        const struct step at = {
            .name = name, .job = (uint32_t)launch, .number = (uint32_t)i, .last = (uint32_t)call->process};
        if (!call[i].unfinished && !isnan(call[i].elapsed))
            status = add_step(&reading->name[place], at, call[i].elapsed);
    }
    return status;
}

static int add_rank_calls(void *context, const struct gt_calls_of_rank *own)
{
    struct reading *reading = context;
    int status = 0;
    for (size_t first = 0, end; first < own->interval_count && status >= 0; first = end) {
        const struct gt_interval *call = &own->interval[first];
        const char *text = gt_strings_text(&own->names, call->name);
        int64_t name = gt_strings_add(&reading->names, text, strlen(text));
        struct summary *summary = name < 0 ? NULL : GT_GROW(reading, summary);
        if (!summary)
            return -ENOMEM;
        for (end = first + 1; end < own->interval_count && own->interval[end].name == call->name &&
                              own->interval[end].process == call->process;)
            end++;
        *summary = (struct summary){.name = (uint32_t)name, .member = (uint32_t)call->process};
        status = sum_up(summary, call, end - first);
        if (status >= 0 && reading->has_steps)
            status = add_steps(reading, (uint32_t)name, call, end - first);
    }
    return status;
}

/* ---- As rows ---- */

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Number the names in the order of bytes. Returns the names in this order. */
static const char **sort_names(struct gt_query *query, const struct gt_strings *names, uint32_t *number)
{
    char *arena = gt_query_memory(query, names->length, 1);
    const char **words = gt_query_memory(query, names->count + (size_t)1, sizeof *words);
    if (!words || !names->count)
        return words;
    memcpy(arena, names->arena, names->length);
    for (size_t i = 0; i < names->count; i++)
        words[i] = arena + names->place[i];
    qsort(words, names->count, sizeof *words, compare_texts);
    for (size_t i = 0; i < names->count; i++)
        number[gt_strings_find(names, words[i], strlen(words[i]))] = (uint32_t)i;
    return words;
}

static struct gt_rows named_rows(const struct gt_job *job, const void *records, size_t count, size_t size,
                                 const struct gt_rows_field *fields, const char **words, const uint32_t *number)
{
    struct gt_rows rows = gt_rows_of_records(job->query, records, count, size, fields);
    struct gt_rows_column *name = gt_rows_find_of(&rows, "name", strlen("name"));
    for (size_t i = 0; i < rows.count; i++)
        name->key[i] = number[name->key[i]];
    if (name)
        name->words = words;
    return rows;
}

static struct gt_rows calls_of(const struct reading *reading, const char **words, const uint32_t *number)
{
    static const struct gt_rows_field fields[] = {
        GT_FIELD(GT_KEY, struct summary, name),      GT_FIELD(GT_KEY, struct summary, member),
        GT_FIELD(GT_WHOLE, struct summary, count),   GT_FIELD(GT_WHOLE, struct summary, unfinished),
        GT_FIELD(GT_REAL, struct summary, total),    GT_FIELD(GT_REAL, struct summary, self),
        GT_FIELD(GT_REAL, struct summary, cpu_time), GT_FIELD(GT_REAL, struct summary, mean),
        GT_FIELD(GT_REAL, struct summary, p50),      GT_FIELD(GT_REAL, struct summary, p95),
        GT_FIELD(GT_REAL, struct summary, longest),  {NULL, GT_KEY, 0}};
    struct gt_rows rows = named_rows(reading->job, reading->summary, reading->summary_count, sizeof *reading->summary,
                                     fields, words, number);
    gt_job_name_members(reading->job, &rows);
    gt_rows_sort(&rows, "name member");
    return rows;
}

static struct gt_rows steps_of(const struct reading *reading, const char **words, const uint32_t *number)
{
    static const struct gt_rows_field fields[] = {
        GT_FIELD(GT_KEY, struct step, name),    GT_FIELD(GT_KEY, struct step, job),
        GT_FIELD(GT_KEY, struct step, number),  GT_FIELD(GT_WHOLE, struct step, ranks),
        GT_FIELD(GT_KEY, struct step, slowest), GT_FIELD(GT_KEY, struct step, quickest),
        GT_FIELD(GT_REAL, struct step, lost),   {NULL, GT_KEY, 0}};
    size_t count = 0, at = 0;
    for (size_t i = 0; i < reading->name_count; i++)
        count += reading->name[i].step_count;
    struct step *all = gt_query_memory(reading->job->query, count, sizeof *all);
    for (size_t i = 0; i < reading->name_count && all; i++)
        for (size_t k = 0; k < reading->name[i].step_count; k++)
            all[at++] = reading->name[i].step[k];
    struct gt_rows rows = named_rows(reading->job, all, at, sizeof *all, fields, words, number);
    struct gt_rows_column *launch = gt_rows_find_of(&rows, "job", strlen("job"));
    if (launch)
        launch->words = reading->job->launch;
    return rows;
}

int gt_job_calls_read(const struct gt_job *job, struct gt_rows *calls, struct gt_rows *steps, struct gt_error *error)
{
    struct reading reading = {.job = job, .has_steps = steps != NULL};
    int status = each_rank(job, add_rank_calls, &reading, error);
    uint32_t *number = gt_query_memory(job->query, reading.names.count + (size_t)1, sizeof *number);
    const char **words = number ? sort_names(job->query, &reading.names, number) : NULL;
    *calls = calls_of(&reading, words, number);
    if (steps)
        *steps = steps_of(&reading, words, number);
    for (size_t i = 0; i < reading.name_count; i++)
        free(reading.name[i].step);
    free(reading.name);
    free(reading.summary);
    gt_strings_release(&reading.names);
    return status;
}

/* ---- The calls of code blocks over all ranks of a job ---- */

/* Add a row for each block in the ranks of each launch. */
static void add_blocks(struct gt_node *root, const struct gt_job *job, const struct gt_rows *calls)
{
    static const struct gt_job_column columns[] = {
        {"name", "Block", NULL, 0, NULL},
        GT_JOB_STEP_COLUMN,
        {"ranks", "Ranks", NULL, 0, NULL},
        {"num_calls", "Calls", NULL, 0, NULL},
        {"num_unfinished_calls", "Unfinished", NULL, 0, NULL},
        {"total", "Time of all", "seconds", 0, NULL},
        {"self", "Self time", "seconds", 0, NULL},
        {"cpu_time", "CPU time", "seconds", 0, NULL},
        {"mean", "Mean call", "seconds", 0, "mean_call"},
        {"median_rank", "Mean call of the median rank", "seconds", 0, "median"},
        {"slowest_rank", "Of the slowest", "seconds", 0, "most"},
        {"longest", "Longest call", "seconds", 0, NULL},
        {"imbalance", "Imbalance (slowest / mean - 1)", NULL, 0, NULL},
        {NULL, NULL, NULL, 0, NULL}};
    struct gt_rows spread = gt_job_spread(calls, "name job", "mean");
    struct gt_rows blocks = gt_rows_group(
        calls, "name job",
        GT_AGGREGATES(GT_COUNT("ranks"), GT_SUM("num_calls", "count"), GT_SUM("num_unfinished_calls", "unfinished"),
                      GT_TOTAL("total", "total"), GT_TOTAL("self", "self"), GT_TOTAL("cpu_time", "cpu_time"),
                      GT_MAX("longest", "longest")));
    gt_rows_join(&blocks, &spread, "name job", "median most imbalance");
    const int64_t *count = gt_rows_wholes(&blocks, "num_calls");
    const double *total = gt_rows_reals(&blocks, "total");
    double *mean = gt_rows_add_reals(&blocks, "mean_call");
    for (size_t i = 0; i < blocks.count; i++)
        mean[i] = count[i] ? total[i] / (double)count[i] : NAN;
    gt_job_table(root, job, "blocks",
                 job->launches > 1 ? "Code blocks over the ranks of each step" : "Code blocks over all ranks",
                 GT_BRIEF | GT_FEWER_COLUMNS, &blocks, columns);
}

static int build(struct gt_node *root, const struct gt_job *job, const struct gt_job_options *options,
                 struct gt_error *error)
{
    static const struct gt_job_column columns[] = {{"name", "Block", NULL, 0, NULL},
                                                   GT_JOB_RANK_COLUMNS,
                                                   {"num_calls", "Calls", NULL, 0, "count"},
                                                   {"num_unfinished_calls", "Unfinished", NULL, 0, "unfinished"},
                                                   {"total", "Time", "seconds", 0, NULL},
                                                   {"self", "Self time", "seconds", 0, NULL},
                                                   {"cpu_time", "CPU time", "seconds", 0, NULL},
                                                   {"mean", "Mean call", "seconds", 0, NULL},
                                                   {"p50", "Median", "seconds", 0, NULL},
                                                   {"p95", "p95", "seconds", 0, NULL},
                                                   {"longest", "Longest", "seconds", 0, NULL},
                                                   {NULL, NULL, NULL, 0, NULL}};
    struct gt_rows calls;
    int status = gt_job_calls_read(job, &calls, NULL, error);
    if (status < 0)
        return status;
    if (!calls.count && !gt_query_status(job->query))
        return gt_error_set(error, ENOENT, "%s: no recording holds code blocks: record with 'gpu-tracker run --blocks'",
                            job->source->name);
    add_blocks(root, job, &calls);
    gt_job_list(root, job,
                &(struct gt_job_listing){.key = "ranks",
                                         .title = "Code blocks of each rank",
                                         .few_title = "The shortest and the longest of a rank",
                                         .order = "total",
                                         .top = options->top},
                &calls, columns);
    return 0;
}

const struct gt_job_analysis gt_job_blocks = {.name = "blocks", .type = "job_blocks", .build = build};
