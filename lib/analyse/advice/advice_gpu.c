/* Rules over the work of GPUs. */
#include <stdlib.h>

#include "analyse/advice/advice.h"
#include "analyse/trace/idle.h"
#include "analyse/trace/launches.h"

static void judge_idle(void *context, const struct gt_idle_time *time)
{
    struct gt_adviser *adviser = context;
    const char *node = gt_analysis_text(adviser->input, time->span->key[GT_GPU_NODE]);
    const char *device = gt_gpu_device(adviser->input, time->span);
    double loading = (double)time->loading, host = (double)time->idle[GT_IDLE_HOST] - loading;
    double other = (double)time->idle[GT_IDLE_OTHER], whole = (double)time->whole;
    double idle = loading + host + other + (double)time->idle[GT_IDLE_KERNEL], share = gt_percent(idle, whole);
    gt_advise(
        adviser, gt_gain_of(loading, whole), "idle, dataloader",
        "%s: GPU %s idle %.0f %% of the time, %.0f %% of it waiting for the data loader: more workers, or a faster source",
        node, device, share, gt_percent(loading, idle));
    gt_advise(
        adviser, gt_gain_of(host, whole), "idle, operators",
        "%s: GPU %s idle %.0f %% of the time, %.0f %% of it waiting for the host to launch work: fewer synchronizations (.item(), .cpu()), larger batches, or CUDA graphs",
        node, device, share, gt_percent(host, idle));
    gt_advise(
        adviser, gt_gain_of(other, whole), "idle",
        "%s: GPU %s idle %.0f %% of the time, %.0f %% of it with work launched but held back by other streams or events, or launched outside of the trace",
        node, device, share, gt_percent(other, idle));
}

void gt_advise_idle(struct gt_adviser *adviser)
{
    struct gt_spans spans = {0};
    adviser->status = gt_gpu_spans(adviser->input, &spans);
    if (adviser->status >= 0) {
        int status = gt_idle_walk(adviser->input, &spans, 2, judge_idle, adviser);
        adviser->status = status < 0 ? status : adviser->status;
    }
    gt_spans_release(&spans);
}

void gt_advise_uses(struct gt_adviser *adviser)
{
    enum { COMMUNICATION = 1 << GT_USE_COMMUNICATION, MEMORY = 1 << GT_USE_MEMORY };
    struct gt_spans spans = {0};
    adviser->status = gt_gpu_spans(adviser->input, &spans);
    gt_spans_sort(&spans);
    for (size_t from = 0, to; from < spans.count && adviser->status >= 0; from = to) {
        struct gt_gpu_time time;
        to = gt_spans_run(&spans, from, 2);
        adviser->status = gt_gpu_time(&time, &spans, from, to);
        if (adviser->status < 0)
            break;
        const char *node = gt_analysis_text(adviser->input, spans.span[from].key[GT_GPU_NODE]);
        const char *device = gt_gpu_device(adviser->input, &spans.span[from]);
        double whole = (double)(time.last - time.first), memory = (double)time.part[MEMORY];
        double shown = (double)(time.part[COMMUNICATION] + time.part[COMMUNICATION | MEMORY]);
        gt_advise(
            adviser, gt_gain_of(shown, whole), "breakdown",
            "%s: GPU %s %.0f %% of the time in communication that no computation hides (%.0f %% of all communication): smaller or larger buckets, or communication started earlier",
            node, device, gt_percent(shown, whole),
            gt_percent(shown, (double)gt_gpu_busy(&time, GT_USE_COMMUNICATION)));
        gt_advise(
            adviser, gt_gain_of(memory, whole), "breakdown, kernels",
            "%s: GPU %s %.0f %% of the time doing nothing but copying and filling memory: pinned memory, asynchronous copies",
            node, device, gt_percent(memory, whole));
    }
    gt_spans_release(&spans);
}

/* ---- launches ---- */

/* Is most work shorter than the call that launches it? Then the CPU sets the pace. */
static void judge_lengths(struct gt_adviser *adviser, const struct gt_spans *spans, const size_t *call, size_t from,
                          size_t to)
{
    const struct gt_trace_events *events = &adviser->input->trace->events;
    size_t launches = 0, brief = 0;
    double calls = 0, work = 0, excess = 0;
    int64_t first = spans->span[from].start, last = INT64_MIN;
    for (size_t i = from; i < to; i++) {
        const struct gt_keyed_span *span = &spans->span[i];
        first = span->start < first ? span->start : first;
        last = span->end > last ? span->end : last;
        if (call[i] == SIZE_MAX)
            continue;
        int64_t more = events->duration[call[i]] - (span->end - span->start);
        launches++;
        calls += (double)events->duration[call[i]];
        work += (double)(span->end - span->start);
        brief += more > 0;
        excess += more > 0 ? (double)more : 0;
    }
    if (2 * brief >= launches && launches)
        gt_advise(
            adviser, gt_gain_of(excess, (double)(last - first)), "launches",
            "%s: GPU %s: %zu of %zu launches take longer on the CPU than their work on the GPU (on average %.1f us and %.1f us): the CPU sets the pace; fuse kernels (torch.compile), CUDA graphs, or larger batches",
            gt_analysis_text(adviser->input, spans->span[from].key[GT_GPU_NODE]),
            gt_gpu_device(adviser->input, &spans->span[from]), brief, launches, calls / (double)launches / 1e3,
            work / (double)launches / 1e3);
}

static void judge_queue(struct gt_adviser *adviser, const struct gt_spans *spans, const size_t *call, size_t from,
                        size_t to)
{
    struct gt_launch_change *change = NULL;
    size_t count = 0;
    const struct gt_keyed_span *first = &spans->span[from];
    adviser->status = gt_launch_changes(adviser->input, spans, call, from, to, &change, &count);
    if (adviser->status < 0)
        return;
    struct gt_launch_queue queue = gt_launch_queue(change, count, NULL, NULL);
    double whole = (double)(queue.last - queue.first);
    gt_advise(
        adviser, gt_gain_of((double)queue.blocked, whole), "launches",
        "%s: GPU %s, stream %s: the queue of launches was full (%d) for %.0f %% of the time, up to %lld long: the host is blocked there and feeds nothing else; launch other streams and load data from other threads",
        gt_analysis_text(adviser->input, first->key[GT_GPU_NODE]), gt_gpu_device(adviser->input, first),
        gt_analysis_text(adviser->input, first->key[GT_GPU_STREAM]), GT_FULL_QUEUE,
        gt_percent((double)queue.blocked, whole), (long long)queue.longest);
    free(change);
}

void gt_advise_launches(struct gt_adviser *adviser)
{
    struct gt_spans spans = {0};
    size_t *call = NULL;
    adviser->status = gt_gpu_spans(adviser->input, &spans);
    for (size_t i = 0; i < spans.count; i++)
        spans.span[i].key[GT_GPU_USE] = 0;
    gt_spans_sort(&spans);
    if (adviser->status >= 0)
        adviser->status = gt_gpu_launches(adviser->input, &spans, &call);
    for (size_t from = 0, to; from < spans.count && adviser->status >= 0; from = to) {
        to = gt_spans_run(&spans, from, 2);
        judge_lengths(adviser, &spans, call, from, to);
        for (size_t stream = from, next; stream < to && adviser->status >= 0; stream = next) {
            next = gt_spans_run(&spans, stream, 3);
            judge_queue(adviser, &spans, call, stream, next);
        }
    }
    gt_spans_release(&spans);
    free(call);
}
