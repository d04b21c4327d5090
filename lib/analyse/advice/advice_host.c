/* Rules over what runs on the host: data loaders and Python functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/advice/adviser.h"
#include "analyse/trace/dataloader.h"
#include "analyse/trace/functions.h"
#include "analyse/trace/gpu_spans.h"
#include "analyse/trace/numbers.h"
#include "analyse/trace/phases.h"

/* ---- data loaders ---- */

/* Keys: node, part. */
static int collect(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    const struct gt_trace_events *events = &input->trace->events;
    int status = 0;
    for (size_t i = 0; i < events->count && status >= 0; i++) {
        enum gt_loader_part part = gt_loader_part(input, i);
        if (part == GT_LOADER_INITIALIZATION || part == GT_LOADER_WORKER || part == GT_LOADER_NEXT)
            status = gt_spans_add(spans, (struct gt_keyed_span){.key = {gt_analysis_node(input, i), part},
                                                                .start = events->start[i],
                                                                .end = events->start[i] + events->duration[i],
                                                                .event = i});
    }
    gt_spans_sort(spans);
    return status;
}

/* How many workers an event of the loader names: by its argument, or 0 by PyTorch's name of the iterator; -1 not told. */
static int workers_of(const struct gt_analysis_input *input, size_t event)
{
    const struct gt_trace_argument *argument = gt_trace_argument(input->trace, event, GT_ADVICE_NUM_WORKERS);
    if (argument && !isnan(argument->number))
        return (int)argument->number;
    if (argument && argument->text != GT_TRACE_NONE)
        return atoi(gt_trace_text(input->trace, argument->text));
    return strstr(gt_trace_text(input->trace, input->trace->events.name[event]), "SingleProcess") ? 0 : -1;
}

struct part {
    size_t count, outliers;
    double total, excess, median; /* ns; excess: of outliers over the median */
    int workers;
};

static int measure(const struct gt_analysis_input *input, const struct gt_spans *spans, size_t from, size_t to,
                   struct part *ret)
{
    struct gt_numbers lengths = {0};
    int status = 0;
    *ret = (struct part){.count = to - from, .workers = -1};
    for (size_t i = from; i < to && status >= 0; i++) {
        int workers = workers_of(input, spans->span[i].event);
        ret->workers = workers > ret->workers ? workers : ret->workers;
        status = gt_numbers_add(&lengths, (double)(spans->span[i].end - spans->span[i].start));
    }
    ret->median = gt_numbers_percentile(&lengths, 50);
    ret->total = gt_numbers_total(&lengths);
    for (size_t i = 0; i < lengths.count && ret->median > 0; i++)
        if (lengths.value[i] >= 2 * ret->median) {
            ret->outliers++;
            ret->excess += lengths.value[i] - ret->median;
        }
    gt_numbers_release(&lengths);
    return status;
}

/* Is there a GPU trace of the node? Then the rule over idle GPUs tells more exactly what waiting costs. */
static bool has_gpu_work(const struct gt_analysis_input *input, uint32_t node)
{
    for (size_t i = 0; i < input->trace->events.count; i++)
        if (gt_gpu_is_work(input, i) && gt_analysis_node(input, i) == node)
            return true;
    return false;
}

static double waiting(const struct gt_spans *waits, uint32_t node)
{
    double sum = 0;
    for (size_t i = 0; i < waits->count; i++)
        if (waits->span[i].key[0] == node)
            sum += (double)(waits->span[i].end - waits->span[i].start);
    return sum;
}

static void judge_node(struct gt_adviser *adviser, uint32_t node, const struct part part[GT_LOADER_PARTS], double waits)
{
    const char *name = gt_analysis_text(adviser->input, node);
    const struct part *start = &part[GT_LOADER_INITIALIZATION], *next = &part[GT_LOADER_NEXT];
    int64_t first, last;
    char workers[60] = "";
    if (!gt_node_range(adviser->input, node, &first, &last))
        return;
    double whole = (double)(last - first);
    int most = start->workers > next->workers ? start->workers : next->workers;
    if (most >= 0)
        snprintf(workers, sizeof workers,
                 most ? " with %d workers" : " without workers, in the training process itself", most);
    if (next->count && !has_gpu_work(adviser->input, node))
        gt_advise(adviser, gt_gain_of(waits, whole), "dataloader",
                  "%s: %.0f %% of the time waiting for data, %.1f us in the median of %zu fetches%s: %s", name,
                  gt_percent(waits, whole), next->median / 1e3, next->count, workers,
                  most == 0 ? "load in workers (num_workers)" : "more workers, or a faster source");
    if (start->count)
        gt_advise(
            adviser, gt_gain_of(start->total, whole), "dataloader",
            "%s: %.0f %% of the time making iterators of the data loader, %zu times, %.1f us in the median: keep the workers between epochs (persistent_workers)",
            name, gt_percent(start->total, whole), start->count, start->median / 1e3);
    if (next->outliers)
        gt_advise(
            adviser, gt_gain_of(next->excess, whole), "dataloader",
            "%s: %zu of %zu fetches take at least twice the median of %.1f us, and %.0f %% of the time more than it: samples of uneven cost, or storage that stalls; a longer prefetch",
            name, next->outliers, next->count, next->median / 1e3, gt_percent(next->excess, whole));
}

void gt_advise_loader(struct gt_adviser *adviser)
{
    struct gt_spans spans = {0}, waits = {0};
    adviser->status = collect(adviser->input, &spans);
    if (adviser->status >= 0)
        adviser->status = gt_loader_waits(adviser->input, &waits);
    for (size_t from = 0, to; from < spans.count && adviser->status >= 0; from = to) {
        struct part part[GT_LOADER_PARTS] = {{.workers = -1}, {.workers = -1}, {.workers = -1}};
        to = gt_spans_run(&spans, from, 1);
        for (size_t i = from, next; i < to && adviser->status >= 0; i = next) {
            next = gt_spans_run(&spans, i, 2);
            adviser->status = measure(adviser->input, &spans, i, next, &part[spans.span[i].key[1]]);
        }
        if (adviser->status >= 0)
            judge_node(adviser, spans.span[from].key[0], part, waiting(&waits, spans.span[from].key[0]));
    }
    gt_spans_release(&spans);
    gt_spans_release(&waits);
}

/* ---- Python functions ---- */

static const double HOT = 25;

/* ", mostly called by f": the caller that most of the time came from. */
static void write_caller(struct gt_adviser *adviser, const struct gt_function_sums *sums,
                         const struct gt_function_sum *sum, struct gt_buffer *out)
{
    size_t count = 0, most = 0;
    struct gt_buffer title = {0};
    struct gt_function_sum *caller = gt_function_callers(adviser->input, sums, sum, &count);
    for (size_t i = 1; caller && i < count; i++)
        if (caller[i].figure[GT_CUMULATIVE_TIME] > caller[most].figure[GT_CUMULATIVE_TIME])
            most = i;
    gt_buffer_text(out, "");
    if (caller && count)
        gt_buffer_printf(out, ", mostly for %s", gt_function_title(adviser->input, &caller[most], &title));
    gt_buffer_release(&title);
    free(caller);
}

static void judge(struct gt_adviser *adviser, const struct gt_function_sums *sums, const struct gt_function_sum *sum,
                  double total)
{
    static const char *const profilers[] = {"cProfile", "pyinstrument"};
    double seconds = sum->figure[GT_TOTAL_TIME], share = gt_percent(seconds, total);
    struct gt_buffer title = {0}, caller = {0}, calls = {0};
    if (!(share >= HOT))
        return;
    write_caller(adviser, sums, sum, &caller);
    if (!isnan(sum->figure[GT_TOTAL_CALLS]))
        gt_buffer_printf(&calls, " in %.0f calls", sum->figure[GT_TOTAL_CALLS]);
    gt_advise(adviser, (struct gt_gain){share, seconds * 1e6}, "functions",
              "%.0f %% of the Python time in %s itself (%.3g of %.3g s%s, by %s)%s", share,
              gt_function_title(adviser->input, sum, &title), seconds, total, calls.length ? calls.data : "",
              profilers[sum->key[1]], caller.length ? caller.data : "");
    gt_buffer_release(&title);
    gt_buffer_release(&caller);
    gt_buffer_release(&calls);
}

void gt_advise_functions(struct gt_adviser *adviser)
{
    struct gt_function_sums sums = {0};
    double total[2] = {0};
    adviser->status = gt_functions_sum(adviser->input, GT_DUMPS_ALL, &sums);
    for (size_t i = 0; i < sums.count; i++)
        if (sums.sum[i].figure[GT_TOTAL_TIME] > 0)
            total[sums.sum[i].key[1]] += sums.sum[i].figure[GT_TOTAL_TIME];
    for (size_t i = 0; i < sums.count && adviser->status >= 0; i++)
        judge(adviser, &sums, &sums.sum[i], total[sums.sum[i].key[1]]);
    gt_functions_release(&sums);
}
