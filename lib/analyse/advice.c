/* What to look at first: sentences with the numbers they rest on, the costliest first. `cost_percent` is the share of the span
 * that could be won at most, and what the list is ordered by. What costs less than 5 % is not told. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/idle.h"
#include "analyse/steps.h"
#include "analyse/utilization.h"
#include "analyse/lists.h"

static const double LEAST = 5;

struct advice {
    double cost;
    char *sentence;
};

struct adviser {
    const struct gt_analysis_input *input;
    struct advice *advice;
    size_t count, capacity;
    int status;
};

__attribute__((format(printf, 3, 4))) static void say(struct adviser *adviser, double cost, const char *format, ...)
{
    va_list arguments;
    if (!(cost >= LEAST) || adviser->status < 0)
        return;
    if (adviser->count == adviser->capacity) {
        size_t capacity = adviser->capacity ? adviser->capacity * 2 : 16;
        struct advice *list = realloc(adviser->advice, capacity * sizeof *list);
        if (!list) {
            adviser->status = -ENOMEM;
            return;
        }
        adviser->advice = list;
        adviser->capacity = capacity;
    }
    struct advice *advice = &adviser->advice[adviser->count];
    advice->cost = cost;
    va_start(arguments, format);
    if (vasprintf(&advice->sentence, format, arguments) < 0)
        adviser->status = -ENOMEM;
    else
        adviser->count++;
    va_end(arguments);
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : NAN;
}

static void judge_idle(void *context, const struct gt_idle_time *time)
{
    struct adviser *adviser = context;
    const char *node = gt_analysis_text(adviser->input, time->span->key[GT_GPU_NODE]);
    const char *device = gt_gpu_device(adviser->input, time->span);
    double host = (double)time->idle[GT_IDLE_HOST], other = (double)time->idle[GT_IDLE_OTHER];
    double idle = host + other + (double)time->idle[GT_IDLE_KERNEL], share = percent(idle, (double)time->whole);
    if (2 * time->loading > time->idle[GT_IDLE_HOST] && host > other)
        say(adviser, share,
            "%s: GPU %s idle %.0f %% of the time, %.0f %% of it waiting for the data loader: more workers, or a faster source",
            node, device, share, percent((double)time->loading, idle));
    else if (host > other)
        say(adviser, share,
            "%s: GPU %s idle %.0f %% of the time, %.0f %% of it waiting for the host to launch work: larger batches, fewer synchronizations, or CUDA graphs",
            node, device, share, percent(host, idle));
    else
        say(adviser, share,
            "%s: GPU %s idle %.0f %% of the time, %.0f %% of it with work launched but held back by other streams or events",
            node, device, share, percent(other, idle));
}

static void judge_uses(struct adviser *adviser)
{
    struct gt_spans spans = {0};
    adviser->status = adviser->status < 0 ? adviser->status : gt_gpu_spans(adviser->input, &spans);
    gt_spans_sort(&spans);
    for (size_t from = 0, to; from < spans.count && adviser->status >= 0; from = to) {
        struct gt_gpu_time time;
        to = gt_spans_run(&spans, from, 2);
        adviser->status = gt_gpu_time(&time, &spans, from, to);
        const char *node = gt_analysis_text(adviser->input, spans.span[from].key[GT_GPU_NODE]);
        const char *device = gt_gpu_device(adviser->input, &spans.span[from]);
        double whole = (double)(time.last - time.first), memory = (double)time.part[1 << GT_USE_MEMORY];
        double shown = (double)(time.part[1 << GT_USE_COMMUNICATION] +
                                time.part[1 << GT_USE_COMMUNICATION | 1 << GT_USE_MEMORY]);
        say(adviser, percent(shown, whole),
            "%s: GPU %s %.0f %% of the time in communication that no computation hides (%.0f %% of all communication)",
            node, device, percent(shown, whole), percent(shown, (double)gt_gpu_busy(&time, GT_USE_COMMUNICATION)));
        say(adviser, percent(memory, whole),
            "%s: GPU %s %.0f %% of the time doing nothing but copying and filling memory: pinned memory, asynchronous copies",
            node, device, percent(memory, whole));
    }
    gt_spans_release(&spans);
}

static void judge_steps(struct adviser *adviser)
{
    struct gt_spans steps = {0};
    int64_t hull = 0, late = 0;
    size_t count = 0, places = adviser->input->trace->strings.count, *slowest = calloc(places + 1, sizeof *slowest);
    uint32_t worst = GT_TRACE_NONE;
    if (adviser->status >= 0)
        adviser->status = slowest ? gt_skewed_steps(adviser->input, &steps) : -ENOMEM;
    for (size_t from = 0, to; from < steps.count && adviser->status >= 0; from = to) {
        to = gt_spans_run(&steps, from, 2);
        struct gt_skew skew = gt_step_skew(&steps, from, to);
        if (skew.nodes < 2)
            continue;
        count++;
        hull += skew.shortest + skew.length;
        late += skew.length;
        slowest[skew.slowest]++;
        if (worst == GT_TRACE_NONE || slowest[skew.slowest] > slowest[worst])
            worst = skew.slowest;
    }
    if (worst != GT_TRACE_NONE)
        say(adviser, percent((double)late, (double)hull),
            "%s: the slowest in %zu of %zu steps; the slowest rank takes %.0f %% of a step longer than the fastest",
            gt_analysis_text(adviser->input, worst), slowest[worst], count, percent((double)late, (double)hull));
    free(slowest);
    gt_spans_release(&steps);
}

/* From samples alone: mean use of a GPU, and of the CPU at the same node. */
static void judge_samples(struct adviser *adviser)
{
    const struct gt_trace_samples *samples = &adviser->input->trace->samples;
    struct gt_resources resources = {0};
    if (adviser->status >= 0)
        adviser->status = gt_resources_find(adviser->input, &resources);
    double *sum = calloc(resources.count + 1, sizeof *sum), *count = calloc(resources.count + 1, sizeof *count);
    if (!sum || !count)
        adviser->status = -ENOMEM;
    for (size_t i = 0; i < samples->count && adviser->status >= 0; i++) {
        uint32_t number = resources.of_series[samples->series[i]];
        sum[number] += gt_resource_value(adviser->input, &resources.resource[number], samples->value[i]);
        count[number]++;
    }
    for (size_t i = 0; i < resources.count && adviser->status >= 0; i++) {
        const struct gt_resource *resource = &resources.resource[i];
        const char *dimension = gt_analysis_text(adviser->input, resource->dimension);
        if (dimension && strcmp(dimension, "GPUUtilization") == 0 && count[i] > 0)
            say(adviser, 100 - sum[i] / count[i], "%s: %s used %.0f %% on average over %.0f samples",
                gt_analysis_text(adviser->input, resource->node), gt_analysis_text(adviser->input, resource->name),
                sum[i] / count[i], count[i]);
    }
    free(sum);
    free(count);
    gt_resources_release(&resources);
}

static int compare(const void *a, const void *b)
{
    const struct advice *x = a, *y = b;
    return x->cost != y->cost ? (x->cost < y->cost) - (x->cost > y->cost) : strcmp(x->sentence, y->sentence);
}

static int build(const struct gt_analysis_input *input, struct gt_node *root, struct gt_error *error)
{
    (void)error;
    struct adviser adviser = {.input = input};
    struct gt_spans spans = {0};
    struct gt_node *table = gt_analysis_table(root, "advice", "Advice", "number:cost_percent text:advice");
    adviser.status = gt_gpu_spans(input, &spans);
    if (adviser.status >= 0) {
        int status = gt_idle_walk(input, &spans, 2, judge_idle, &adviser);
        adviser.status = status < 0 ? status : adviser.status;
    }
    gt_spans_release(&spans);
    judge_uses(&adviser);
    judge_steps(&adviser);
    judge_samples(&adviser);
    if (adviser.count)
        qsort(adviser.advice, adviser.count, sizeof *adviser.advice, compare);
    for (size_t i = 0; i < adviser.count; i++) {
        if (i < gt_list_top(input, 20)) {
            gt_table_number(table, adviser.advice[i].cost);
            gt_table_text(table, adviser.advice[i].sentence);
        }
        free(adviser.advice[i].sentence);
    }
    free(adviser.advice);
    gt_analysis_empty(root, table, "nothing that costs 5 % or more was found");
    return adviser.status;
}

const struct gt_analysis gt_analysis_advice = {
    .name = "advice",
    .help = "what to look at first, in words, with the numbers it rests on",
    .takes = GT_TAKES_PHASES | GT_TAKES_TOP,
    .build = build,
};
