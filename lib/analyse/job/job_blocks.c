/* The calls of code blocks over all ranks of a job. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/job/job_analysis.h"
#include "base/grow.h"

struct kept {
    struct gt_job_calls calls; /* its name is owned */
    double mean;
};

struct all {
    struct kept *call;
    size_t call_count, call_capacity;
    const struct gt_job *job;
};

static int take_calls(void *context, const struct gt_job_calls *calls)
{
    struct all *all = context;
    char *name = strdup(calls->name);
    struct kept *kept = name ? GT_GROW(all, call) : NULL;
    if (!kept) {
        free(name);
        return -ENOMEM;
    }
    *kept = (struct kept){*calls, calls->count ? calls->total / (double)calls->count : NAN};
    kept->calls.name = name;
    return 0;
}

/* ---- Each block -------------------------------------------------------------------------------------------------- */

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

static double add(double sum, double value)
{
    return isnan(value) ? sum : isnan(sum) ? value : sum + value;
}

/* Of one block, whose calls these are, the ranks of one step. */
static int add_block(struct gt_table *table, const struct gt_job *job, size_t launch, const struct kept *call,
                     size_t count)
{
    struct gt_job_calls sum = {.total = NAN, .self = NAN, .cpu_time = NAN, .longest = NAN};
    struct gt_spread spread;
    size_t ranks = 0;
    double *mean = calloc(count, sizeof *mean);
    if (!mean)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct gt_job_calls *rank = &call[i].calls;
        if (gt_job_member_launch(job, rank->member) != launch)
            continue;
        mean[ranks++] = call[i].mean;
        sum.count += rank->count;
        sum.unfinished += rank->unfinished;
        sum.total = add(sum.total, rank->total);
        sum.self = add(sum.self, rank->self);
        sum.cpu_time = add(sum.cpu_time, rank->cpu_time);
        sum.longest = fmax(sum.longest, rank->longest);
    }
    int status = gt_spread_of(&spread, mean, ranks);
    free(mean);
    if (!ranks)
        return status;
    const double cells[] = {sum.total,     sum.self,    sum.cpu_time, sum.count ? sum.total / (double)sum.count : NAN,
                            spread.median, spread.most, sum.longest,  gt_spread_imbalance(&spread)};
    gt_table_text(table, call->calls.name);
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
    int status = 0;
    for (size_t first = 0, end; first < all->call_count && !status; first = end) {
        for (end = first; end < all->call_count && !strcmp(all->call[end].calls.name, all->call[first].calls.name);)
            end++;
        for (size_t i = 0; i < all->job->launches && !status; i++)
            status = add_block(table, all->job, i, &all->call[first], end - first);
    }
    return status;
}

/* ---- Each block of each rank ------------------------------------------------------------------------------------- */

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
    const struct kept *kept = &all->call[row];
    const struct gt_job_calls *calls = &kept->calls;
    gt_table_text(table, calls->name);
    gt_job_rank_cells(table, all->job, calls->member);
    gt_table_integer(table, (int64_t)calls->count);
    gt_table_integer(table, (int64_t)calls->unfinished);
    const double cells[] = {calls->total, calls->self, calls->cpu_time, kept->mean,
                            calls->p50,   calls->p95,  calls->longest};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        gt_table_number(table, cells[i]);
}

static int add_ranks(struct gt_node *root, const struct all *all, int top)
{
    double *total = calloc(all->call_count + 1, sizeof *total);
    for (size_t i = 0; i < all->call_count && total; i++)
        total[i] = all->call[i].calls.total;
    int status = total
                     ? gt_job_list(root, &(struct gt_job_listing){.job = all->job,
                                                                  .key = "ranks",
                                                                  .title = "Code blocks of each rank",
                                                                  .few_title = "The shortest and the longest of a rank",
                                                                  .count = all->call_count,
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
    int status = job->source->calls(job->source->state, job, take_calls, &all, error);
    if (status >= 0 && !all.call_count)
        status = gt_error_set(error, ENOENT,
                              "%s: no recording holds code blocks: record with 'gpu-tracker run --blocks'",
                              job->source->name);
    if (status >= 0)
        status = add_blocks(root, &all);
    if (status >= 0)
        status = add_ranks(root, &all, options->top);
    for (size_t i = 0; i < all.call_count; i++)
        free((char *)all.call[i].calls.name);
    free(all.call);
    return status;
}

const struct gt_job_analysis gt_job_blocks = {.name = "blocks", .type = "job_blocks", .build = build};
