#include "analyse/advice/most.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/calls/call_tree.h"
#include "analyse/calls/functions.h"
#include "base/grow.h"
#include "base/number.h"

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

/* Shares are of what the same profiler measured. Chakra's times are of GPUs and threads that work at once: their sum is no time. */
static int collect_functions(const struct gt_analysis_input *input, const struct source *source, struct items *items)
{
    double whole[GT_PROFILERS] = {0}, unit = source->unit == GT_PROFILE_SECONDS ? 1e6 : 1;
    int status = gt_functions_sum(input, GT_DUMPS_ALL, source->unit, NULL, &items->sums);
    for (size_t i = 0; i < items->sums.count && status >= 0; i++) {
        const struct gt_function_sum *sum = &items->sums.sum[i];
        double self = sum->figure[GT_TOTAL_TIME] * unit;
        if (!(self > 0) || sum->key[1] == GT_PROFILER_CHAKRA)
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
    {"most_memory", "Functions that allocate the most memory in total", "all that was allocated", "number:self_bytes",
     "functions", "allocations, functions", "allocated", collect_functions, GT_PROFILE_ALLOCATED},
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
