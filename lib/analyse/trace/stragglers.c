/* Ranks that make others wait.
 *
 * In each step that several ranks take, one is the slowest; late time is how much longer a rank took than the fastest one. A rank
 * that comes late to collectives waits least inside them: little communication time beside many long steps is the mark of a
 * straggler, much is the mark of one that waits. */
#include "analyse/trace/steps.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyse/trace/gpu_spans.h"
#include "analyse/trace/numbers.h"

static bool is_comparable(const struct gt_analysis_input *input, uint32_t node)
{
    for (size_t i = 0; i < input->trace->file_count; i++)
        if (input->node[i] == node && input->counted[i])
            return true;
    return false;
}

int gt_skewed_steps(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    int status = gt_step_spans(input, spans);
    size_t count = 0;
    for (size_t i = 0; i < spans->count; i++) {
        struct gt_keyed_span span = spans->span[i];
        uint32_t node = span.key[0];
        if (!is_comparable(input, node))
            continue;
        span.key[0] = span.key[1];
        span.key[1] = span.key[2];
        span.key[2] = node;
        spans->span[count++] = span;
    }
    spans->count = count;
    gt_spans_sort(spans);
    return status;
}

struct gt_skew gt_step_skew(const struct gt_spans *spans, size_t from, size_t to)
{
    int64_t first = INT64_MAX, last = INT64_MIN, end = INT64_MIN, longest = -1;
    struct gt_skew skew = {.nodes = to - from, .shortest = INT64_MAX, .slowest = GT_TRACE_NONE};
    for (size_t i = from; i < to; i++) {
        const struct gt_keyed_span *span = &spans->span[i];
        int64_t length = span->end - span->start;
        first = span->start < first ? span->start : first;
        last = span->start > last ? span->start : last;
        end = span->end > end ? span->end : end;
        skew.shortest = length < skew.shortest ? length : skew.shortest;
        if (length > longest) {
            longest = length;
            skew.slowest = span->key[2];
        }
    }
    skew.hull = end - first;
    skew.start = last - first;
    skew.length = longest - skew.shortest;
    return skew;
}

struct rank {
    size_t steps, slowest;
    int64_t late, length, communication;
};

static int collect_steps(const struct gt_analysis_input *input, struct rank *rank)
{
    struct gt_spans spans = {0};
    int status = gt_skewed_steps(input, &spans);
    for (size_t from = 0, to; from < spans.count && status >= 0; from = to) {
        to = gt_spans_run(&spans, from, 2);
        struct gt_skew skew = gt_step_skew(&spans, from, to);
        if (skew.nodes < 2)
            continue;
        for (size_t i = from; i < to; i++) {
            struct rank *of = &rank[spans.span[i].key[2]];
            of->steps++;
            of->length += spans.span[i].end - spans.span[i].start;
            of->late += spans.span[i].end - spans.span[i].start - skew.shortest;
        }
        if (skew.length > 0)
            rank[skew.slowest].slowest++;
    }
    gt_spans_release(&spans);
    return status;
}

static int collect_communication(const struct gt_analysis_input *input, struct rank *rank)
{
    struct gt_spans spans = {0};
    int status = gt_gpu_spans(input, &spans);
    for (size_t i = 0; i < spans.count; i++)
        if (spans.span[i].key[GT_GPU_USE] == GT_USE_COMMUNICATION && spans.span[i].key[GT_GPU_NODE] != GT_TRACE_NONE)
            rank[spans.span[i].key[GT_GPU_NODE]].communication += spans.span[i].end - spans.span[i].start;
    gt_spans_release(&spans);
    return status;
}

static int build(const struct gt_analysis_input *input, struct gt_node *root, struct gt_error *error)
{
    (void)error;
    uint32_t places = input->trace->strings.count;
    struct rank *rank = calloc(places + (size_t)1, sizeof *rank);
    struct gt_table *table = gt_analysis_table(
        root, "stragglers", "Stragglers",
        "text:node integer:steps number:mean_length_us integer:slowest number:slowest_percent "
        "number:mean_late_us number:total_late_us number:communication_us");
    int status = rank ? collect_steps(input, rank) : -ENOMEM;
    if (status >= 0)
        status = collect_communication(input, rank);
    for (uint32_t i = 0; i < places && status >= 0; i++) {
        if (!rank[i].steps)
            continue;
        double steps = (double)rank[i].steps;
        gt_table_text(table, gt_analysis_text(input, i));
        gt_table_integer(table, (int64_t)rank[i].steps);
        gt_table_number(table, (double)rank[i].length / steps / 1e3);
        gt_table_integer(table, (int64_t)rank[i].slowest);
        gt_table_number(table, 100 * (double)rank[i].slowest / steps);
        gt_table_number(table, (double)rank[i].late / steps / 1e3);
        gt_table_number(table, (double)rank[i].late / 1e3);
        gt_table_number(table, (double)rank[i].communication / 1e3);
    }
    gt_analysis_empty(root, table, "no step that several nodes or ranks took");
    free(rank);
    return status;
}

const struct gt_analysis gt_analysis_stragglers = {
    .name = "stragglers",
    .help = "which rank is the slowest in how many steps, and how much others wait for it",
    .takes = GT_TAKES_PHASES,
    .build = build,
};
