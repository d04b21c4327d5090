#include "analyse/blocks/blocks_parts.h"
#include "sample/cost.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void warn(const struct gt_block_analysis *analysis, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void warn(const struct gt_block_analysis *analysis, const char *format, ...)
{
    char sentence[1024];
    va_list arguments;
    if (!analysis->options->warn)
        return;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    analysis->options->warn(analysis->options->context, sentence);
}

static int out_of_memory(const struct gt_block_analysis *analysis, struct gt_error *error)
{
    return gt_error_system(error, ENOMEM, "%s", analysis->options->tracking_file);
}

/* ---- blocks ---- */

static int read_collected(struct gt_block_analysis *analysis, bool optional, struct gt_error *error)
{
    char path[PATH_MAX];
    const char *tracking_file = analysis->options->tracking_file;
    if (gt_block_event_collected(path, sizeof path, tracking_file) == 0)
        return gt_block_event_list_add(&analysis->borders, path, error);
    if (optional)
        return 0;
    return gt_error_set(error, ENOENT,
                        "%s holds no code blocks: name sub-tracking files, or record with 'gpu-tracker run --blocks'",
                        tracking_file);
}

static int read_blocks(struct gt_block_analysis *analysis, bool optional, struct gt_error *error)
{
    const char *const *file = analysis->options->sub_tracking_files;
    analysis->borders.skip_bad = analysis->options->skip_bad_rows;
    int status = file && *file ? 0 : read_collected(analysis, optional, error);
    for (; status == 0 && file && *file; file++)
        status = gt_block_event_list_add(&analysis->borders, *file, error);
    if (status == 0 && gt_intervals_pair(&analysis->intervals, analysis->borders.event, analysis->borders.count) < 0)
        status = out_of_memory(analysis, error);
    return status;
}

/* ---- columns ---- */

/* gpu_tracker's own columns always, whatever they hold; of ours those that the file has, states as gauges. Running peaks
 * say nothing about a part of the run. */
static int choose_columns(struct gt_block_analysis *analysis)
{
    struct gt_columns *columns = &analysis->columns;
    gt_store_columns(columns, gt_recording_machine(analysis->recording));
    analysis->gauge = calloc(columns->count, sizeof *analysis->gauge);
    analysis->counter = calloc(columns->count, sizeof *analysis->counter);
    if (!analysis->gauge || !analysis->counter)
        return -ENOMEM;
    for (size_t i = 0; i < columns->count; i++) {
        const struct gt_column *column = &columns->column[i];
        if (column->scope < 0 || (!column->is_original && !gt_recording_has(analysis->recording, column->name)))
            continue;
        if (column->is_original || gt_metrics[column->metric].kind == GT_GAUGE)
            analysis->gauge[analysis->gauges++] = column;
        else if (gt_metrics[column->metric].kind == GT_COUNTER)
            analysis->counter[analysis->counters++] = column;
    }
    return 0;
}

static int want_columns(struct gt_block_analysis *analysis, struct gt_error *error)
{
    size_t count = analysis->gauges + analysis->counters;
    const char **name = calloc(count + 1, sizeof *name);
    if (!name)
        return out_of_memory(analysis, error);
    for (size_t i = 0; i < count; i++)
        name[i] = i < analysis->gauges ? analysis->gauge[i]->name : analysis->counter[i - analysis->gauges]->name;
    int status = gt_recording_columns(analysis->recording, name, count, error);
    free(name);
    return status;
}

/* ---- clocks ---- */

/* As near to the seconds in the file as a double can be: nanoseconds since 1970 do not fit into one. */
static double seconds(int64_t ns)
{
    return (double)(ns / INT64_C(1000000000)) + (double)(ns % INT64_C(1000000000)) / 1e9;
}

/* The monotonic clock serves when both sides have it and are of one machine since its last start: then wall and monotonic
 * clock are about equally far apart on both, by less than a day however often the wall clock was set. */
static bool is_one_clock(const struct gt_block_analysis *analysis, const struct gt_sample *first)
{
    const struct gt_intervals *intervals = &analysis->intervals;
    if (!intervals->has_monotonic || !gt_recording_has(analysis->recording, "monotonic"))
        return false;
    double apart = seconds(first->real_ns - first->monotonic_ns);
    for (size_t i = 0; i < intervals->count; i++)
        if (fabs(intervals->interval[i].start - intervals->interval[i].clock_start - apart) > 86400)
            return false;
    return true;
}

/* ---- samples ---- */

/* Recordings of ours count from their start on. */
static void begin_counters(struct gt_block_analysis *analysis, const struct gt_sample *first)
{
    int64_t start = gt_recording_machine(analysis->recording)->start_real_ns;
    if (start > 0 && start < first->real_ns)
        gt_block_join_begin(analysis->join, analysis->first - (double)(first->real_ns - start) / 1e9);
}

static int open_sweep(struct gt_block_analysis *analysis, const struct gt_sample *first)
{
    const struct gt_block_join_shape shape = {analysis->borders.names.count, analysis->gauges, analysis->counters};
    analysis->use_monotonic = first && is_one_clock(analysis, first);
    if (first)
        analysis->first = seconds(analysis->use_monotonic ? first->monotonic_ns : first->real_ns);
    gt_history_init(&analysis->history);
    gt_energy_curve_init(&analysis->curve, gt_recording_machine(analysis->recording));
    int status = gt_block_join_open(&analysis->join, &shape, &analysis->intervals, analysis->use_monotonic);
    if (status == 0 && first)
        begin_counters(analysis, first);
    return status;
}

static int add_sample(struct gt_block_analysis *analysis, const struct gt_sample *sample, double *values)
{
    double *counters = values + analysis->gauges;
    for (size_t i = 0; i < analysis->gauges; i++)
        values[i] = gt_store_column_value(analysis->gauge[i], sample);
    for (size_t i = 0; i < analysis->counters; i++)
        counters[i] = gt_store_column_value(analysis->counter[i], sample);
    gt_history_add(&analysis->history, sample);
    double time = seconds(analysis->use_monotonic ? sample->monotonic_ns : sample->real_ns);
    if (gt_energy_curve_add(&analysis->curve, time, &sample->energy) < 0)
        return -ENOMEM;
    gt_energy_reading_update(&analysis->last, &sample->energy);
    return gt_block_join_add(analysis->join, time, values, counters);
}

/* 1 a sample, 0 the end. */
static int next_sample(struct gt_block_analysis *analysis, const struct gt_sample **ret, struct gt_error *error)
{
    for (;;) {
        struct gt_error bad = {0};
        int status = gt_recording_next(analysis->recording, ret, &bad);
        if (status >= 0)
            return status;
        if (status != -EBADMSG || !analysis->options->skip_bad_rows)
            return gt_error_copy(error, &bad);
        if (analysis->bad_timepoints++ < 5)
            warn(analysis, "%s: left out", bad.text);
    }
}

enum { PROGRESS_EVERY = 65536 };

static int read_samples(struct gt_block_analysis *analysis, double *values, double *ret_last, struct gt_error *error)
{
    const struct gt_sample *sample;
    *ret_last = NAN;
    for (uint64_t count = 0;; count++) {
        int status = next_sample(analysis, &sample, error);
        if (status < 0)
            return status;
        if (count == 0 && open_sweep(analysis, status ? sample : NULL) < 0)
            return out_of_memory(analysis, error);
        if (status == 0)
            return 0;
        if (add_sample(analysis, sample, values) < 0)
            return out_of_memory(analysis, error);
        double now = seconds(sample->real_ns);
        *ret_last = now <= *ret_last ? *ret_last : now;
        if (analysis->options->progress && count % PROGRESS_EVERY == PROGRESS_EVERY - 1)
            analysis->options->progress(analysis->options->context, count + 1);
    }
}

static void end_counters(struct gt_block_analysis *analysis, const struct gt_outcome *outcome, double end,
                         double *counters)
{
    for (size_t i = 0; i < analysis->counters; i++)
        counters[i] = outcome->value[analysis->counter[i]->scope][analysis->counter[i]->metric];
    gt_block_join_end(analysis->join, end, counters);
}

/* What was counted between the last sample and the end. `last`: the last sample on the wall clock. */
static int add_outcome(struct gt_block_analysis *analysis, double last, double *counters)
{
    const struct gt_outcome *outcome = gt_recording_outcome(analysis->recording);
    const struct gt_machine *machine = gt_recording_machine(analysis->recording);
    if (!outcome || machine->start_real_ns <= 0)
        return 0;
    struct gt_energy_reading final;
    gt_energy_reading_take(&final, outcome->value[GT_SCOPE_SYSTEM], outcome->value[GT_SCOPE_COMBINED]);
    gt_energy_reading_update(&analysis->last, &final);
    double after = seconds(machine->start_real_ns) + outcome->elapsed - last;
    if (!(after > 0))
        return 0;
    double end = gt_block_join_last(analysis->join) + after;
    end_counters(analysis, outcome, end, counters);
    return gt_energy_curve_add(&analysis->curve, end, &analysis->last);
}

static double later(double a, double b)
{
    return isnan(a) || b > a ? b : a;
}

/* What never ended lasts to the last thing that is known, where its time is told. */
static int close_intervals(struct gt_block_analysis *analysis, double last)
{
    double clock_last = analysis->use_monotonic ? gt_block_join_last(analysis->join) : NAN;
    for (size_t i = 0; i < analysis->borders.count; i++) {
        last = later(last, analysis->borders.event[i].timestamp);
        if (analysis->intervals.has_monotonic)
            clock_last = later(clock_last, analysis->borders.event[i].monotonic);
    }
    return gt_intervals_close(&analysis->intervals, last, clock_last);
}

static int join(struct gt_block_analysis *analysis, struct gt_error *error)
{
    double *values = calloc(analysis->gauges + analysis->counters + 1, sizeof *values), last;
    if (!values)
        return out_of_memory(analysis, error);
    int status = read_samples(analysis, values, &last, error);
    if (status == 0 && add_outcome(analysis, last, values) < 0)
        status = out_of_memory(analysis, error);
    free(values);
    if (status < 0)
        return status;
    gt_block_join_finish(analysis->join);
    if (close_intervals(analysis, last) < 0 || gt_blocks_count_calls(analysis) < 0 ||
        gt_blocks_count_energy(analysis) < 0)
        return out_of_memory(analysis, error);
    return 0;
}

/* ---- the whole ---- */

static int read_machine(struct gt_block_analysis *analysis, struct gt_error *error)
{
    const struct gt_blocks_options *options = analysis->options;
    struct gt_cost cost = {options->carbon_intensity, options->carbon_file, options->price};
    analysis->machine = *gt_recording_machine(analysis->recording);
    return gt_cost_read(&analysis->machine, &cost, error);
}

static void warn_of_gaps(const struct gt_block_analysis *analysis)
{
    const struct gt_block_event_list *borders = &analysis->borders;
    uint64_t unfinished = 0, inside = 0;
    for (size_t i = 0; i < borders->names.count; i++) {
        unfinished += analysis->block[i].unfinished;
        inside += gt_block_join_block(analysis->join, i).timepoints +
                  gt_block_join_unfinished(analysis->join, i).timepoints;
    }
    for (char *line = borders->complaints.data, *end; line && *line; line = end + 1) {
        end = strchr(line, '\n');
        warn(analysis, "%.*s: left out", (int)(end - line), line);
    }
    if (borders->bad > 5 || analysis->bad_timepoints > 5)
        warn(analysis, "%llu bad rows were left out in all",
             (unsigned long long)(borders->bad + analysis->bad_timepoints));
    if (borders->torn)
        warn(analysis, "%llu rows of code blocks were never finished: their process was killed",
             (unsigned long long)borders->torn);
    if (analysis->intervals.orphans)
        warn(analysis, "%llu rows end a code block that never began and were left out",
             (unsigned long long)analysis->intervals.orphans);
    if (unfinished)
        warn(analysis, "%llu calls of code blocks never ended: they are told beside the figures, and not in them",
             (unsigned long long)unfinished);
    if (borders->count && !inside)
        warn(analysis, "no timepoint of %s lies inside any code block", analysis->options->tracking_file);
}

static void release(struct gt_block_analysis *analysis)
{
    for (size_t i = 0; analysis->block && i < analysis->borders.names.count; i++) {
        gt_distribution_release(&analysis->block[i].elapsed);
        gt_distribution_release(&analysis->block[i].self);
        gt_distribution_release(&analysis->block[i].cpu);
    }
    free(analysis->block);
    free(analysis->process);
    free(analysis->energy);
    gt_energy_curve_release(&analysis->curve);
    gt_block_join_close(analysis->join);
    gt_recording_close(analysis->recording);
    free(analysis->gauge);
    free(analysis->counter);
    gt_intervals_release(&analysis->intervals);
    gt_block_event_list_release(&analysis->borders);
}

int gt_blocks_report(struct gt_report **ret, const struct gt_blocks_options *options, bool optional,
                     struct gt_error *error)
{
    struct gt_block_analysis analysis = {.options = options};
    gt_energy_reading_clear(&analysis.last);
    int status = gt_recording_open(&analysis.recording, options->tracking_file, error);
    if (status >= 0)
        status = read_machine(&analysis, error);
    if (status >= 0)
        status = read_blocks(&analysis, optional, error);
    if (status >= 0 && choose_columns(&analysis) < 0)
        status = out_of_memory(&analysis, error);
    if (status >= 0)
        status = want_columns(&analysis, error);
    if (status >= 0)
        status = join(&analysis, error);
    if (status >= 0) {
        warn_of_gaps(&analysis);
        status = gt_blocks_build(ret, &analysis, error);
    }
    release(&analysis);
    return status < 0 ? status : 0;
}
