/* Slow ranks: by calls of blocks, by steps, and by utilization. */
#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/job/job_analysis.h"
#include "base/grow.h"
#include "base/map.h"

enum { COLUMNS = 240, BLOCKS = 20 };

struct stragglers {
    const struct gt_job *job;
    struct gt_table *found; /* outliers */
    size_t *node, *launch;  /* of each member */
    const struct gt_job_options *options;
    regex_t select;
};

/* ---- Ranks that are off ---- */

static struct gt_table *begin_found(struct gt_node *root, const struct gt_job *job)
{
    static const char *const columns[][2] = {{"ratio", "Of the median"},
                                             {"deviations", "Deviations"},
                                             {"share_off", "Of its time"},
                                             {"since_start", "Later than at first, less 1"}};
    struct gt_table *table = gt_report_table(root, "stragglers", "Ranks that are off");
    gt_table_flags(table, GT_BRIEF | GT_FEWER_COLUMNS);
    gt_job_rank_columns(table, job);
    gt_job_column(table, "figure", "In", GT_CELL_TEXT, NULL, GT_COLUMN_ONLY_DATA);
    gt_job_column(table, "figure", "In", GT_CELL_TEXT, NULL, GT_COLUMN_ONLY_PEOPLE);
    gt_job_column(table, "unit", "Unit", GT_CELL_TEXT, NULL, GT_COLUMN_UNIT);
    gt_table_column(table, "value", "Value", GT_CELL_NUMBER, NULL);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        gt_job_column(table, columns[i][0], columns[i][1], GT_CELL_NUMBER, NULL, GT_COLUMN_AS_IS);
    }
    gt_table_column(table, "with_node", "Who else", GT_CELL_TEXT, NULL);
    return table;
}

/* A metric or a block. */
struct figure {
    const char *name, *words, *unit;
};

static int add_found(const struct stragglers *stragglers, const struct figure *figure,
                     const struct gt_rank_figures *figures)
{
    struct gt_rank_score *score = calloc(figures->ranks + 1, sizeof *score);
    int status = score ? gt_rank_scores(figures, NULL, score, NULL) : -ENOMEM;
    for (size_t i = 0; i < figures->ranks && !status; i++) {
        if (!score[i].is_off)
            continue;
        gt_job_rank_cells(stragglers->found, stragglers->job, i);
        gt_table_text(stragglers->found, figure->name);
        gt_table_text(stragglers->found, figure->words);
        gt_table_text(stragglers->found, figure->unit);
        gt_table_number(stragglers->found, figures->value[i]);
        gt_table_number(stragglers->found, score[i].ratio);
        gt_table_number(stragglers->found, score[i].deviations);
        gt_table_number(stragglers->found, score[i].share_off);
        gt_table_number(stragglers->found, score[i].since_start);
        gt_table_text(stragglers->found, score[i].with_node ? "its node is" : "it is alone");
    }
    free(score);
    return status;
}

/* For ranks below a tracker without detail, only the value of the whole run is known. */
static void take_figures(double *value, double *part, const struct gt_job_course *course)
{
    const struct gt_job *job = course->job;
    bool is_gpu = course->subject.metric == GT_GPU_UTILIZATION;
    for (size_t i = 0; i < job->members; i++)
        value[i] = job->member[i].below ? gt_job_figure(job, i, is_gpu ? GT_JOB_GPU_USE : GT_JOB_CORES) : NAN;
    for (size_t i = 0; i < job->members * course->columns; i++)
        part[i] = NAN;
    for (size_t i = 0; i < course->count; i++) {
        const struct gt_job_course_row *row = &course->row[i];
        if (row->member >= job->members)
            continue;
        value[row->member] = row->mean;
        memcpy(part + row->member * course->columns, row->column, course->columns * sizeof *part);
    }
}

static int add_course(const struct stragglers *stragglers, const struct gt_job_course *course)
{
    const struct gt_job *job = course->job;
    char words[GT_JOB_WORDS];
    double *value = calloc(job->members + 1, sizeof *value);
    double *part = calloc(job->members * course->columns + 1, sizeof *part);
    int status = value && part ? 0 : -ENOMEM;
    if (!status)
        take_figures(value, part, course);
    const struct gt_rank_figures figures = {job->members, course->columns,  job->nodes,         value,
                                            part,         stragglers->node, stragglers->launch, job->launches};
    gt_job_metric_words(words, course->subject.metric);
    if (!status)
        status = add_found(stragglers, &(struct figure){course->name, words, gt_job_course_unit(course)}, &figures);
    free(value);
    free(part);
    return status;
}

static int add_courses(const struct stragglers *stragglers, struct gt_error *error)
{
    static const struct gt_job_subject subjects[] = {{GT_SCOPE_COMBINED, GT_CPU_UTILIZATION, 0},
                                                     {GT_SCOPE_COMBINED, GT_GPU_UTILIZATION, 0}};
    enum { SUBJECTS = sizeof subjects / sizeof *subjects };
    struct gt_job_course course[SUBJECTS] = {0};
    int status = gt_job_courses_read(course, SUBJECTS, stragglers->job, subjects, COLUMNS, error);
    for (size_t i = 0; i < SUBJECTS; i++) {
        if (status >= 0)
            status = add_course(stragglers, &course[i]);
        gt_job_course_release(&course[i]);
    }
    return status;
}

/* ---- Blocks by rank ---- */

struct block_ranks {
    struct stragglers *stragglers;
    struct gt_table *table;
    char *name;    /* of the current block; NULL: none */
    double *total; /* of each rank; NaN: none */
    double *mean;
    uint64_t *calls; /* of each step of the job */
};

static bool is_wanted(const struct stragglers *stragglers, const char *name)
{
    return !stragglers->options->select || !regexec(&stragglers->select, name, 0, NULL, 0);
}

/* Spread of the ranks of one step. */
static int spread_within(struct gt_spread *ret, const struct stragglers *stragglers, const double *value, size_t launch)
{
    size_t count = stragglers->job->all_members;
    double *own = calloc(count + 1, sizeof *own);
    for (size_t i = 0; i < count && own; i++)
        own[i] = stragglers->launch[i] == launch ? value[i] : NAN;
    int status = own ? gt_spread_of(ret, own, count) : -ENOMEM;
    free(own);
    return status;
}

/* The others may wait for the slowest rank as long as its time exceeds the mean. */
static int add_block(const struct block_ranks *block, size_t launch)
{
    const struct gt_job *job = block->stragglers->job;
    struct gt_spread total, mean;
    size_t slowest = 0;
    int status = spread_within(&total, block->stragglers, block->total, launch);
    if (!status)
        status = spread_within(&mean, block->stragglers, block->mean, launch);
    if (status || !total.count)
        return status;
    for (size_t i = 0; i < job->all_members; i++)
        slowest = block->stragglers->launch[i] == launch && block->total[i] >= total.most ? i : slowest;
    gt_table_text(block->table, block->name);
    gt_table_integer(block->table, (int64_t)total.count);
    gt_table_integer(block->table, (int64_t)block->calls[launch]);
    gt_table_number(block->table, mean.median);
    gt_table_number(block->table, total.median);
    gt_table_number(block->table, total.most);
    gt_job_rank_cells(block->table, job, slowest);
    gt_table_number(block->table, gt_spread_imbalance(&total));
    gt_table_number(block->table, total.most - total.mean);
    return 0;
}

/* Add the block whose calls were taken, and begin another. */
static int next_block(struct block_ranks *block, const char *name)
{
    const struct gt_job *job = block->stragglers->job;
    const struct gt_rank_figures figures = {.ranks = job->all_members,
                                            .nodes = job->nodes,
                                            .value = block->mean,
                                            .node = block->stragglers->node,
                                            .group = block->stragglers->launch,
                                            .groups = job->launches};
    int status = 0;
    for (size_t i = 0; i < job->launches && block->name && !status; i++)
        status = add_block(block, i);
    if (block->name && !status)
        status = add_found(block->stragglers, &(struct figure){block->name, block->name, "seconds"}, &figures);
    free(block->name);
    block->name = name ? strdup(name) : NULL;
    memset(block->calls, 0, job->launches * sizeof *block->calls);
    for (size_t i = 0; i < job->all_members; i++)
        block->total[i] = block->mean[i] = NAN;
    return !status && name && !block->name ? -ENOMEM : status;
}

static int take_calls(struct block_ranks *block, const struct gt_job_calls *calls)
{
    if (!is_wanted(block->stragglers, calls->name) || !calls->count)
        return 0;
    if ((!block->name || strcmp(block->name, calls->name) != 0) && next_block(block, calls->name) < 0)
        return -ENOMEM;
    block->total[calls->member] = calls->total;
    block->mean[calls->member] = calls->total / (double)calls->count;
    block->calls[block->stragglers->launch[calls->member]] += calls->count;
    return 0;
}

static struct gt_table *begin_blocks(struct gt_node *root, const struct gt_job *job)
{
    struct gt_table *table = gt_report_table(root, "blocks", "Blocks over the ranks");
    gt_table_flags(table, GT_BRIEF | GT_FEWER_COLUMNS);
    gt_table_column(table, "name", "Block", GT_CELL_TEXT, NULL);
    gt_table_column(table, "ranks", "Ranks", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "calls", "Calls", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "call", "A call of the median rank", GT_CELL_NUMBER, "seconds");
    gt_table_column(table, "median", "Median rank", GT_CELL_NUMBER, "seconds");
    gt_table_column(table, "most", "Slowest rank", GT_CELL_NUMBER, "seconds");
    gt_job_rank_columns(table, job);
    gt_table_column(table, "imbalance", "Imbalance (slowest / mean - 1)", GT_CELL_NUMBER, NULL);
    gt_table_column(table, "cost", "Slowest - mean", GT_CELL_NUMBER, "seconds");
    return table;
}

static int add_blocks(struct gt_node *root, struct stragglers *stragglers, struct gt_error *error)
{
    const struct gt_job *job = stragglers->job;
    struct gt_job_call_list list = {0};
    struct block_ranks block = {.stragglers = stragglers, .table = begin_blocks(root, stragglers->job)};
    block.total = calloc(job->all_members + 1, sizeof *block.total);
    block.mean = calloc(job->all_members + 1, sizeof *block.mean);
    block.calls = calloc(job->launches + 1, sizeof *block.calls);
    int status = block.total && block.mean && block.calls ? 0 : -ENOMEM;
    if (!status)
        status = gt_job_calls_read(&list, job, error);
    for (size_t i = 0; i < list.calls_count && status >= 0; i++)
        status = take_calls(&block, &list.calls[i]);
    if (status >= 0)
        status = next_block(&block, NULL);
    gt_job_hide_empty(block.table);
    gt_job_calls_release(&list);
    free(block.name);
    free(block.total);
    free(block.mean);
    free(block.calls);
    return status;
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

/* How often each rank was the slowest, or the last, and the cost. */
struct step_ranks {
    struct stragglers *stragglers;
    struct gt_table *table;
    char *name;
    size_t launch; /* step of the job */
    uint64_t steps, *times;
    double *lost;
};

/* Add the ranks that cost most, the worst first, and begin another block. */
static int next_steps(struct step_ranks *steps, const char *name)
{
    const struct gt_job *job = steps->stragglers->job;
    int top = steps->stragglers->options->top ? steps->stragglers->options->top : 10;
    for (size_t row = 0; steps->name && row < (top < 0 ? job->all_members : (size_t)top); row++) {
        size_t worst = 0;
        for (size_t i = 1; i < job->all_members; i++)
            worst = steps->lost[i] > steps->lost[worst] ? i : worst;
        if (!steps->times[worst])
            break;
        gt_table_text(steps->table, steps->name);
        gt_job_rank_cells(steps->table, job, worst);
        gt_table_integer(steps->table, (int64_t)steps->times[worst]);
        gt_table_integer(steps->table, (int64_t)steps->steps);
        gt_table_number(steps->table, steps->lost[worst]);
        steps->times[worst] = 0;
        steps->lost[worst] = -1;
    }
    free(steps->name);
    steps->name = name ? strdup(name) : NULL;
    steps->steps = 0;
    memset(steps->times, 0, job->all_members * sizeof *steps->times);
    memset(steps->lost, 0, job->all_members * sizeof *steps->lost);
    return name && !steps->name ? -ENOMEM : 0;
}

enum { SLOWEST, LAST, STEP_TABLES };

static int take_step(void *context, const struct gt_job_step *step)
{
    bool is_last = is_meeting(step->name);
    struct step_ranks *steps = (struct step_ranks *)context + (is_last ? LAST : SLOWEST);
    uint32_t rank = is_last ? step->quickest : step->slowest;
    if (!is_wanted(steps->stragglers, step->name) || step->ranks < 2)
        return 0;
    if (!steps->name || strcmp(steps->name, step->name) != 0 || steps->launch != step->launch) {
        if (next_steps(steps, step->name) < 0)
            return -ENOMEM;
        steps->launch = step->launch;
    }
    steps->steps++;
    steps->times[rank]++;
    steps->lost[rank] += step->longest - step->shortest;
    return 0;
}

static int begin_steps(struct step_ranks *ret, struct gt_node *root, struct stragglers *stragglers, int which)
{
    static const struct {
        const char *key, *title, *times;
    } words[STEP_TABLES] = {{"slowest", "The slowest rank of each step", "Times slowest"},
                            {"last", "The rank that came last, for which the others waited", "Times last"}};
    size_t ranks = stragglers->job->all_members + 1;
    *ret = (struct step_ranks){.stragglers = stragglers,
                               .table = gt_report_table(root, words[which].key, words[which].title)};
    gt_table_flags(ret->table, GT_BRIEF | GT_FEWER_COLUMNS);
    gt_table_column(ret->table, "name", "Block", GT_CELL_TEXT, NULL);
    gt_job_rank_columns(ret->table, stragglers->job);
    gt_table_column(ret->table, "times", words[which].times, GT_CELL_INTEGER, NULL);
    gt_table_column(ret->table, "steps", "Of steps", GT_CELL_INTEGER, NULL);
    gt_table_column(ret->table, "lost", "Longest less shortest, together", GT_CELL_NUMBER, "seconds");
    ret->times = calloc(ranks, sizeof *ret->times);
    ret->lost = calloc(ranks, sizeof *ret->lost);
    return ret->times && ret->lost ? 0 : -ENOMEM;
}

static int add_steps(struct gt_node *root, struct stragglers *stragglers, struct gt_error *error)
{
    const struct gt_job *job = stragglers->job;
    struct step_ranks steps[STEP_TABLES] = {0};
    int status = 0;
    for (int i = 0; i < STEP_TABLES && !status; i++)
        status = begin_steps(&steps[i], root, stragglers, i);
    if (!status)
        status = gt_job_calls_by_number(job, take_step, steps, error);
    for (int i = 0; i < STEP_TABLES; i++) {
        if (status >= 0)
            next_steps(&steps[i], NULL);
        if (steps[i].table)
            gt_job_hide_empty(steps[i].table);
        free(steps[i].name);
        free(steps[i].times);
        free(steps[i].lost);
    }
    return status;
}

/* ---- The report ---- */

static const char *none_off(const struct gt_job *job)
{
    for (size_t launch = 0; launch < job->launches; launch++) {
        size_t ranks = 0;
        for (size_t i = 0; i < job->members; i++)
            ranks += gt_job_member_launch(job, i) == launch;
        if (ranks >= 5)
            return "No rank is off by five deviations and a twentieth.";
    }
    return job->launches > 1
               ? "Too few ranks in a step to name an outlier (5 needed): profile utilization compares them."
               : "Too few ranks to name an outlier (5 needed): profile utilization compares them.";
}

static int build_with(struct gt_node *root, struct stragglers *stragglers, struct gt_error *error)
{
    const struct gt_job *job = stragglers->job;
    stragglers->node = calloc(job->all_members + 1, sizeof *stragglers->node);
    stragglers->launch = calloc(job->all_members + 1, sizeof *stragglers->launch);
    int status = stragglers->node && stragglers->launch ? 0 : -ENOMEM;
    for (size_t i = 0; i < job->all_members && !status; i++) {
        stragglers->node[i] = gt_job_member_node(job, i);
        stragglers->launch[i] = gt_job_member_launch(job, i);
    }
    stragglers->found = begin_found(root, job);
    if (!status)
        status = add_courses(stragglers, error);
    if (status >= 0)
        status = add_blocks(root, stragglers, error);
    if (status >= 0)
        status = add_steps(root, stragglers, error);
    if (status >= 0)
        gt_job_verdict(root, stragglers->found, none_off(job));
    free(stragglers->node);
    free(stragglers->launch);
    return status;
}

static int build(struct gt_node *root, const struct gt_job *job, const struct gt_job_options *options,
                 struct gt_error *error)
{
    struct stragglers stragglers = {.job = job, .options = options};
    if (options->select && regcomp(&stragglers.select, options->select, REG_EXTENDED | REG_NOSUB))
        return gt_error_set(error, EINVAL, "select: \"%s\" is not a regular expression", options->select);
    int status = build_with(root, &stragglers, error);
    if (options->select)
        regfree(&stragglers.select);
    return status;
}

const struct gt_job_analysis gt_job_stragglers = {
    .name = "stragglers", .type = "profile_stragglers", .has_blocks = true, .build = build};
