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
static const char *part_of(const struct gt_overview *job, const char *see)
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

void gt_job_brief_finding(const struct gt_overview *job, struct gt_saving cost, const char *sentence, const char *see)
{
    char detail[160] = "", time[32];
    if (!isnan(cost.percent))
        snprintf(detail, sizeof detail, "costs %.1f %%%s, %s; ", cost.percent,
                 job->input->trace->shown_node ? "" : " of the job", gt_time_words(cost.us * 1e3, time));
    snprintf(detail + strlen(detail), sizeof detail - strlen(detail), "more: gpu-tracker profile %.*s PATH...",
             (int)strcspn(see, ","), see);
    gt_brief_warning(job->root->brief, detail, part_of(job, see), "%s", sentence);
}

/* The mean over the ranks that have the figure, in percent of the time of their GPUs; *most is the rank with the most
 * of it. */
static double mean_share(const struct gt_overview *job, enum gt_rank_figure figure, size_t *most)
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

static void brief_share(const struct gt_overview *job, const char *title, enum gt_rank_figure figure, const char *words)
{
    size_t most = 0;
    double share = mean_share(job, figure, &most);
    char value[32], text[120] = "";
    if (isnan(share))
        return;
    snprintf(value, sizeof value, "%.1f %%", share);
    if (job->ranks > 1)
        snprintf(text, sizeof text, "; the most on %.80s: %.1f %%", gt_analysis_text(job->input, job->rank[most].node),
                 gt_percent(job->rank[most].figure[figure], job->rank[most].whole));
    gt_brief_line(job->root->brief, title, value, NULL, "%s%s", words, text);
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

void gt_job_brief_step(const struct gt_overview *job, const char *mode, const struct gt_step_lengths *lengths,
                       size_t outliers)
{
    char value[32], words[32];
    struct gt_brief_curve curve;
    for (int i = 0; i < GT_BRIEF_CELLS; i++)
        curve.cell[i] = NAN;
    for (size_t i = 0; i < lengths->count; i++) {
        double *cell = &curve.cell[i * GT_BRIEF_CELLS / lengths->count];
        *cell = fmax(isnan(*cell) ? 0 : *cell, lengths->longest[i] / lengths->max);
    }
    gt_brief_line(job->root->brief, "step", gt_time_words(lengths->median, value),
                  lengths->count >= GT_BRIEF_CELLS ? &curve : NULL,
                  "%.60s: the median of %zu, 95 %% within %s, %zu outlier%s", mode ? mode : "", lengths->count,
                  gt_time_words(lengths->p95, words), outliers, outliers == 1 ? "" : "s");
}

static void brief_idle(const struct gt_overview *job)
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

static void brief_traces(const struct gt_overview *job)
{
    const struct gt_trace *trace = job->input->trace;
    int64_t first = INT64_MAX, last = INT64_MIN;
    const struct gt_collectives *all;
    int status = gt_collectives_find(job->input, GT_RULE_COLLECTIVES, &all);
    uint64_t events = 0;
    char value[32];
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
    if (first <= last)
        gt_brief_line(job->root->brief, "traces", gt_time_words((double)(last - first), value), NULL,
                      "from the first to the last of %" PRIu64 " events in %zu %s", events, (size_t)trace->file_count,
                      trace->file_count == 1 ? "file" : "files");
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

void gt_job_brief_begin(const struct gt_overview *job)
{
    const struct gt_analysis_input *input = job->input;
    size_t most = 0;
    double compute = mean_share(job, GT_RANK_COMPUTE, &most);
    char name[200], title[260], outcome[120];
    write_name(input->trace, name, sizeof name);
    snprintf(title, sizeof title, "%s", name);
    if (job->ranks && input->trace->shown_node)
        snprintf(title, sizeof title, "%s: %.50s", name, gt_analysis_text(input, job->rank->node));
    else if (job->ranks)
        snprintf(title, sizeof title, "%s: %zu rank%s", name, job->ranks, job->ranks == 1 ? "" : "s");
    if (isnan(compute))
        snprintf(outcome, sizeof outcome, "%s",
                 !job->ranks && input->trace->profile_count ? "a profile of functions" : "what GPUs did is not known");
    else
        snprintf(outcome, sizeof outcome, "GPUs compute %.1f %% of their time", compute);
    gt_brief_add(job->root, title, outcome, false);
}

void gt_job_brief_end(const struct gt_overview *job)
{
    brief_share(job, "compute", GT_RANK_COMPUTE, "of the time between the first and last work of a GPU");
    brief_share(job, "comm.", GT_RANK_COMMUNICATION, "exposed communication: no computation hides it");
    brief_idle(job);
    brief_traces(job);
    gt_brief_more(job->root->brief, "all values: gpu-tracker profile PATH... -o job.html");
}

enum { SHOWN = 5 };

struct source {
    const char *key, *what, *of; /* "Functions that ...", "the time profiled" */
    const char *column;
    const char *see, *see_stacks; /* analyses that tell more; see_stacks: of profiles with stacks, NULL: the same */
    const char *title;            /* of the line of the summary */
    bool of_functions;
    enum gt_profile_unit unit;
};

/* ---- operators ---- */

static bool is_shown_operator(const struct gt_analysis_input *input, size_t event)
{
    return gt_analysis_work(input, event) == GT_WORK_OPERATOR && gt_trace_is_slice(input->trace, event) &&
           input->trace->events.name[event] != GT_TRACE_NONE &&
           gt_analysis_shows(input, gt_analysis_node(input, event));
}

/* Self times in ns as in the analysis of operators: item (a place) all self. */
static struct gt_rows collect_operators(const struct gt_analysis_input *input)
{
    const struct gt_call_tree *tree = gt_call_tree(input);
    struct gt_rows rows = gt_rows_new(input->query, tree->spans.count);
    uint32_t *item = gt_rows_add_keys(&rows, "item", NULL), *all = gt_rows_add_keys(&rows, "all", NULL);
    double *self = gt_rows_add_reals(&rows, "self");
    for (size_t i = 0; i < rows.count; i++) {
        size_t event = tree->spans.span[i].event;
        bool is_shown = is_shown_operator(input, event);
        item[i] = is_shown ? gt_analysis_place(input, input->trace->events.name[event]) : GT_NO_KEY;
        self[i] = (double)tree->self[i];
        all[i] = 0;
    }
    rows = gt_rows_known(&rows, "item");
    return gt_rows_group(&rows, "item all", GT_AGGREGATES(GT_SUM("self", "self")));
}

/* ---- functions ---- */

/* Shares are of what the same profiler (`all`) measured: item (a number) all self, and what gt_function_titles needs. */
static struct gt_rows collect_functions(const struct gt_analysis_input *input, enum gt_profile_unit unit)
{
    struct gt_rows rows = gt_functions_of_dumps(input, GT_DUMPS_ALL, unit, NULL);
    rows = gt_functions_sum(&rows);
    gt_rows_rename(&rows, "profiler", "all");
    gt_rows_rename(&rows, "tottime", "self");
    uint32_t *item = gt_rows_add_keys(&rows, "item", NULL);
    for (size_t i = 0; i < rows.count; i++)
        item[i] = (uint32_t)i;
    return rows;
}

/* ---- the tables ---- */

/* Of several with one key, the first that the files have is shown. */
static const struct source sources[] = {
    {"most_time", "Operators that take the most time themselves", "the time in operators", "number:self_us",
     "operators", NULL, "most time", false, GT_PROFILE_SECONDS},
    {"most_time", "Functions that take the most time themselves", "the time profiled", "number:self_us", "functions",
     NULL, "most time", true, GT_PROFILE_SECONDS},
    {"most_time", "Functions with the most samples of their own", "the samples", "integer:self_samples", "functions",
     NULL, "most time", true, GT_PROFILE_SAMPLES},
    {"most_memory", "Functions that hold the most memory at the peak", "the peak", "number:self_bytes", "functions",
     "allocations, functions", "peak held", true, GT_PROFILE_HELD},
    {"most_memory", "Functions with the most memory", "the memory in the profile", "number:self_bytes", "functions",
     "allocations, functions", "memory", true, GT_PROFILE_BYTES},
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

/* Items with their part of the time or memory, the greatest first: item self share. */
struct items {
    struct gt_rows rows;
    const uint32_t *item;
    const double *share;
    double *self;
    const char **title; /* of functions; else items are places */
};

static void find_items(const struct gt_analysis_input *input, const struct source *source, struct items *items)
{
    struct gt_rows rows = source->of_functions ? collect_functions(input, source->unit) : collect_operators(input);
    size_t most = gt_list_top(input, SHOWN);
    rows = gt_rows_above(&rows, "self", 0);
    gt_rows_share(&rows, "share", "self", "all");
    gt_rows_sort(&rows, "-self item");
    rows.count = rows.count < most ? rows.count : most;
    items->title = source->of_functions ? gt_function_titles(input, &rows, "title") : NULL;
    items->rows = rows;
    items->item = gt_rows_keys(&rows, "item");
    items->self = gt_rows_reals(&rows, "self");
    items->share = gt_rows_reals(&rows, "share");
    for (size_t i = 0; i < rows.count; i++)
        if (!source->of_functions)
            items->self[i] /= 1e3;
        else if (source->unit == GT_PROFILE_SECONDS)
            items->self[i] *= 1e6;
}

static const char *name_of(const struct gt_analysis_input *input, const struct items *items, size_t row)
{
    return items->title ? items->title[row] : gt_analysis_text(input, items->item[row]);
}

static void brief(const struct gt_overview *job, const struct source *source, const struct items *items)
{
    const char *see = see_of(job->input->trace, source);
    char value[32];
    snprintf(value, sizeof value, "%.1f %%", items->share[0]);
    gt_brief_line(job->root->brief, source->title, value, NULL,
                  "of %s: %.200s itself; more: gpu-tracker profile %.*s PATH...", source->of,
                  name_of(job->input, items, 0), (int)strcspn(see, ","), see);
}

static void add_table(const struct gt_overview *job, const struct source *source, const struct items *items)
{
    const char *see = see_of(job->input->trace, source);
    char title[200];
    snprintf(title, sizeof title, "%s (%% of %s; more: profile %s)", source->what, source->of, see);
    struct gt_table *table = gt_analysis_table(job->root, source->key, title, source->column);
    gt_analysis_columns(table, "number:share_percent text:name", 0);
    gt_analysis_columns(table, "text:see", GT_COLUMN_ONLY_DATA);
    gt_table_flags(table, GT_PAGE_FIRST);
    gt_top_left_out(table, 0);
    for (size_t i = 0; i < items->rows.count; i++) {
        if (source->unit == GT_PROFILE_SAMPLES)
            gt_list_whole(table, items->self[i]);
        else
            gt_table_number(table, items->self[i]);
        GT_CELLS(table, items->share[i], name_of(job->input, items, i), see);
    }
}

static bool has_gpu(const struct gt_overview *job)
{
    bool found = false;
    for (size_t i = 0; i < job->ranks; i++)
        found |= job->rank[i].has_gpu;
    return found;
}

int gt_job_most(const struct gt_overview *job)
{
    const char *done = has_gpu(job) ? sources->key : "";
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        const struct source *source = &sources[i];
        struct items items = {0};
        if (strcmp(source->key, done) == 0)
            continue;
        find_items(job->input, source, &items);
        if (items.rows.count) {
            done = source->key;
            add_table(job, source, &items);
            brief(job, source, &items);
        }
    }
    return gt_query_status(job->input->query);
}
