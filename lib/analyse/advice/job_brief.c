#include "analyse/advice/job_brief.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/calls/call_tree.h"
#include "analyse/calls/functions.h"
#include "analyse/gpu/collectives.h"
#include "base/grow.h"
#include "base/number.h"
#include "schema/human.h"

/* The parts of a page on which a finding is seen, by the first analysis that tells more of it. */
static const char *part_of(const struct gt_job_brief *job, const char *see)
{
    static const char *const parts[][2] = {
        {"collectives", GT_JOB_LAST}, {"stragglers", GT_JOB_STEPS},   {"breakdown", GT_JOB_TIME},
        {"idle", GT_JOB_COURSE},      {"api", GT_JOB_COURSE},         {"launches", GT_JOB_COURSE},
        {"dataloader", GT_JOB_TIME},  {"critical_path", GT_JOB_PATH},
    };
    size_t length = strcspn(see, ",");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strlen(parts[i][0]) == length && !strncmp(parts[i][0], see, length) && gt_node_find(job->root, parts[i][1]))
            return parts[i][1];
    return gt_node_find(job->root, GT_JOB_TIME) ? GT_JOB_TIME : "ranks";
}

void gt_job_brief_finding(const struct gt_job_brief *job, struct gt_saving cost, const char *sentence, const char *see)
{
    char detail[160] = "", time[32];
    if (!isnan(cost.percent))
        snprintf(detail, sizeof detail, "costs %.1f %%%s, %s; ", cost.percent,
                 job->input->trace->shown_node ? "" : " of the job", gt_time_words(cost.us * 1e3, time));
    snprintf(detail + strlen(detail), sizeof detail - strlen(detail), "more: gpu-tracker profile %.*s PATH...",
             (int)strcspn(see, ","), see);
    gt_brief_finding(job->node, sentence, detail, part_of(job, see));
}

/* The mean over the ranks that have the figure, in percent of the time of their GPUs; *most is the rank with the most of it. */
static double mean_share(const struct gt_job_brief *job, enum gt_rank_figure figure, size_t *most)
{
    double sum = 0, greatest = -1;
    size_t count = 0;
    for (size_t i = 0; i < job->ranks; i++) {
        double share = gt_percent(job->rank[i].figure[figure], job->rank[i].whole);
        if (isnan(share))
            continue;
        sum += share;
        count++;
        *most = share > greatest ? i : *most;
        greatest = fmax(greatest, share);
    }
    return count ? sum / (double)count : NAN;
}

static void brief_share(const struct gt_job_brief *job, const char *title, enum gt_rank_figure figure,
                        const char *words)
{
    size_t most = 0;
    double share = mean_share(job, figure, &most);
    char value[32], text[200];
    if (isnan(share))
        return;
    snprintf(value, sizeof value, "%.1f %%", share);
    snprintf(text, sizeof text, "%s", words);
    if (job->ranks > 1)
        snprintf(text + strlen(text), sizeof text - strlen(text), "; the most on %.80s: %.1f %%",
                 gt_analysis_text(job->input, job->rank[most].node),
                 gt_percent(job->rank[most].figure[figure], job->rank[most].whole));
    gt_brief_line(job->node, &(struct gt_brief_line){.title = title, .value = value, .words = text});
}

struct gt_step_lengths gt_step_lengths(const struct gt_rows *rows, size_t from, size_t to)
{
    size_t count = to - from;
    const int64_t *longest = gt_rows_wholes(rows, "longest");
    double *all = gt_query_memory(rows->query, count, sizeof *all);
    struct gt_numbers sorted = {.value = gt_query_memory(rows->query, count, sizeof *all), .count = count};
    struct gt_step_lengths ret = {.longest = all, .count = sorted.value ? count : 0};
    for (size_t i = 0; i < ret.count; i++)
        all[i] = sorted.value[i] = (double)longest[from + i];
    if (!ret.count)
        return ret;
    ret.median = gt_numbers_percentile(&sorted, 50); /* sorts them */
    ret.min = sorted.value[0];
    ret.max = sorted.value[count - 1];
    ret.p95 = gt_numbers_percentile(&sorted, 95);
    for (size_t i = 0; i < count; i++)
        sorted.value[i] = fabs(all[i] - ret.median);
    sorted.is_sorted = false;
    ret.deviation = gt_numbers_percentile(&sorted, 50);
    ret.outlier = fmax(1.1 * ret.median, ret.median + 3 * 1.4826 * ret.deviation);
    return ret;
}

void gt_job_brief_step(const struct gt_job_brief *job, const char *mode, const struct gt_step_lengths *lengths,
                       size_t outliers)
{
    char value[32], text[200], words[32];
    struct gt_brief_curve curve;
    for (int i = 0; i < GT_BRIEF_CELLS; i++)
        curve.cell[i] = NAN;
    for (size_t i = 0; i < lengths->count; i++) {
        double *cell = &curve.cell[i * GT_BRIEF_CELLS / lengths->count];
        *cell = fmax(isnan(*cell) ? 0 : *cell, lengths->longest[i] / lengths->max);
    }
    snprintf(text, sizeof text, "%.60s: the median of %zu, 95 %% within %s, %zu outlier%s", mode ? mode : "",
             lengths->count, gt_time_words(lengths->p95, words), outliers, outliers == 1 ? "" : "s");
    gt_brief_line(job->node, &(struct gt_brief_line){.title = "step",
                                                     .value = gt_time_words(lengths->median, value),
                                                     .curve = lengths->count >= GT_BRIEF_CELLS ? &curve : NULL,
                                                     .words = text});
}

static void brief_idle(const struct gt_job_brief *job)
{
    size_t most = 0;
    double loading = mean_share(job, GT_RANK_LOADING, &most), host = mean_share(job, GT_RANK_HOST, &most);
    char words[120];
    snprintf(words, sizeof words, "data loading %.1f %%, host %.1f %%", loading, host);
    if (isnan(mean_share(job, GT_RANK_IDLE, &most)))
        brief_share(job, "loading", GT_RANK_LOADING, "of all time waiting for data");
    else
        brief_share(job, "idle", GT_RANK_IDLE, words);
}

static void brief_traces(const struct gt_job_brief *job)
{
    const struct gt_trace *trace = job->input->trace;
    int64_t first = INT64_MAX, last = INT64_MIN;
    const struct gt_collectives *all;
    int status = gt_collectives_find(job->input, GT_RULE_COLLECTIVES, &all);
    uint64_t events = 0;
    char value[32], text[120];
    for (size_t i = 0; i < trace->file_count; i++) {
        const struct gt_trace_file *file = &trace->file[i];
        const struct gt_rank_clock *clock = status < 0 ? NULL : gt_collectives_rank(all, job->input->node[i]);
        int64_t ahead = clock ? clock->offset : 0;
        events += file->read;
        if (file->first > file->last)
            continue;
        first = file->first - ahead < first ? file->first - ahead : first;
        last = file->last - ahead > last ? file->last - ahead : last;
    }
    snprintf(text, sizeof text, "from the first to the last of %" PRIu64 " events in %zu %s", events,
             (size_t)trace->file_count, trace->file_count == 1 ? "file" : "files");
    if (first <= last)
        gt_brief_line(job->node, &(struct gt_brief_line){.title = "traces",
                                                         .value = gt_time_words((double)(last - first), value),
                                                         .words = text});
}

/* The folder of several files, or the file. */
static void write_name(const struct gt_trace *trace, char *text, size_t size)
{
    const char *path = trace->file_count ? trace->file[0].path : "", *slash = strrchr(path, '/');
    if (trace->file_count > 1 && slash && slash > path) {
        const char *begin = slash;
        while (begin > path && begin[-1] != '/')
            begin--;
        snprintf(text, size, "%.*s", (int)(slash - begin), begin);
    } else {
        snprintf(text, size, "%s", slash ? slash + 1 : path);
    }
}

void gt_job_brief_begin(struct gt_job_brief *job, const struct gt_analysis_input *input, struct gt_node *root,
                        const struct gt_rank_figures *rank, size_t ranks)
{
    *job = (struct gt_job_brief){input, root, rank, ranks, NULL};
    size_t most = 0;
    double compute = mean_share(job, GT_RANK_COMPUTE, &most);
    char name[200], title[260], outcome[120];
    write_name(job->input->trace, name, sizeof name);
    snprintf(title, sizeof title, "%s", name);
    if (job->ranks && input->trace->shown_node)
        snprintf(title, sizeof title, "%s: %.50s", name, gt_analysis_text(input, rank->node));
    else if (job->ranks)
        snprintf(title, sizeof title, "%s: %zu rank%s", name, job->ranks, job->ranks == 1 ? "" : "s");
    if (isnan(compute))
        snprintf(outcome, sizeof outcome, "%s",
                 !job->ranks && input->trace->profile_count ? "a profile of functions" : "what GPUs did is not known");
    else
        snprintf(outcome, sizeof outcome, "GPUs compute %.1f %% of their time", compute);
    job->node = gt_brief_add(job->root, title, outcome, false);
}

void gt_job_brief_end(const struct gt_job_brief *job)
{
    brief_share(job, "compute", GT_RANK_COMPUTE, "of the time between the first and last work of a GPU");
    brief_share(job, "comm.", GT_RANK_COMMUNICATION, "exposed communication: no computation hides it");
    brief_idle(job);
    brief_traces(job);
    gt_brief_more(job->node, "all values: gpu-tracker profile PATH... -o job.html");
}

void gt_job_brief_left_out(const struct gt_job_brief *job, const char *what)
{
    char sentence[200];
    snprintf(sentence, sizeof sentence, "Left out: %s", what);
    gt_brief_warning(job->node, sentence, NULL);
}

void gt_job_brief_limits(const struct gt_job_brief *job, const char *limits, size_t findings)
{
    if (limits)
        gt_brief_line(job->node, &(struct gt_brief_line){.title = "not known", .words = limits});
    else if (!findings)
        gt_brief_line(job->node, &(struct gt_brief_line){.title = "findings",
                                                         .words = "nothing that costs 5 % or more was found"});
}

enum { SHOWN = 5 };

/* Something with its own part of the time or memory. */
struct item {
    uint32_t name;                     /* operators: a place */
    const struct gt_function_sum *sum; /* functions */
    double self, whole;                /* whole: of all items like it */
};

struct items {
    struct item *item;
    size_t count, capacity;
    struct gt_function_sums sums;
};

struct source {
    const char *key, *what, *of; /* "Functions that ...", "the time profiled" */
    const char *column;
    const char *see, *see_stacks; /* analyses that tell more; see_stacks: of profiles with stacks, NULL: the same */
    const char *title;            /* of the line of the summary */
    int (*collect)(const struct gt_analysis_input *input, const struct source *source, struct items *items);
    enum gt_profile_unit unit;
};

/* ---- operators ---- */

/* Sums by place, in ns, which are those of the column "self" of the analysis of operators. Returns that of all. */
static double sum_operators(const struct gt_analysis_input *input, const struct gt_call_tree *tree, int64_t *sum)
{
    double whole = 0;
    for (size_t i = 0; i < tree->spans.count; i++) {
        size_t event = tree->spans.span[i].event;
        uint32_t name = gt_analysis_place(input, input->trace->events.name[event]);
        if (gt_analysis_work(input, event) != GT_WORK_OPERATOR || !gt_trace_is_slice(input->trace, event) ||
            name == GT_TRACE_NONE || !gt_analysis_shows(input, gt_analysis_node(input, event)))
            continue;
        sum[name] += tree->self[i];
        whole += (double)tree->self[i];
    }
    return whole;
}

static int collect_operators(const struct gt_analysis_input *input, const struct source *source, struct items *items)
{
    struct gt_call_tree tree;
    uint32_t places = input->trace->strings.count;
    int64_t *sum = calloc(places + (size_t)1, sizeof *sum);
    int status = gt_call_tree_open(&tree, input);
    (void)source;
    status = status >= 0 && !sum ? -ENOMEM : status;
    double whole = status < 0 ? NAN : sum_operators(input, &tree, sum);
    for (uint32_t i = 0; i < places && status >= 0; i++)
        if (sum[i] > 0)
            status = GT_APPEND(items, item,
                               (struct item){.name = i, .self = (double)sum[i] / 1e3, .whole = whole / 1e3});
    gt_call_tree_close(&tree);
    free(sum);
    return status;
}

/* ---- functions ---- */

/* Shares are of what the same profiler measured. */
static int collect_functions(const struct gt_analysis_input *input, const struct source *source, struct items *items)
{
    double whole[GT_PROFILERS] = {0}, unit = source->unit == GT_PROFILE_SECONDS ? 1e6 : 1;
    int status = gt_functions_sum(input, GT_DUMPS_ALL, source->unit, NULL, &items->sums);
    for (size_t i = 0; i < items->sums.count && status >= 0; i++) {
        const struct gt_function_sum *sum = &items->sums.sum[i];
        double self = sum->figure[GT_TOTAL_TIME] * unit;
        if (!(self > 0))
            continue;
        whole[sum->key[1]] += self;
        status = GT_APPEND(items, item, (struct item){.sum = sum, .self = self});
    }
    for (size_t i = 0; i < items->count; i++)
        items->item[i].whole = whole[items->item[i].sum->key[1]];
    return status;
}

/* ---- the tables ---- */

/* Of those with one key the first that the files have is told. */
static const struct source sources[] = {
    {"most_time", "Operators that take the most time themselves", "the time in operators", "number:self_us",
     "operators", NULL, "most time", collect_operators, GT_PROFILE_SECONDS},
    {"most_time", "Functions that take the most time themselves", "the time profiled", "number:self_us", "functions",
     NULL, "most time", collect_functions, GT_PROFILE_SECONDS},
    {"most_time", "Functions with the most samples of their own", "the samples", "integer:self_samples", "functions",
     NULL, "most time", collect_functions, GT_PROFILE_SAMPLES},
    {"most_memory", "Functions that hold the most memory at the peak", "the peak", "number:self_bytes", "functions",
     "allocations, functions", "peak held", collect_functions, GT_PROFILE_HELD},
    {"most_memory", "Functions with the most memory", "the memory in the profile", "number:self_bytes", "functions",
     "allocations, functions", "memory", collect_functions, GT_PROFILE_BYTES},
};

static bool has_stacks(const struct gt_trace *trace, enum gt_profile_unit unit)
{
    for (size_t i = 0; i < trace->profile_count; i++)
        if (trace->profile[i].unit == unit && trace->profile[i].frame_count)
            return true;
    return false;
}

static const char *see_of(const struct gt_trace *trace, const struct source *source)
{
    return source->see_stacks && has_stacks(trace, source->unit) ? source->see_stacks : source->see;
}

static const char *name_of(const struct gt_analysis_input *input, const struct item *item, struct gt_buffer *text)
{
    return item->sum ? gt_function_title(input, item->sum, text) : gt_analysis_text(input, item->name);
}

static int by_self(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(y->self, x->self), GT_ORDER(x->name, y->name), GT_ORDER(x->sum, y->sum));
}

static void brief(const struct gt_job_brief *job, const struct source *source, const struct item *first)
{
    const char *see = see_of(job->input->trace, source);
    struct gt_buffer name = {0};
    char value[32], words[400];
    snprintf(value, sizeof value, "%.1f %%", gt_percent(first->self, first->whole));
    snprintf(words, sizeof words, "of %s: %.200s itself; more: gpu-tracker profile %.*s PATH...", source->of,
             name_of(job->input, first, &name), (int)strcspn(see, ","), see);
    gt_brief_line(job->node, &(struct gt_brief_line){.title = source->title, .value = value, .words = words});
    gt_buffer_release(&name);
}

static void add_table(const struct gt_job_brief *job, const struct source *source, const struct items *items)
{
    const char *see = see_of(job->input->trace, source);
    size_t most = gt_list_top(job->input, SHOWN);
    struct gt_buffer name = {0};
    char title[200];
    snprintf(title, sizeof title, "%s (%% of %s; more: profile %s)", source->what, source->of, see);
    struct gt_table *table = gt_analysis_table(job->root, source->key, title, source->column);
    gt_analysis_columns(table, "number:share_percent text:name", 0);
    gt_analysis_columns(table, "text:see", GT_COLUMN_ONLY_DATA);
    gt_table_flags(table, GT_PAGE_FIRST);
    gt_top_left_out(table, 0);
    for (size_t i = 0; i < items->count && i < most; i++) {
        const struct item *item = &items->item[i];
        if (source->unit == GT_PROFILE_SAMPLES)
            gt_list_whole(table, item->self);
        else
            gt_table_number(table, item->self);
        GT_CELLS(table, gt_percent(item->self, item->whole), name_of(job->input, item, &name), see);
    }
    gt_buffer_release(&name);
}

static bool has_gpu(const struct gt_job_brief *job)
{
    bool found = false;
    for (size_t i = 0; i < job->ranks; i++)
        found |= job->rank[i].has_gpu;
    return found;
}

int gt_job_most(const struct gt_job_brief *job)
{
    const char *told = has_gpu(job) ? sources->key : "";
    int status = 0;
    for (size_t i = 0; i < sizeof sources / sizeof *sources && status >= 0; i++) {
        const struct source *source = &sources[i];
        struct items items = {0};
        if (strcmp(source->key, told) == 0)
            continue;
        status = source->collect(job->input, source, &items);
        GT_SORT(items.item, items.count, by_self);
        if (status >= 0 && items.count && items.item->self > 0) {
            told = source->key;
            add_table(job, source, &items);
            brief(job, source, items.item);
        }
        gt_functions_release(&items.sums);
        free(items.item);
    }
    return status;
}
