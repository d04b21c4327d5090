#include "aggregate/summary.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"

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
    free(history->gpu);
    *history = (struct gt_history){0};
}

static void join(struct gt_history_cell *to, bool is_largest, uint32_t count, double value)
{
    if (!count)
        return;
    if (!to->count)
        to->value = value;
    else if (is_largest)
        to->value = fmax(to->value, value);
    else
        to->value += value;
    to->count += count;
}

static bool is_known(const struct gt_history *history, size_t span)
{
    return history->is_known[span / 64] >> span % 64 & 1;
}

static void join_halves(struct gt_history *history, size_t span)
{
    for (size_t line = 0; line < GT_HISTORY_LINES; line++) {
        struct gt_history_cell cell = history->of[span][line];
        history->of[span][line].count = 0;
        join(&history->of[span / 2][line], is_size(line), cell.count, cell.value);
    }
    for (size_t gpu = 0; gpu < history->gpus; gpu++) {
        struct gt_history_cell cell = history->gpu[gpu][span];
        history->gpu[gpu][span].count = 0;
        join(&history->gpu[gpu][span / 2], false, cell.count, cell.value);
    }
}

/* Most spans of a young history are empty, and are not looked at. */
static void halve(struct gt_history *history)
{
    for (size_t span = 0; span < GT_HISTORY_SPANS; span++) {
        if (!is_known(history, span))
            continue;
        join_halves(history, span);
        history->is_known[span / 64] &= ~(UINT64_C(1) << span % 64);
        history->is_known[span / 128] |= UINT64_C(1) << span / 2 % 64;
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

static int add_gpus(struct gt_history *history, size_t span, const struct gt_sample *sample)
{
    for (size_t i = GT_FIXED_ROWS; i < sample->row_count; i++) {
        const struct gt_row *row = &sample->row[i];
        if (row->scope != GT_SCOPE_GPU || row->device < 0)
            continue;
        while (history->gpus <= (size_t)row->device) {
            if (!GT_GROW_BY_ONE(history->gpu, history->gpus))
                return -ENOMEM;
            memset(history->gpu[history->gpus++], 0, sizeof *history->gpu);
        }
        double value = row->value[GT_GPU_UTILIZATION];
        join(&history->gpu[row->device][span], false, !isnan(value), value);
    }
    return 0;
}

int gt_history_add(struct gt_history *history, const struct gt_sample *sample)
{
    if (!history->of && !(history->of = calloc(GT_HISTORY_SPANS, sizeof *history->of)))
        return -ENOMEM;
    if (!history->spans) {
        history->first_ns = sample->monotonic_ns;
        history->spans = 1;
    }
    int64_t since = sample->monotonic_ns - history->first_ns;
    if (since < 0)
        return 0;
    while (since / history->span_ns >= GT_HISTORY_SPANS)
        halve(history);
    size_t span = (size_t)(since / history->span_ns);
    if (span >= history->spans)
        history->spans = span + 1;
    history->is_known[span / 64] |= UINT64_C(1) << span % 64;
    for (size_t line = 0; line < GT_HISTORY_LINES; line++) {
        double value = figure(history, line, sample);
        join(&history->of[span][line], is_size(line), !isnan(value), value);
    }
    history->counted_ns = sample->monotonic_ns;
    return add_gpus(history, span, sample);
}

double gt_history_value(const struct gt_history *history, size_t line, size_t span)
{
    const struct gt_history_cell *cell = span < history->spans ? &history->of[span][line] : NULL;
    if (!cell || !cell->count)
        return NAN;
    return is_size(line) ? cell->value : cell->value / cell->count;
}

double gt_history_gpu(const struct gt_history *history, size_t gpu, size_t span)
{
    const struct gt_history_cell *cell = gpu < history->gpus ? &history->gpu[gpu][span] : NULL;
    return cell && cell->count ? cell->value / cell->count : NAN;
}

size_t gt_history_find(enum gt_scope scope, enum gt_metric_id metric)
{
    size_t line = 0;
    while (line < GT_HISTORY_LINES && (gt_history_line[line].scope != scope || gt_history_line[line].metric != metric))
        line++;
    return line;
}

double gt_history_time(const struct gt_history *history, size_t span)
{
    return ((double)span + 0.5) * (double)history->span_ns / GT_SECOND;
}

static void clear(struct gt_statistic statistics[GT_METRIC_COUNT])
{
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        statistics[id] = (struct gt_statistic){.min = NAN, .max = NAN, .first = NAN, .last = NAN};
}

void gt_summary_init(struct gt_summary *summary)
{
    memset(summary, 0, sizeof *summary);
    gt_history_init(&summary->history);
    gt_occupancy_init(&summary->occupancy);
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++) {
        clear(summary->of[scope]);
        summary->shared_at_peak[scope] = NAN;
    }
}

void gt_summary_release(struct gt_summary *summary)
{
    gt_history_release(&summary->history);
    gt_occupancy_release(&summary->occupancy);
    free(summary->gpu);
    gt_whole_course_release(summary->course);
    summary->gpu = NULL;
    summary->course = NULL;
    summary->gpu_count = 0;
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
    int status = gt_history_add(&summary->history, sample);
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
    return status < 0 || !summary->course ? status : gt_whole_course_add(summary->course, sample);
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
    outcome->events = (struct gt_kernel_events){NAN, NAN, NAN, NAN, 0, NAN, "", false};
    outcome->samples = summary->samples;
    if (summary->samples)
        outcome->elapsed = (double)(summary->last_real_ns - summary->first_real_ns) / 1e9;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        outcome->counter[i] = (struct gt_counter_fields){NAN, NAN, NAN, {NAN, NAN, NAN, NAN}};
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
        outcome->peak[scope] = (struct gt_peak_fields){NAN, NAN, NAN};
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
        for (int id = 0; id < GT_METRIC_COUNT; id++) {
            const struct gt_statistic *s = &summary->of[scope][id];
            outcome->value[scope][id] = gt_metrics[id].kind == GT_GAUGE ? s->max : s->last;
        }
}
