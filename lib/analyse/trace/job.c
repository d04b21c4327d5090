/* The parts of a job: initialization until the first step begins, the training loop until the last one ends, finalization. The
 * job lasts from the first to the last moment of all files, so the three sum to its duration. First and last step are the
 * earliest and the latest in time, whatever the order of files. One row for each node, and one for all together. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyse/trace/phases.h"
#include "analyse/trace/steps.h"

struct job {
    int64_t first, last, loop_start, loop_end;
    bool has_steps;
};

static double percent(int64_t part, const struct job *job)
{
    return job->last > job->first ? 100.0 * (double)part / (double)(job->last - job->first) : NAN;
}

static void add_row(const struct gt_analysis_input *input, struct gt_table *table, const char *node,
                    const struct job *job)
{
    int64_t part[] = {job->loop_start - job->first, job->loop_end - job->loop_start, job->last - job->loop_end};
    gt_table_text(table, node);
    gt_table_number(table, gt_analysis_us(input, job->first));
    gt_table_number(table, gt_analysis_us(input, job->last));
    gt_table_number(table, (double)(job->last - job->first) / 1e3);
    for (size_t i = 0; i < 3; i++) {
        gt_table_number(table, job->has_steps ? (double)part[i] / 1e3 : NAN);
        gt_table_number(table, job->has_steps ? percent(part[i], job) : NAN);
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

static int build(const struct gt_analysis_input *input, struct gt_node *root, struct gt_error *error)
{
    (void)error;
    struct gt_spans steps = {0};
    struct job all = {.first = INT64_MAX, .last = INT64_MIN};
    struct gt_table *table = gt_analysis_table(
        root, "job", "Job",
        "text:node number:start_us number:end_us number:duration_us number:initialization_us "
        "number:initialization_percent number:training_loop_us number:training_loop_percent number:finalization_us "
        "number:finalization_percent");
    uint32_t places = input->trace->strings.count;
    unsigned char *is_node = calloc(places + (size_t)1, 1);
    int status = is_node ? gt_step_spans(input, &steps) : -ENOMEM;
    if (status >= 0)
        mark_nodes(input, is_node);
    for (uint32_t node = 0; node < places && status >= 0; node++) {
        struct job job = {0};
        if (!is_node[node] || !gt_node_range(input, node, &job.first, &job.last))
            continue;
        add_steps(&job, &steps, node, false);
        add_row(input, table, gt_analysis_text(input, node), &job);
    }
    free(is_node);
    widen(input, &all);
    add_steps(&all, &steps, 0, true);
    if (all.first <= all.last)
        add_row(input, table, "all", &all);
    if (all.first > all.last)
        gt_analysis_empty(root, table, "no events and no samples");
    else if (!all.has_steps)
        gt_report_text(root, "reason", "Training loop", "no steps: no events with step numbers, and no ProfilerStep");
    gt_spans_release(&steps);
    return status;
}

const struct gt_analysis gt_analysis_job = {
    .name = "job",
    .help = "duration of the job, of its initialization, training loop and finalization",
    .takes = GT_TAKES_PHASES,
    .build = build,
};
