#include "analyse/blocks/blocks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyse/energy.h"
#include "base/os/clock.h"
#include "base/grow.h"
#include "base/number.h"
#include "sample/machine.h"
#include "schema/human.h"

#define WARN(analysis, ...) gt_warn((analysis)->options->warn, (analysis)->options->context, __VA_ARGS__)

static int out_of_memory(const struct gt_block_analysis *analysis, struct gt_error *error)
{
    return gt_error_system(error, ENOMEM, "%s", analysis->options->tracking_file);
}

/* ---- blocks ---- */

static int read_collected(struct gt_block_analysis *analysis, bool optional, struct gt_error *error)
{
    char path[PATH_MAX];
    const char *tracking_file = analysis->options->tracking_file;
    int status = gt_block_event_collected(path, sizeof path, tracking_file);
    if (status == 0)
        return gt_block_event_list_add(&analysis->events, path, error);
    if (optional)
        return 0;
    if (status == -ELOOP)
        return gt_error_set(error, ELOOP,
                            "%s is a symbolic link, which is not followed: name what it leads to as sub-tracking files",
                            path);
    return gt_error_set(error, ENOENT,
                        "%s holds no code blocks: name sub-tracking files, or record with 'gpu-tracker run --blocks'",
                        tracking_file);
}

static int read_blocks(struct gt_block_analysis *analysis, bool optional, struct gt_error *error)
{
    const char *const *file = analysis->options->sub_tracking_files;
    struct gt_block_event_list *events = &analysis->events;
    events->skip_bad = analysis->options->skip_bad_rows;
    events->skip_foreign = !file || !*file;
    int status = file && *file ? 0 : read_collected(analysis, optional, error);
    for (; status == 0 && file && *file; file++)
        status = gt_block_event_list_add(events, *file, error);
    if (status == 0 && gt_block_event_list_pair(events, &analysis->intervals) < 0)
        status = out_of_memory(analysis, error);
    return status;
}

/* ---- columns ---- */

/* gpu_tracker's own columns always, whatever they hold; of ours those that the file has, states as gauges. Running
 * peaks say nothing about a part of the run. */
static int choose_columns(struct gt_block_analysis *analysis)
{
    const struct gt_columns *columns = analysis->columns = gt_recording_list(analysis->recording);
    analysis->gauge = calloc(columns->count, sizeof *analysis->gauge);
    analysis->counter = calloc(columns->count, sizeof *analysis->counter);
    analysis->values = calloc(columns->count + 1, sizeof *analysis->values);
    if (!analysis->gauge || !analysis->counter || !analysis->values)
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

/* The monotonic clock serves when both sides have it and are of one machine since its last start: then wall and
 * monotonic clock are about equally far apart on both, by less than a day however often the wall clock was set. */
static bool is_one_clock(const struct gt_block_analysis *analysis, const struct gt_sample *first)
{
    const struct gt_intervals *intervals = &analysis->intervals;
    if (!intervals->has_monotonic || !gt_recording_has(analysis->recording, "monotonic"))
        return false;
    double apart = gt_seconds(first->real_ns - first->monotonic_ns);
    for (size_t i = 0; i < intervals->count; i++)
        if (fabs(intervals->interval[i].start - intervals->interval[i].clock_start - apart) > 86400)
            return false;
    return true;
}

/* ---- samples ---- */

/* CPU time is split only where clocks tell more than samples. */
static int count_cpu(struct gt_block_analysis *analysis, double time, const double *counters)
{
    int status = 0;
    for (size_t i = 0; i < analysis->counters && analysis->has_clocks; i++) {
        const struct gt_column *column = analysis->counter[i];
        if (column->metric == GT_CPU_TIME && column->scope == GT_SCOPE_MAIN)
            status |= gt_cpu_split_count(&analysis->main_cpu, time, counters ? counters[i] : 0);
        if (column->metric == GT_CPU_TIME && column->scope == GT_SCOPE_DESCENDANTS)
            status |= gt_cpu_split_count(&analysis->descendants_cpu, time, counters ? counters[i] : 0);
    }
    return status ? -ENOMEM : 0;
}

/* Recordings of ours count from their start on. */
static int begin_counters(struct gt_block_analysis *analysis, const struct gt_sample *first)
{
    int64_t start = gt_recording_machine(analysis->recording)->start_real_ns;
    analysis->origin = start <= 0 ? NAN
                       : first    ? analysis->first - (double)(first->real_ns - start) / 1e9
                                  : gt_seconds(start);
    if (!first || !(analysis->origin < analysis->first))
        return 0;
    gt_block_join_begin(analysis->join, analysis->origin);
    return count_cpu(analysis, analysis->origin, NULL);
}

/* The times at which the curves will be asked, and whether some call has a clock of CPU time. */
static int collect_moments(struct gt_block_analysis *analysis)
{
    double *time = calloc(2 * analysis->intervals.count + 1, sizeof *time);
    size_t count = 0;
    if (!time)
        return -ENOMEM;
    for (size_t i = 0; i < analysis->intervals.count; i++) {
        const struct gt_interval *call = &analysis->intervals.interval[i];
        struct gt_time_stretch stretch = gt_block_analysis_stretch(analysis, call);
        analysis->has_clocks |= !isnan(call->cpu_stop - call->cpu_start);
        if (isfinite(stretch.start))
            time[count++] = stretch.start;
        if (isfinite(stretch.stop))
            time[count++] = stretch.stop;
    }
    GT_SORT(time, count, gt_order_doubles);
    analysis->moments = (struct gt_curve_moments){time, count};
    return 0;
}

static int open_join(struct gt_block_analysis *analysis, const struct gt_sample *first)
{
    const struct gt_block_join_shape shape = {analysis->events.names.count, analysis->gauges, analysis->counters};
    analysis->use_monotonic = first && is_one_clock(analysis, first);
    if (first)
        analysis->first = gt_seconds(analysis->use_monotonic ? first->monotonic_ns : first->real_ns);
    if (collect_moments(analysis) < 0)
        return -ENOMEM;
    gt_energy_curve_init(&analysis->curve, gt_recording_machine(analysis->recording));
    gt_energy_curve_bound(&analysis->curve, &analysis->moments);
    int status = gt_block_join_open(&analysis->join, &shape, &analysis->intervals, analysis->use_monotonic);
    gt_cpu_split_init(&analysis->main_cpu, &analysis->moments);
    gt_cpu_split_init(&analysis->descendants_cpu, &analysis->moments);
    return status == 0 ? begin_counters(analysis, first) : status;
}

static int add_sample(struct gt_block_analysis *analysis, const struct gt_sample *sample)
{
    double *values = analysis->values, *counters = values + analysis->gauges;
    if (!analysis->join && open_join(analysis, sample) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < analysis->gauges; i++)
        values[i] = gt_store_column_value(analysis->gauge[i], sample);
    for (size_t i = 0; i < analysis->counters; i++)
        counters[i] = gt_store_column_value(analysis->counter[i], sample);
    double time = gt_seconds(analysis->use_monotonic ? sample->monotonic_ns : sample->real_ns);
    if (gt_energy_curve_add(&analysis->curve, time, &sample->energy) < 0)
        return -ENOMEM;
    gt_energy_reading_update(&analysis->last, &sample->energy);
    if (count_cpu(analysis, time, counters) < 0)
        return -ENOMEM;
    double now = gt_seconds(sample->real_ns);
    analysis->epoch_ns = sample->real_ns - sample->monotonic_ns;
    analysis->last_real = now <= analysis->last_real ? analysis->last_real : now;
    return gt_block_join_add(analysis->join, time, values, counters);
}

int gt_block_analysis_add(struct gt_block_analysis *analysis, const struct gt_sample *sample, struct gt_error *error)
{
    return add_sample(analysis, sample) < 0 ? out_of_memory(analysis, error) : 0;
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
            WARN(analysis, "%s: left out", bad.text);
    }
}

enum { PROGRESS_EVERY = 65536 };

static int read_samples(struct gt_block_analysis *analysis, struct gt_error *error)
{
    const struct gt_sample *sample;
    int status;
    analysis->course.is_fine = analysis->options->page;
    for (uint64_t count = 0; (status = next_sample(analysis, &sample, error)) > 0; count++) {
        if (gt_sample_course_add(&analysis->course, sample) < 0 || add_sample(analysis, sample) < 0)
            return out_of_memory(analysis, error);
        if (analysis->options->progress && count % PROGRESS_EVERY == PROGRESS_EVERY - 1)
            analysis->options->progress(analysis->options->context, count + 1);
    }
    return status;
}

/* ---- totals over the calls of each block, and of each block in each process ---- */

static int by_block_and_process(const void *a, const void *b)
{
    const struct gt_interval *x = *(const struct gt_interval *const *)a, *y = *(const struct gt_interval *const *)b;
    return GT_ORDER_BY(GT_ORDER(x->name, y->name), GT_ORDER(x->source, y->source), GT_ORDER(x->process, y->process),
                       GT_ORDER(gt_interval_begin(x), gt_interval_begin(y)), GT_ORDER(x->call, y->call));
}

static int count_call(struct gt_call_total *block, struct gt_process_total *process, const struct gt_interval *call)
{
    block->calls++;
    block->non_empty += call->timepoints > 0;
    block->stepped += call->stepped;
    process->calls++;
    process->timepoints += call->timepoints;
    process->elapsed += call->stepped ? 0 : call->elapsed;
    process->self += call->stepped ? 0 : call->self;
    int status = gt_distribution_add(&block->elapsed, call->elapsed);
    status |= gt_distribution_add(&block->self, call->self);
    status |= gt_distribution_add(&block->cpu, call->cpu_stop - call->cpu_start);
    return status ? -ENOMEM : 0;
}

static int count_each(struct gt_block_analysis *analysis, const struct gt_interval *const *call)
{
    struct gt_process_total *process = NULL;
    int status = 0;
    for (size_t i = 0; i < analysis->intervals.count && status == 0; i++) {
        if (!process || process->name != call[i]->name || process->source != call[i]->source ||
            process->process != call[i]->process) {
            process = &analysis->process[analysis->processes++];
            *process = (struct gt_process_total){
                .name = call[i]->name, .source = call[i]->source, .process = call[i]->process, .cpu_covered = NAN};
        }
        struct gt_call_total *block = &analysis->block[call[i]->name];
        if (call[i]->unfinished) {
            block->unfinished++;
            block->unfinished_time += call[i]->elapsed;
            process->unfinished++;
            process->unfinished_time += call[i]->elapsed;
            continue;
        }
        status = count_call(block, process, call[i]);
    }
    return status;
}

/* Both are in the same order. */
static void count_cpu_of_calls(struct gt_block_analysis *analysis)
{
    struct gt_process_total *process = analysis->process;
    for (size_t i = 0; i < analysis->stretches; i++) {
        const struct gt_block_stretch *stretch = &analysis->stretch[i];
        struct gt_call_total *block = &analysis->block[stretch->name];
        double used = stretch->cpu_stop - stretch->cpu_start;
        while (process->name != stretch->name || process->source != stretch->source ||
               process->process != stretch->process)
            process++;
        if (isnan(used))
            continue;
        block->cpu_covered += used;
        block->cpu_calls += stretch->calls;
        process->cpu_covered = (isnan(process->cpu_covered) ? 0 : process->cpu_covered) + used;
    }
}

static int count_all_calls(struct gt_block_analysis *analysis)
{
    size_t calls = analysis->intervals.count;
    const struct gt_interval **call = calloc(calls + 1, sizeof *call);
    analysis->block = calloc(analysis->events.names.count + 1, sizeof *analysis->block);
    analysis->process = calloc(calls + 1, sizeof *analysis->process);
    int status = call && analysis->block && analysis->process ? 0 : -ENOMEM;
    for (size_t i = 0; i < calls && status == 0; i++)
        call[i] = &analysis->intervals.interval[i];
    if (status == 0) {
        qsort(call, calls, sizeof *call, by_block_and_process);
        status = count_each(analysis, call);
    }
    free(call);
    if (status == 0)
        count_cpu_of_calls(analysis);
    return status;
}

/* ---- the time of calls ---- */

struct gt_time_stretch gt_block_analysis_stretch(const struct gt_block_analysis *analysis,
                                                 const struct gt_interval *interval)
{
    if (analysis->use_monotonic)
        return (struct gt_time_stretch){interval->clock_start, interval->clock_stop};
    return (struct gt_time_stretch){interval->start, fmax(interval->start, interval->stop)};
}

static int by_start(const void *a, const void *b)
{
    const struct gt_block_stretch *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->name, y->name), GT_ORDER(x->source, y->source), GT_ORDER(x->process, y->process),
                       GT_ORDER(x->time.start, y->time.start), GT_ORDER(x->time.stop, y->time.stop));
}

/* Those that overlap the one before become part of it. */
static size_t join_overlapping(struct gt_block_stretch *stretch, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct gt_block_stretch *last = kept ? &stretch[kept - 1] : NULL, *next = &stretch[i];
        if (!last || next->name != last->name || next->source != last->source || next->process != last->process ||
            next->time.start > last->time.stop) {
            stretch[kept++] = *next;
            continue;
        }
        last->calls++;
        if (next->time.stop >= last->time.stop) {
            last->time.stop = next->time.stop;
            last->cpu_stop = next->cpu_stop;
        }
    }
    return kept;
}

static int find_stretches(struct gt_block_analysis *analysis)
{
    size_t count = 0;
    analysis->stretch = calloc(analysis->intervals.count + 1, sizeof *analysis->stretch);
    if (!analysis->stretch)
        return -ENOMEM;
    for (size_t i = 0; i < analysis->intervals.count; i++) {
        const struct gt_interval *interval = &analysis->intervals.interval[i];
        if (!interval->unfinished)
            analysis->stretch[count++] = (struct gt_block_stretch){interval->name,
                                                                   interval->source,
                                                                   interval->process,
                                                                   gt_block_analysis_stretch(analysis, interval),
                                                                   interval->cpu_start,
                                                                   interval->cpu_stop,
                                                                   1};
    }
    qsort(analysis->stretch, count, sizeof *analysis->stretch, by_start);
    analysis->stretches = join_overlapping(analysis->stretch, count);
    return 0;
}

/* ---- energy of each block: of the CPU by the CPU time of its processes where the file has it, of the rest by time
 * ---- */

/* `time` has room for the stretches of the block. */
static void count_block(const struct gt_energy_curve *curve, const struct gt_block_stretch *stretch, size_t count,
                        struct gt_time_stretch *time, struct gt_block_energy *ret)
{
    struct gt_spent cpu = {.joules = NAN, .error = NAN};
    bool by_cpu_time = true;
    for (size_t i = 0; i < count; i++) {
        double used = stretch[i].cpu_stop - stretch[i].cpu_start;
        by_cpu_time &= !isnan(used);
        gt_spent_add(&cpu, gt_energy_curve_of_cpu(curve, stretch[i].time, used));
        time[i] = stretch[i].time;
    }
    count = gt_time_stretches_merge(time, count);
    for (int device = 0; device < GT_ENERGY_DEVICES; device++)
        ret->device[device] = gt_energy_curve_over(curve, device, GT_ENERGY_JOB, time, count);
    ret->by_cpu_time = by_cpu_time;
    cpu.missing = ret->device[GT_ENERGY_CPU].missing; /* of all calls, not of the one that is known least */
    if (by_cpu_time)
        ret->device[GT_ENERGY_CPU] = cpu;
}

static int count_energy(struct gt_block_analysis *analysis)
{
    static const struct gt_spent unknown = {.joules = NAN, .error = NAN};
    size_t blocks = analysis->events.names.count;
    const struct gt_block_stretch *stretch = analysis->stretch;
    analysis->energy = calloc(blocks + 1, sizeof *analysis->energy);
    if (!analysis->energy || gt_energy_curve_finish(&analysis->curve) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < blocks; i++)
        for (int device = 0; device < GT_ENERGY_DEVICES; device++)
            analysis->energy[i].device[device] = unknown;
    if (!gt_energy_curve_is_measured(&analysis->curve))
        return 0;
    struct gt_time_stretch *time = calloc(analysis->stretches + 1, sizeof *time);
    if (!time)
        return -ENOMEM;
    for (size_t first = 0, end; first < analysis->stretches; first = end) {
        for (end = first + 1; end < analysis->stretches && stretch[end].name == stretch[first].name;)
            end++;
        count_block(&analysis->curve, stretch + first, end - first, time, &analysis->energy[stretch[first].name]);
    }
    free(time);
    return 0;
}

struct gt_spent gt_blocks_energy_of_call(const struct gt_block_analysis *analysis, const struct gt_interval *interval)
{
    struct gt_time_stretch stretch = gt_block_analysis_stretch(analysis, interval);
    struct gt_spent spent[GT_ENERGY_DEVICES];
    for (int device = 0; device < GT_ENERGY_DEVICES; device++)
        spent[device] = gt_energy_curve_over(&analysis->curve, device, GT_ENERGY_JOB, &stretch, 1);
    spent[GT_ENERGY_CPU] = gt_energy_curve_of_cpu(&analysis->curve, stretch, interval->cpu_stop - interval->cpu_start);
    return gt_energy_sum(spent);
}

/* ---- the end of the recording ---- */

static int end_counters(struct gt_block_analysis *analysis, const struct gt_outcome *outcome, double end)
{
    double *counters = analysis->values;
    for (size_t i = 0; i < analysis->counters; i++)
        counters[i] = outcome->value[analysis->counter[i]->scope][analysis->counter[i]->metric];
    gt_block_join_end(analysis->join, end, counters);
    return count_cpu(analysis, end, counters);
}

/* Counters went on between the last sample and the end. */
static int add_outcome(struct gt_block_analysis *analysis)
{
    double last = analysis->last_real;
    const struct gt_outcome *outcome = gt_recording_outcome(analysis->recording);
    const struct gt_machine *machine = gt_recording_machine(analysis->recording);
    if (!outcome || machine->start_real_ns <= 0)
        return 0;
    struct gt_energy_reading final;
    gt_energy_reading_take(&final, outcome->value[GT_SCOPE_SYSTEM], outcome->value[GT_SCOPE_COMBINED]);
    gt_energy_reading_update(&analysis->last, &final);
    double after = gt_seconds(machine->start_real_ns) + outcome->elapsed - last;
    if (isnan(last) && end_counters(analysis, outcome, outcome->elapsed) < 0)
        return -ENOMEM; /* it ended before the first sample */
    if (!(after > 0))
        return 0;
    double end = gt_block_join_last(analysis->join) + after;
    if (end_counters(analysis, outcome, end) < 0)
        return -ENOMEM;
    return gt_energy_curve_add(&analysis->curve, end, &analysis->last);
}

/* Calls that never ended last to the last thing that is known, where its time is told. */
static int close_intervals(struct gt_block_analysis *analysis)
{
    const struct gt_block_event_list *events = &analysis->events;
    double last = analysis->last_real;
    double clock_last = analysis->use_monotonic ? gt_block_join_last(analysis->join) : NAN;
    if (events->rows)
        last = fmax(last, events->last);
    if (events->rows && analysis->intervals.has_monotonic)
        clock_last = fmax(clock_last, events->last_monotonic);
    return gt_intervals_close(&analysis->intervals, last, clock_last);
}

/* ---- the whole ---- */

/* Were all calls shorter than the time between two samples? */
static bool are_samples_rare(const struct gt_block_analysis *analysis)
{
    for (size_t i = 0; i < analysis->intervals.count; i++)
        if (!(analysis->intervals.interval[i].elapsed < analysis->machine.period))
            return false;
    return analysis->intervals.count && analysis->machine.period > 0;
}

/* How many seconds lie between the recording and the nearest call, negative before it; 0: they meet, or that is not known. A sample
 * or two may be missing at each end. */
static double apart(const struct gt_block_analysis *analysis)
{
    const struct gt_outcome *outcome = gt_recording_outcome(analysis->recording);
    double slack = analysis->machine.period > 0 ? 2 * analysis->machine.period : 60;
    double begin = analysis->first - slack, end = gt_block_join_last(analysis->join) + slack, nearest = INFINITY;
    if (isnan(end))
        return 0;
    if (outcome)
        end = fmax(end, analysis->first + outcome->elapsed);
    for (size_t i = 0; i < analysis->intervals.count; i++) {
        struct gt_time_stretch stretch = gt_block_analysis_stretch(analysis, &analysis->intervals.interval[i]);
        double gap = stretch.start > end ? stretch.start - end : stretch.stop < begin ? stretch.stop - begin : 0;
        nearest = fabs(gap) < fabs(nearest) ? gap : nearest;
    }
    return isfinite(nearest) ? nearest : 0;
}

/* No sample lies in a call: why? */
static void warn_of_none_inside(const struct gt_block_analysis *analysis)
{
    const char *file = analysis->options->tracking_file;
    char seconds[GT_HUMAN_SIZE];
    double gap = apart(analysis);
    if (gap != 0)
        WARN(analysis, "the code blocks and %s do not overlap in time: the nearest is %s %s: are they of one run?",
             file, gt_human_seconds(seconds, fabs(gap)), gap > 0 ? "after its end" : "before its start");
    else if (are_samples_rare(analysis))
        WARN(analysis,
             "no timepoint of %s lies inside any code block: they were %.3g s apart, each call is shorter; "
             "'gpu-tracker run --sleep-time %.3g' takes more",
             file, analysis->machine.period, analysis->machine.period / 10);
    else
        WARN(analysis, "no timepoint of %s lies inside any code block", file);
}

static void warn_of_gaps(const struct gt_block_analysis *analysis)
{
    const struct gt_block_event_list *events = &analysis->events;
    uint64_t unfinished = 0, inside = 0;
    for (size_t i = 0; i < events->names.count; i++) {
        unfinished += analysis->block[i].unfinished;
        inside += gt_block_join_block(analysis->join, i).timepoints +
                  gt_block_join_unfinished(analysis->join, i).timepoints;
    }
    gt_block_event_list_warn(events, analysis->options->warn, analysis->options->context);
    if (events->bad > 5 || analysis->bad_timepoints > 5)
        WARN(analysis, "%llu bad rows were left out in all",
             (unsigned long long)(events->bad + analysis->bad_timepoints));
    if (events->torn)
        WARN(analysis, "%llu rows of code blocks were never finished: their process was killed",
             (unsigned long long)events->torn);
    if (analysis->intervals.orphans)
        WARN(analysis, "%llu rows end a code block that never began and were left out",
             (unsigned long long)analysis->intervals.orphans);
    if (unfinished)
        WARN(analysis, "%llu %s never ended: %s", (unsigned long long)unfinished,
             unfinished == 1 ? "call of a code block" : "calls of code blocks",
             unfinished == 1 ? "it is listed apart and not counted" : "they are listed apart and not counted");
    if (events->rows && !inside)
        warn_of_none_inside(analysis);
}

void gt_block_analysis_close(struct gt_block_analysis *analysis)
{
    for (size_t i = 0; analysis->block && i < analysis->events.names.count; i++) {
        gt_distribution_release(&analysis->block[i].elapsed);
        gt_distribution_release(&analysis->block[i].self);
        gt_distribution_release(&analysis->block[i].cpu);
    }
    free(analysis->block);
    free(analysis->process);
    free(analysis->stretch);
    free(analysis->energy);
    free(analysis->cpu);
    free(analysis->values);
    gt_cpu_split_release(&analysis->main_cpu);
    gt_cpu_split_release(&analysis->descendants_cpu);
    gt_sample_course_release(&analysis->course);
    gt_energy_curve_release(&analysis->curve);
    gt_block_join_close(analysis->join);
    free((double *)analysis->moments.time);
    if (!analysis->is_borrowed)
        gt_recording_close(analysis->recording);
    free(analysis->gauge);
    free(analysis->counter);
    gt_intervals_release(&analysis->intervals);
    gt_block_event_list_release(&analysis->events);
}

/* The recording is open. */
static int prepare(struct gt_block_analysis *analysis, bool optional, struct gt_error *error)
{
    const struct gt_blocks_options *options = analysis->options;
    struct gt_cost cost = {options->carbon_intensity, options->carbon_file, options->price};
    gt_energy_reading_clear(&analysis->last);
    analysis->last_real = NAN;
    analysis->machine = *gt_recording_machine(analysis->recording);
    int status = gt_cost_read(&analysis->machine, &cost, error);
    if (status >= 0)
        status = read_blocks(analysis, optional, error);
    if (status >= 0 && choose_columns(analysis) < 0)
        status = out_of_memory(analysis, error);
    return status;
}

int gt_block_analysis_begin(struct gt_block_analysis *analysis, const struct gt_blocks_options *options,
                            struct gt_recording *recording, bool optional, struct gt_error *error)
{
    *analysis = (struct gt_block_analysis){.options = options, .recording = recording, .is_borrowed = true};
    return prepare(analysis, optional, error);
}

int gt_block_analysis_end(struct gt_block_analysis *analysis, struct gt_error *error)
{
    if ((!analysis->join && open_join(analysis, NULL) < 0) || add_outcome(analysis) < 0)
        return out_of_memory(analysis, error);
    gt_block_join_finish(analysis->join);
    if (close_intervals(analysis) < 0 || find_stretches(analysis) < 0 || count_all_calls(analysis) < 0 ||
        count_energy(analysis) < 0)
        return out_of_memory(analysis, error);
    warn_of_gaps(analysis);
    return 0;
}

int gt_block_analysis_open(struct gt_block_analysis *analysis, const struct gt_blocks_options *options, bool optional,
                           struct gt_error *error)
{
    *analysis = (struct gt_block_analysis){.options = options};
    int status = gt_recording_open(&analysis->recording, options->tracking_file, error);
    if (status >= 0)
        status = prepare(analysis, optional, error);
    if (status >= 0)
        status = want_columns(analysis, error);
    if (status >= 0 && options->page)
        status = gt_recording_detail(analysis->recording, true);
    if (status >= 0)
        status = read_samples(analysis, error);
    return status >= 0 ? gt_block_analysis_end(analysis, error) : status;
}
