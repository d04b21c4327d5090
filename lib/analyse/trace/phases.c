#include "analyse/trace/phases.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/trace/training.h"
#include "analyse/trace/trace_energy.h"
#include "base/grow.h"

/* ---- phases ---- */

static bool is_whole_step(const struct gt_analysis_input *input, size_t event)
{
    const struct gt_trace *trace = input->trace;
    return strncmp(gt_trace_text(trace, gt_trace_process_of(trace, event)->name), "Step:", 5) == 0 ||
           (gt_is_profiler_step(gt_trace_text(trace, trace->events.name[event])) &&
            gt_analysis_work(input, event) != GT_WORK_OTHER);
}

/* A trace without training phases has code blocks, or what was asked for by name, as phases. */
static bool is_block(const struct gt_analysis_input *input, size_t event)
{
    const struct gt_trace *trace = input->trace;
    uint32_t category = trace->events.category[event];
    return input->options->phases || category == GT_TRACE_NONE ||
           strcmp(gt_trace_text(trace, category), "code_block") == 0;
}

/* The phase an event belongs to, or GT_TRACE_NONE. */
static uint32_t phase_of(const struct gt_analysis_input *input, size_t event, bool whole_steps)
{
    const struct gt_trace *trace = input->trace;
    if (!gt_trace_is_slice(input->trace, event))
        return GT_TRACE_NONE;
    if (whole_steps ? !is_whole_step(input, event) : !is_block(input, event))
        return GT_TRACE_NONE;
    uint32_t process = gt_trace_process_of(trace, event)->name, name = trace->events.name[event];
    uint32_t phase = whole_steps && !gt_is_profiler_step(gt_trace_text(trace, name)) ? process : name;
    return gt_analysis_wants_phase(input, gt_trace_text(trace, phase)) ? gt_analysis_place(input, phase)
                                                                       : GT_TRACE_NONE;
}

/* One phase for all numbers of ProfilerStep. */
static const char *title_of(const struct gt_analysis_input *input, uint32_t phase)
{
    const char *name = gt_analysis_text(input, phase);
    return gt_is_profiler_step(name) ? "ProfilerStep" : name;
}

/* Keys: node, phase. */
static int collect(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    const struct gt_trace_events *events = &input->trace->events;
    bool whole_steps = false;
    int status = 0;
    for (size_t i = 0; i < events->count; i++)
        whole_steps |= is_whole_step(input, i);
    for (size_t i = 0; i < events->count && status >= 0; i++) {
        uint32_t phase = phase_of(input, i, whole_steps);
        if (phase != GT_TRACE_NONE)
            status = gt_spans_add_event(spans, input->trace, i, GT_SPAN_KEY(gt_analysis_node(input, i), phase));
    }
    return status;
}

__attribute__((format(printf, 5, 6))) static int add(struct gt_phases *phases, uint32_t node, int64_t start,
                                                     int64_t end, const char *format, ...)
{
    va_list arguments;
    char *title = NULL;
    va_start(arguments, format);
    int length = vasprintf(&title, format, arguments);
    va_end(arguments);
    if (length < 0)
        return -ENOMEM;
    struct gt_phase_interval *interval = GT_GROW_LIST(phases, interval);
    if (!interval) {
        free(title);
        return -ENOMEM;
    }
    *interval = (struct gt_phase_interval){node, title, start, end, false};
    return 0;
}

static int add_gap(struct gt_phases *phases, uint32_t node, const char *before, const char *after, int64_t start,
                   int64_t end)
{
    bool ordered = strcmp(before, after) <= 0;
    if (start >= end)
        return 0;
    return add(phases, node, start, end, "Between %s and %s", ordered ? before : after, ordered ? after : before);
}

/* The time before and behind the phases of a node ends at the bounds that were asked for. */
static void phase_range(const struct gt_analysis_input *input, uint32_t node, int64_t *first, int64_t *last)
{
    const struct gt_trace *trace = input->trace;
    if (!gt_node_range(input, node, first, last) || !trace->is_bounded)
        return;
    *first = *first < trace->bound_first ? trace->bound_first : *first;
    *last = *last > trace->bound_last ? trace->bound_last : *last;
}

/* The runs of one node, and what lies before, between and behind them. */
static int add_node(const struct gt_analysis_input *input, const struct gt_spans *spans, size_t from, size_t to,
                    bool each_step, struct gt_phases *phases)
{
    uint32_t node = spans->span[from].key[0];
    int64_t first = spans->span[from].start, last = INT64_MIN, latest = INT64_MIN;
    const char *before = NULL;
    int status = 0;
    phase_range(input, node, &first, &last);
    for (size_t i = from, next; i < to && status >= 0; i = next) {
        const char *title = title_of(input, spans->span[i].key[1]);
        int64_t start = spans->span[i].start, end = spans->span[i].end;
        for (next = i + 1; next < to && !each_step; next++) {
            if (strcmp(title_of(input, spans->span[next].key[1]), title) != 0)
                break;
            end = spans->span[next].end > end ? spans->span[next].end : end;
        }
        if (before)
            status = add_gap(phases, node, before, title, latest, start);
        else if (first < start)
            status = add(phases, node, first, start, "Before %s", title);
        if (status >= 0)
            status = add(phases, node, start, end, "%s", title);
        latest = end > latest ? end : latest;
        before = title;
    }
    if (status >= 0 && before && last > latest)
        status = add(phases, node, latest, last, "After %s", before);
    if (status >= 0 && phases->count)
        phases->interval[phases->count - 1].is_last = true;
    return status;
}

int gt_phases_find(const struct gt_analysis_input *input, bool each_step, struct gt_phases *phases)
{
    struct gt_spans spans = {0};
    int status = collect(input, &spans);
    gt_spans_sort_nested(&spans);
    for (size_t from = 0, to = 0; status >= 0 && gt_spans_next(&spans, 1, &from, &to);) {
        status = add_node(input, &spans, from, to, each_step, phases);
    }
    gt_spans_release(&spans);
    return status;
}

void gt_phases_release(struct gt_phases *phases)
{
    for (size_t i = 0; i < phases->count; i++)
        free(phases->interval[i].title);
    free(phases->interval);
    *phases = (struct gt_phases){0};
}

/* Which series tell of the node; NULL without memory. */
static unsigned char *series_of(const struct gt_analysis_input *input, uint32_t node)
{
    const struct gt_trace *trace = input->trace;
    unsigned char *is_of = calloc(trace->series_count + 1, 1);
    for (size_t i = 0; is_of && i < trace->series_count; i++)
        is_of[i] = gt_analysis_is_host(input, gt_analysis_place(input, trace->series[i].node), node);
    return is_of;
}

bool gt_node_range(const struct gt_analysis_input *input, uint32_t node, int64_t *first, int64_t *last)
{
    const struct gt_trace_samples *samples = &input->trace->samples;
    unsigned char *is_of = series_of(input, node);
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (size_t i = 0; i < input->trace->file_count; i++) {
        const struct gt_trace_file *file = &input->trace->file[i];
        if (input->node[i] != node || !input->counted[i])
            continue;
        low = file->first < low ? file->first : low;
        high = file->last > high ? file->last : high;
    }
    for (size_t i = 0; is_of && i < samples->count; i++) {
        if (!is_of[samples->series[i]])
            continue;
        low = samples->time[i] < low ? samples->time[i] : low;
        high = samples->time[i] > high ? samples->time[i] : high;
    }
    free(is_of);
    if (low > high)
        return false;
    *first = low;
    *last = high;
    return true;
}

static int build_phases(const struct gt_analysis_input *input, struct gt_node *root)
{
    static const char *const choices[] = {"phase", "step", NULL};
    struct gt_phases phases = {0};
    struct gt_table *table = gt_analysis_table(root, "phases", "Phases",
                                               "text:node text:phase number:start_us number:end_us number:duration_us");
    struct gt_trace_energy energy;
    int by = gt_analysis_by(input, choices);
    int status = by < 0 ? by : gt_trace_energy_open(&energy, input);
    if (status < 0)
        return status;
    gt_trace_energy_columns(&energy, table);
    status = gt_phases_find(input, by == 1, &phases);
    for (size_t i = 0; i < phases.count && status >= 0; i++) {
        const struct gt_phase_interval *interval = &phases.interval[i];
        GT_CELLS(table, gt_analysis_text(input, interval->node), interval->title,
                 gt_analysis_us(input, interval->start), gt_analysis_us(input, interval->end),
                 (double)(interval->end - interval->start) / 1e3);
        status = gt_trace_energy_cells(&energy, table, interval->node, &interval->start, &interval->end, 1);
    }
    gt_analysis_empty(root, table, "no training phase of that name, and no steps");
    gt_trace_energy_section(&energy, root);
    gt_trace_energy_close(&energy);
    gt_phases_release(&phases);
    return status;
}

const struct gt_analysis gt_analysis_phases = {
    .name = "phases",
    .group = "steps",
    .help = "intervals before, in, between and after training phases, node by node; --by step: every step alone",
    .takes = GT_TAKES_BY | GT_TAKES_PHASES | GT_TAKES_COST | GT_TAKES_TOP,
    .build = build_phases,
};

/* ---- the parts of a job ----
 * The parts of a job: initialization until the first step begins, the training loop until the last one ends,
 * finalization. The job lasts from the first to the last moment of all files, so the three sum to its duration.
 * First and last step are the earliest and the latest in time, whatever the order of files. One row for each node,
 * and one for all together. */

struct job {
    int64_t first, last, loop_start, loop_end;
    bool has_steps;
};

static void add_job(const struct gt_analysis_input *input, struct gt_table *table, const char *node,
                    const struct job *job)
{
    int64_t part[] = {job->loop_start - job->first, job->loop_end - job->loop_start, job->last - job->loop_end};
    GT_CELLS(table, node, gt_analysis_us(input, job->first), gt_analysis_us(input, job->last),
             (double)(job->last - job->first) / 1e3);
    for (size_t i = 0; i < 3; i++) {
        GT_CELLS(table, job->has_steps ? (double)part[i] / 1e3 : NAN,
                 job->has_steps ? gt_percent((double)part[i], (double)(job->last - job->first)) : NAN);
    }
}

static void add_steps(struct job *job, const struct gt_spans *steps, uint32_t node, bool all)
{
    for (size_t i = 0; i < steps->count; i++) {
        const struct gt_keyed_span *step = &steps->span[i];
        if (!all && step->key[0] != node)
            continue;
        job->loop_start = !job->has_steps || step->start < job->loop_start ? step->start : job->loop_start;
        job->loop_end = !job->has_steps || step->end > job->loop_end ? step->end : job->loop_end;
        job->has_steps = true;
    }
}

/* Marks every node by its place. A file of samples alone belongs to the nodes of its samples. */
static void mark_nodes(const struct gt_analysis_input *input, unsigned char *is_node)
{
    const struct gt_trace *trace = input->trace;
    for (size_t i = 0; i < trace->file_count; i++)
        if (input->node[i] != GT_TRACE_NONE && (trace->file[i].node != GT_TRACE_NONE || trace->file[i].read))
            is_node[input->node[i]] = 1;
    for (size_t i = 0; i < trace->series_count; i++)
        if (trace->series[i].node != GT_TRACE_NONE)
            is_node[gt_analysis_place(input, trace->series[i].node)] = 1;
}

static void widen(const struct gt_analysis_input *input, struct job *all)
{
    for (size_t i = 0; i < input->trace->file_count; i++) {
        const struct gt_trace_file *file = &input->trace->file[i];
        if (!input->counted[i])
            continue;
        all->first = file->first < all->first ? file->first : all->first;
        all->last = file->last > all->last ? file->last : all->last;
    }
}

static int build_job(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_spans steps = gt_step_spans(input);
    struct job all = {.first = INT64_MAX, .last = INT64_MIN};
    struct gt_table *table = gt_analysis_table(
        root, "job", "Job",
        "text:node number:start_us number:end_us number:duration_us number:initialization_us "
        "number:initialization_percent number:training_loop_us number:training_loop_percent number:finalization_us "
        "number:finalization_percent");
    uint32_t places = input->trace->strings.count;
    unsigned char *is_node = calloc(places + (size_t)1, 1);
    int status = is_node ? gt_query_status(input->query) : -ENOMEM;
    if (status >= 0)
        mark_nodes(input, is_node);
    for (uint32_t node = 0; node < places && status >= 0; node++) {
        struct job job = {0};
        if (!is_node[node] || !gt_node_range(input, node, &job.first, &job.last))
            continue;
        add_steps(&job, &steps, node, false);
        add_job(input, table, gt_analysis_text(input, node), &job);
    }
    free(is_node);
    widen(input, &all);
    add_steps(&all, &steps, 0, true);
    if (all.first <= all.last)
        add_job(input, table, "all", &all);
    if (all.first > all.last)
        gt_analysis_empty(root, table, "no events and no samples");
    else if (!all.has_steps)
        gt_report_text(root, "reason", "Training loop", "no steps: no events with step numbers, and no ProfilerStep");
    return status;
}

const struct gt_analysis gt_analysis_job = {
    .name = "job",
    .group = "steps",
    .help = "duration of the job, of its initialization, training loop and finalization",
    .takes = GT_TAKES_PHASES,
    .build = build_job,
};
