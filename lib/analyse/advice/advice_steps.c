/* Rules over ranks that others wait for. */
#include <errno.h>
#include <stdlib.h>

#include "analyse/advice/advice.h"
#include "analyse/trace/gpu_spans.h"
#include "analyse/trace/numbers.h"
#include "analyse/trace/steps.h"
#include "base/order.h"

struct rank {
    size_t slowest;
    double late; /* ns over the median of the step's other ranks, where it was the slowest */
};

/* The median length of the ranks of one step without the slowest. */
static int median_of_others(const struct gt_spans *steps, size_t from, size_t to, uint32_t slowest, double *ret)
{
    struct gt_numbers others = {0};
    int status = 0;
    for (size_t i = from; i < to && status >= 0; i++)
        if (steps->span[i].key[2] != slowest)
            status = gt_numbers_add(&others, (double)(steps->span[i].end - steps->span[i].start));
    *ret = gt_numbers_percentile(&others, 50);
    gt_numbers_release(&others);
    return status;
}

static void judge_lengths(struct gt_adviser *adviser)
{
    struct gt_spans steps = {0};
    size_t places = adviser->input->trace->strings.count, count = 0;
    struct rank *rank = calloc(places + 1, sizeof *rank);
    double whole = 0, median;
    adviser->status = rank ? gt_skewed_steps(adviser->input, &steps) : -ENOMEM;
    for (size_t from = 0, to; from < steps.count && adviser->status >= 0; from = to) {
        to = gt_spans_run(&steps, from, 2);
        struct gt_skew skew = gt_step_skew(&steps, from, to);
        if (skew.nodes < 2)
            continue;
        adviser->status = median_of_others(&steps, from, to, skew.slowest, &median);
        rank[skew.slowest].slowest++;
        rank[skew.slowest].late += (double)(skew.shortest + skew.length) - median;
        whole += (double)(skew.shortest + skew.length);
        count++;
    }
    for (size_t i = 0; i < places && adviser->status >= 0; i++)
        gt_advise(
            adviser, gt_gain_of(rank[i].late, whole), "stragglers, steps",
            "%s is the slowest in %zu of %zu steps, and there takes %.1f us longer than the median of the others (%.0f %% of all step time): compare its host, its data and its GPU's clock",
            gt_analysis_text(adviser->input, (uint32_t)i), rank[i].slowest, count,
            rank[i].late / (double)(rank[i].slowest ? rank[i].slowest : 1) / 1e3, gt_percent(rank[i].late, whole));
    free(rank);
    gt_spans_release(&steps);
}

/* ---- collectives make all steps equally long; who comes last waits least in them ---- */

struct share {
    uint32_t node;
    double communication, whole;
};

static int by_communication(const void *a, const void *b)
{
    const struct share *x = a, *y = b;
    if (x->communication != y->communication)
        return x->communication < y->communication ? -1 : 1;
    return GT_ORDER(x->node, y->node);
}

static struct share share_of(const struct gt_spans *spans, size_t from, size_t to)
{
    struct share share = {.node = spans->span[from].key[GT_GPU_NODE]};
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = from; i < to; i++) {
        const struct gt_keyed_span *span = &spans->span[i];
        first = span->start < first ? span->start : first;
        last = span->end > last ? span->end : last;
        if (span->key[GT_GPU_USE] == GT_USE_COMMUNICATION)
            share.communication += (double)(span->end - span->start);
    }
    share.whole = (double)(last - first);
    return share;
}

static void judge_communication(struct gt_adviser *adviser)
{
    struct gt_spans spans = {0};
    size_t count = 0;
    adviser->status = gt_gpu_spans(adviser->input, &spans);
    gt_spans_sort(&spans);
    struct share *share = calloc(spans.count + 1, sizeof *share);
    if (!share)
        adviser->status = -ENOMEM;
    for (size_t from = 0, to; from < spans.count && adviser->status >= 0; from = to) {
        to = gt_spans_run(&spans, from, 1);
        struct share next = share_of(&spans, from, to);
        if (next.communication > 0)
            share[count++] = next;
    }
    if (adviser->status >= 0 && count >= 2) {
        qsort(share, count, sizeof *share, by_communication);
        double others = share[1 + (count - 2) / 2].communication;
        gt_advise(
            adviser, gt_gain_of(others - share[0].communication, share[0].whole), "stragglers, breakdown",
            "%s comes last to collectives: it spends %.1f us in communication, the median of the other %zu ranks %.1f us, most of it waiting",
            gt_analysis_text(adviser->input, share[0].node), share[0].communication / 1e3, count - 1, others / 1e3);
    }
    free(share);
    gt_spans_release(&spans);
}

void gt_advise_stragglers(struct gt_adviser *adviser)
{
    judge_lengths(adviser);
    if (adviser->status >= 0)
        judge_communication(adviser);
}
