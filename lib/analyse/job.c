/* The parts of a job: initialization until the first step begins, the training loop until the last one ends, finalization. The
 * job lasts from the first to the last moment of all files, so the three sum to its duration. First and last step are the
 * earliest and the latest in time, whatever the order of files. One row for each node, and one for all together. */
#include <math.h>

#include "analyse/phases.h"
#include "analyse/steps.h"

struct job {
    int64_t first, last, loop_start, loop_end;
    bool has_steps;
};

static double percent(int64_t part, const struct job *job)
{
    return job->last > job->first ? 100.0 * (double)part / (double)(job->last - job->first) : NAN;
}

static void add_row(const struct gt_analysis_input *input, struct gt_node *table, const char *node,
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

static bool seen_before(const struct gt_analysis_input *input, size_t file)
{
    for (size_t i = 0; i < file; i++)
        if (input->node[i] == input->node[file])
            return true;
    return false;
}

static int build(const struct gt_analysis_input *input, struct gt_node *root, struct gt_error *error)
{
    (void)error;
    struct gt_spans steps = {0};
    struct job all = {.first = INT64_MAX, .last = INT64_MIN};
    struct gt_node *table = gt_analysis_table(
        root, "job", "Job",
        "text:node number:start_us number:end_us number:duration_us number:initialization_us "
        "number:initialization_percent number:training_loop_us number:training_loop_percent number:finalization_us "
        "number:finalization_percent");
    int status = gt_step_spans(input, &steps);
    for (size_t i = 0; i < input->trace->file_count && status >= 0; i++) {
        struct job job = {0};
        if (seen_before(input, i) || !gt_node_range(input, input->node[i], &job.first, &job.last))
            continue;
        all.first = job.first < all.first ? job.first : all.first;
        all.last = job.last > all.last ? job.last : all.last;
        add_steps(&job, &steps, input->node[i], false);
        add_row(input, table, gt_analysis_text(input, input->node[i]), &job);
    }
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
    .build = build,
};
