/* Slow ranks: by calls of blocks, by steps, and by utilization. */
#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/job/job_analysis.h"

enum { COLUMNS = 240, TOP = 10 };

/* ---- Ranks that are off ---- */

static const struct gt_job_column found_columns[] = {
    GT_JOB_RANK_COLUMNS,
    {"figure", "In", NULL, GT_COLUMN_ONLY_DATA, "name"},
    {"figure", "In", NULL, GT_COLUMN_ONLY_PEOPLE, "words"},
    {"unit", "Unit", NULL, GT_COLUMN_UNIT, NULL},
    {"value", "Value", NULL, 0, NULL},
    {"ratio", "Of the median", NULL, GT_COLUMN_AS_IS, NULL},
    {"deviations", "Deviations", NULL, GT_COLUMN_AS_IS, NULL},
    {"share_off", "Of its time", NULL, GT_COLUMN_AS_IS, NULL},
    {"since_start", "Later than at first, less 1", NULL, GT_COLUMN_AS_IS, NULL},
    {"with_node", "Who else", NULL, 0, "off"},
    {NULL, NULL, NULL, 0, NULL}};

/* Returns the rows that gt_job_score found off. `name` and `words` are of a metric; without them rows have the name of a block. */
static struct gt_rows find_off(const struct gt_rows *scored, const char *name, const char *words, const char *unit)
{
    static const char *const who[] = {"", "it is alone", "its node is"};
    struct gt_rows found = gt_rows_above(scored, "off", 0);
    const struct gt_rows_column *block = NULL;
    if (!name) {
        gt_rows_rename(&found, "name", "block");
        block = gt_rows_need(&found, __func__, "block", strlen("block"));
    }
    const char **names = gt_job_add_texts(&found, "name"), **shown = gt_job_add_texts(&found, "words"),
               **units = gt_job_add_texts(&found, "unit");
    for (size_t i = 0; i < found.count; i++) {
        names[i] = block ? block->words[block->key[i]] : name;
        shown[i] = block ? names[i] : words;
        units[i] = unit;
    }
    struct gt_rows_column *off = gt_rows_find_of(&found, "off", strlen("off"));
    if (off)
        off->words = who;
    return found;
}

/* For ranks below a tracker without detail, only the value of the whole run is known. */
static struct gt_rows find_in_course(const struct gt_job_course *course)
{
    const struct gt_job *job = course->job;
    bool is_gpu = course->subject.metric == GT_GPU_UTILIZATION;
    const uint32_t *member = gt_rows_keys(&course->rows, "member");
    const double *mean = gt_rows_reals(&course->rows, "mean");
    struct gt_rows rows = job->rows;
    rows.count = rows.count ? job->members : 0;
    double *value = gt_rows_add_reals(&rows, "value");
    double *part = gt_query_memory(job->query, rows.count * course->columns, sizeof *part);
    char *words = gt_query_memory(job->query, GT_JOB_WORDS, 1);
    for (size_t i = 0; i < rows.count; i++)
        value[i] = job->member[i].below ? gt_job_figure(job, i, is_gpu ? GT_JOB_GPU_USE : GT_JOB_CORES) : NAN;
    for (size_t i = 0; i < rows.count * course->columns && words; i++)
        part[i] = NAN;
    for (size_t i = 0; i < course->rows.count && member[i] < rows.count && words; i++) {
        value[member[i]] = mean[i];
        memcpy(part + member[i] * course->columns, course->column + i * course->columns,
               course->columns * sizeof *part);
    }
    gt_job_score(&rows, "job", part, course->columns);
    return find_off(&rows, course->name, words ? gt_job_metric_words(words, course->subject.metric) : "", course->unit);
}

/* ---- Blocks by rank ---- */

/* The others may wait for the slowest rank as long as its time exceeds the mean. */
static void add_blocks(struct gt_node *root, const struct gt_job *job, const struct gt_rows *called)
{
    static const struct gt_job_column columns[] = {{"name", "Block", NULL, 0, NULL},
                                                   {"ranks", "Ranks", NULL, 0, NULL},
                                                   {"calls", "Calls", NULL, 0, NULL},
                                                   {"call", "A call of the median rank", "seconds", 0, NULL},
                                                   {"median", "Median rank", "seconds", 0, NULL},
                                                   {"most", "Slowest rank", "seconds", 0, NULL},
                                                   GT_JOB_RANK_COLUMNS,
                                                   {"imbalance", "Imbalance (slowest / mean - 1)", NULL, 0, NULL},
                                                   {"cost", "Slowest - mean", "seconds", 0, NULL},
                                                   {NULL, NULL, NULL, 0, NULL}};
    struct gt_rows total = gt_job_spread(called, "name job", "total");
    struct gt_rows blocks = gt_rows_group(
        called, "name job",
        GT_AGGREGATES(GT_COUNT("ranks"), GT_SUM("calls", "count"), GT_QUANTILE("call", "mean", 0.5),
                      GT_ARG_MAX("member", "total", "member"), GT_ARG_MAX("rank", "total", "rank"),
                      GT_ARG_MAX("node", "total", "node")));
    gt_rows_join(&blocks, &total, "name job", "median most mean imbalance");
    const double *most = gt_rows_reals(&blocks, "most"), *mean = gt_rows_reals(&blocks, "mean");
    double *cost = gt_rows_add_reals(&blocks, "cost");
    for (size_t i = 0; i < blocks.count; i++)
        cost[i] = most[i] - mean[i];
    gt_job_hide_empty(
        gt_job_table(root, job, "blocks", "Blocks over the ranks", GT_BRIEF | GT_FEWER_COLUMNS, &blocks, columns));
}

static struct gt_rows find_in_blocks(const struct gt_rows *called)
{
    struct gt_rows rows = *called;
    gt_rows_rename(&rows, "mean", "value");
    gt_job_score(&rows, "name job", NULL, 0);
    return find_off(&rows, NULL, NULL, "seconds");
}

/* ---- Step by step ---- */

/* In these calls of MPI each rank waits for all others, so the rank with the shortest call came last. */
static bool is_meeting(const char *name)
{
    static const char *const names[] = {
        "Barrier",   "Allreduce", "Allgather",      "Allgatherv",           "Alltoall",
        "Alltoallv", "Alltoallw", "Reduce_scatter", "Reduce_scatter_block", "Win_fence"};
    for (size_t i = 0; i < sizeof names / sizeof *names && !strncmp(name, "MPI_", 4); i++)
        if (!strcmp(name + 4, names[i]))
            return true;
    return false;
}

/* Add how often each rank was the slowest, or the last, and the cost: of each block the ranks that cost most, the worst first. */
static void add_steps(struct gt_node *root, const struct gt_job *job, const struct gt_rows *steps, bool is_last,
                      int top)
{
    const struct gt_job_column columns[] = {{"name", "Block", NULL, 0, NULL},
                                            GT_JOB_RANK_COLUMNS,
                                            {"times", is_last ? "Times last" : "Times slowest", NULL, 0, NULL},
                                            {"steps", "Of steps", NULL, 0, NULL},
                                            {"lost", "Longest less shortest, together", "seconds", 0, NULL},
                                            {NULL, NULL, NULL, 0, NULL}};
    const struct gt_rows_column *name = gt_rows_need(steps, __func__, "name", strlen("name"));
    bool *is_wanted = gt_query_memory(job->query, steps->count, sizeof *is_wanted);
    for (size_t i = 0; i < steps->count && is_wanted; i++)
        is_wanted[i] = is_meeting(name->words[name->key[i]]) == is_last;
    struct gt_rows own = gt_rows_filter(steps, is_wanted);
    gt_rows_rename(&own, is_last ? "quickest" : "slowest", "member");
    struct gt_rows blocks = gt_rows_group(&own, "name job", GT_AGGREGATES(GT_COUNT("steps")));
    struct gt_rows ranks = gt_rows_group(&own, "name job member",
                                         GT_AGGREGATES(GT_COUNT("times"), GT_SUM("lost", "lost")));
    gt_rows_join(&ranks, &blocks, "name job", "steps");
    gt_rows_join(&ranks, &job->rows, "member", "rank node");
    gt_rows_sort(&ranks, "name job -lost member");
    bool *is_shown = gt_query_memory(job->query, ranks.count, sizeof *is_shown);
    for (size_t from = 0, to; from < ranks.count && is_shown; from = to) {
        to = gt_rows_run(&ranks, "name job", from);
        for (size_t i = from; i < to; i++)
            is_shown[i] = top < 0 || i - from < (size_t)(top ? top : TOP);
    }
    ranks = gt_rows_filter(&ranks, is_shown);
    gt_job_hide_empty(
        gt_job_table(root, job, is_last ? "last" : "slowest",
                     is_last ? "The rank that came last, for which the others waited" : "The slowest rank of each step",
                     GT_BRIEF | GT_FEWER_COLUMNS, &ranks, columns));
}

/* ---- The report ---- */

static const char *none_off(const struct gt_job *job)
{
    struct gt_rows members = job->rows;
    members.count = members.count ? job->members : 0;
    struct gt_rows steps = gt_rows_group(&members, "job", GT_AGGREGATES(GT_COUNT("ranks")));
    for (size_t i = 0; i < steps.count; i++)
        if (gt_rows_wholes(&steps, "ranks")[i] >= 5)
            return "No rank is off by five deviations and a twentieth.";
    return job->launches > 1
               ? "Too few ranks in a step to name an outlier (5 needed): profile utilization compares them."
               : "Too few ranks to name an outlier (5 needed): profile utilization compares them.";
}

/* Leave out blocks whose names do not match. */
static void select_names(struct gt_rows *rows, const regex_t *select)
{
    const struct gt_rows_column *name = gt_rows_need(rows, __func__, "name", strlen("name"));
    bool *is_wanted = gt_query_memory(rows->query, rows->count, sizeof *is_wanted);
    for (size_t i = 0; i < rows->count && is_wanted; i++)
        is_wanted[i] = i && name->key[i] == name->key[i - 1] ? is_wanted[i - 1]
                                                             : !regexec(select, name->words[name->key[i]], 0, NULL, 0);
    *rows = gt_rows_filter(rows, is_wanted);
}

static int build_with(struct gt_node *root, const struct gt_job *job, const struct gt_job_options *options,
                      const regex_t *select, struct gt_error *error)
{
    static const struct gt_job_subject subjects[] = {{GT_SCOPE_COMBINED, GT_CPU_UTILIZATION, 0},
                                                     {GT_SCOPE_COMBINED, GT_GPU_UTILIZATION, 0}};
    enum { SUBJECTS = sizeof subjects / sizeof *subjects };
    struct gt_job_course course[SUBJECTS];
    struct gt_rows calls, steps;
    int status = gt_job_courses_read(course, SUBJECTS, job, subjects, COLUMNS, error);
    if (status >= 0)
        status = gt_job_calls_read(job, &calls, &steps, error);
    if (status < 0)
        return status;
    if (select) {
        select_names(&calls, select);
        select_names(&steps, select);
    }
    calls = gt_rows_above(&calls, "count", 0);
    steps = gt_rows_above(&steps, "ranks", 1);
    struct gt_rows found[] = {find_in_course(&course[0]), find_in_course(&course[1]), find_in_blocks(&calls)};
    struct gt_table *table = gt_job_table(root, job, "stragglers", "Ranks that are off", GT_BRIEF | GT_FEWER_COLUMNS,
                                          &found[0], found_columns);
    gt_job_put_rows(table, job, &found[1], found_columns);
    gt_job_put_rows(table, job, &found[2], found_columns);
    add_blocks(root, job, &calls);
    add_steps(root, job, &steps, false, options->top);
    add_steps(root, job, &steps, true, options->top);
    gt_job_verdict(root, table, none_off(job));
    return 0;
}

static int build(struct gt_node *root, const struct gt_job *job, const struct gt_job_options *options,
                 struct gt_error *error)
{
    regex_t select;
    if (options->select && regcomp(&select, options->select, REG_EXTENDED | REG_NOSUB))
        return gt_error_set(error, EINVAL, "select: \"%s\" is not a regular expression", options->select);
    int status = build_with(root, job, options, options->select ? &select : NULL, error);
    if (options->select)
        regfree(&select);
    return status;
}

const struct gt_job_analysis gt_job_stragglers = {
    .name = "stragglers", .type = "profile_stragglers", .has_blocks = true, .build = build};
