#include "aggregate/summary.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static void clear(struct gt_statistic statistics[GT_METRIC_COUNT])
{
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        statistics[id] = (struct gt_statistic){.min = NAN, .max = NAN, .last = NAN};
}

void gt_summary_init(struct gt_summary *summary)
{
    memset(summary, 0, sizeof *summary);
    gt_occupancy_init(&summary->occupancy);
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++) {
        clear(summary->of[scope]);
        summary->shared_at_peak[scope] = NAN;
    }
}

void gt_summary_release(struct gt_summary *summary)
{
    gt_sample_course_release(&summary->course);
    gt_occupancy_release(&summary->occupancy);
    free(summary->gpu);
    summary->gpu = NULL;
    summary->gpu_count = 0;
}

static void add(struct gt_statistic *s, double value)
{
    if (isnan(value))
        return;
    if (!s->count++)
        s->min = s->max = value;
    s->min = value < s->min ? value : s->min; /* no number is NaN here, and fmin is a call */
    s->max = value > s->max ? value : s->max;
    s->sum += value;
    s->last = value;
}

static int add_gpu(struct gt_summary *summary, const struct gt_row *row)
{
    size_t needed = (size_t)row->device + 1;
    while (summary->gpu_count < needed) {
        if (!GT_GROW_BY_ONE(summary->gpu, summary->gpu_count))
            return -ENOMEM;
        clear(summary->gpu[summary->gpu_count++]);
    }
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        add(&summary->gpu[row->device][id], row->value[id]);
    return 0;
}

int gt_summary_add(struct gt_summary *summary, const struct gt_sample *sample)
{
    if (!summary->samples++)
        summary->first_real_ns = sample->real_ns;
    summary->last_real_ns = sample->real_ns;
    int status = gt_sample_course_add(&summary->course, sample);
    if (!status)
        status = gt_occupancy_add(&summary->occupancy, sample);
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++) {
        const double *value = sample->row[scope].value;
        if (!(value[GT_RAM] <= summary->of[scope][GT_RAM].max) && !isnan(value[GT_RAM]))
            summary->shared_at_peak[scope] = value[GT_RAM_SHARED];
        for (int id = 0; id < GT_METRIC_COUNT; id++)
            add(&summary->of[scope][id], value[id]);
    }
    for (size_t i = GT_FIXED_ROWS; i < sample->row_count && !status; i++)
        if (sample->row[i].scope == GT_SCOPE_GPU && sample->row[i].device >= 0)
            status = add_gpu(summary, &sample->row[i]);
    return status;
}

void gt_summary_end(struct gt_summary *summary, const struct gt_frame *frame)
{
    for (size_t i = 0; i < frame->device_count && i < summary->gpu_count; i++)
        for (int id = GT_GPU_ECC_CORRECTED; id <= GT_GPU_LOST; id++)
            add(&summary->gpu[i][id], frame->device[i].value[id]);
}

double gt_summary_mean(const struct gt_summary *summary, enum gt_scope scope, enum gt_metric_id metric)
{
    const struct gt_statistic *s = &summary->of[scope][metric];
    return s->count ? s->sum / (double)s->count : NAN;
}

void gt_summary_outcome(const struct gt_summary *summary, struct gt_outcome *outcome)
{
    *outcome = (struct gt_outcome){
        .elapsed = NAN, .exit_status = -1, .own_cpu_time = NAN, .slowest_sample = NAN, .peak_untold = NAN};
    outcome->platform_error = NAN;
    outcome->events = (struct gt_kernel_events){NAN, NAN, NAN, NAN, 0, NAN, "", false, NAN};
    outcome->samples = summary->samples;
    if (summary->samples)
        outcome->elapsed = (double)(summary->last_real_ns - summary->first_real_ns) / 1e9;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        outcome->counter[i] = (struct gt_counter_fields){NAN, NAN, NAN, {NAN, NAN, NAN, NAN, NAN, NAN}};
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
        outcome->peak[scope] = (struct gt_peak_fields){NAN};
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
        for (int id = 0; id < GT_METRIC_COUNT; id++) {
            const struct gt_statistic *s = &summary->of[scope][id];
            outcome->value[scope][id] = gt_metrics[id].kind == GT_GAUGE ? s->max : s->last;
        }
}
