#include "aggregate/history.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"

static const int64_t SHORTEST_NS = 1000 * 1000;

const struct gt_history_line gt_history_line[GT_HISTORY_LINES] = {
    {GT_SCOPE_MAIN, GT_RAM},
    {GT_SCOPE_DESCENDANTS, GT_RAM},
    {GT_SCOPE_COMBINED, GT_RAM},
    {GT_SCOPE_SYSTEM, GT_CPU_UTILIZATION},
    {GT_SCOPE_COMBINED, GT_CPU_UTILIZATION},
    {GT_SCOPE_SYSTEM, GT_GPU_RAM},
    {GT_SCOPE_COMBINED, GT_GPU_RAM},
    {GT_SCOPE_SYSTEM, GT_GPU_UTILIZATION},
    {GT_SCOPE_SYSTEM, GT_CPU_ENERGY},
    {GT_SCOPE_COMBINED, GT_CPU_ENERGY},
    {GT_SCOPE_SYSTEM, GT_GPU_POWER},
    {GT_SCOPE_COMBINED, GT_GPU_ENERGY},
};

static bool is_size(size_t line)
{
    return gt_metrics[gt_history_line[line].metric].unit == GT_BYTES;
}

void gt_history_init(struct gt_history *history)
{
    *history = (struct gt_history){.span_ns = SHORTEST_NS};
    for (size_t line = 0; line < GT_HISTORY_LINES; line++)
        history->counted[line] = NAN;
}

void gt_history_release(struct gt_history *history)
{
    free(history->of);
    *history = (struct gt_history){0};
}

static void join(struct gt_history *history, size_t line, size_t to, uint32_t count, double value)
{
    if (!count)
        return;
    if (!history->of[to][line].count)
        history->of[to][line].value = value;
    else if (is_size(line))
        history->of[to][line].value = fmax(history->of[to][line].value, value);
    else
        history->of[to][line].value += value;
    history->of[to][line].count += count;
}

static void halve(struct gt_history *history)
{
    for (size_t line = 0; line < GT_HISTORY_LINES; line++)
        for (size_t span = 0; span < GT_HISTORY_SPANS; span++) {
            uint32_t count = history->of[span][line].count;
            double value = history->of[span][line].value;
            history->of[span][line].count = 0;
            join(history, line, span / 2, count, value);
        }
    history->span_ns *= 2;
    history->spans = (history->spans + 1) / 2;
}

/* The value of a sample, or what a counter grew by each second since the sample before. */
static double figure(struct gt_history *history, size_t line, const struct gt_sample *sample)
{
    double value = sample->row[gt_history_line[line].scope].value[gt_history_line[line].metric];
    if (gt_metrics[gt_history_line[line].metric].kind != GT_COUNTER)
        return value;
    double grown = value - history->counted[line];
    double seconds = (double)(sample->monotonic_ns - history->counted_ns) / GT_SECOND;
    history->counted[line] = value;
    return seconds > 0 ? grown / seconds : NAN;
}

void gt_history_add(struct gt_history *history, const struct gt_sample *sample)
{
    if (!history->of && !(history->of = calloc(GT_HISTORY_SPANS, sizeof *history->of)))
        return;
    if (!history->spans) {
        history->first_ns = sample->monotonic_ns;
        history->spans = 1;
    }
    int64_t since = sample->monotonic_ns - history->first_ns;
    if (since < 0)
        return;
    while (since / history->span_ns >= GT_HISTORY_SPANS)
        halve(history);
    size_t span = (size_t)(since / history->span_ns);
    if (span >= history->spans)
        history->spans = span + 1;
    for (size_t line = 0; line < GT_HISTORY_LINES; line++) {
        double value = figure(history, line, sample);
        join(history, line, span, !isnan(value), value);
    }
    history->counted_ns = sample->monotonic_ns;
}

double gt_history_value(const struct gt_history *history, size_t line, size_t span)
{
    uint32_t count = history->of[span][line].count;
    if (!count)
        return NAN;
    return is_size(line) ? history->of[span][line].value : history->of[span][line].value / count;
}

double gt_history_time(const struct gt_history *history, size_t span)
{
    return ((double)span + 0.5) * (double)history->span_ns / GT_SECOND;
}
