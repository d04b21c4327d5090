#include "aggregate/summary.h"

#include <string.h>

void gt_summary_init(struct gt_summary *summary)
{
    memset(summary, 0, sizeof *summary);
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
        for (int id = 0; id < GT_METRIC_COUNT; id++) {
            struct gt_statistic *s = &summary->of[scope][id];
            s->min = s->max = s->first = s->last = NAN;
        }
}

static void add(struct gt_statistic *s, double value)
{
    if (isnan(value))
        return;
    if (!s->count++)
        s->first = s->min = s->max = value;
    s->min = fmin(s->min, value);
    s->max = fmax(s->max, value);
    s->sum += value;
    s->last = value;
}

void gt_summary_add(struct gt_summary *summary, const struct gt_sample *sample)
{
    if (!summary->samples++)
        summary->first_real_ns = sample->real_ns;
    summary->last_real_ns = sample->real_ns;
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
        for (int id = 0; id < GT_METRIC_COUNT; id++)
            add(&summary->of[scope][id], sample->row[scope].value[id]);
}

double gt_summary_mean(const struct gt_summary *summary, enum gt_scope scope, enum gt_metric_id metric)
{
    const struct gt_statistic *s = &summary->of[scope][metric];
    return s->count ? s->sum / (double)s->count : NAN;
}

void gt_summary_outcome(const struct gt_summary *summary, struct gt_outcome *outcome)
{
    *outcome = (struct gt_outcome){.elapsed = NAN, .exit_status = -1, .own_cpu_time = NAN, .slowest_sample = NAN};
    outcome->samples = summary->samples;
    if (summary->samples)
        outcome->elapsed = (double)(summary->last_real_ns - summary->first_real_ns) / 1e9;
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
        for (int id = 0; id < GT_METRIC_COUNT; id++) {
            const struct gt_statistic *s = &summary->of[scope][id];
            outcome->value[scope][id] = gt_metrics[id].kind == GT_GAUGE ? s->max : s->last;
        }
}
