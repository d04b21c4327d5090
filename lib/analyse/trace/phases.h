/* Training phases cut time into intervals. */
#ifndef GT_ANALYSE_TRACE_PHASES_H
#define GT_ANALYSE_TRACE_PHASES_H

#include "analyse/trace/analysis.h"

/* An interval is [start, end) in ns. Its title is "Before P", "P", "Between P and Q" (in the order of names) or
 * "After P". */
struct gt_phase_interval {
    uint32_t node; /* place */
    char *title;
    int64_t start, end;
    bool is_last; /* of its node: its last moment belongs to it */
};

struct gt_phases {
    struct gt_phase_interval *interval; /* by node, then start */
    size_t count, capacity;
};

/* Finds the intervals. Phases are events of processes "Step:...", or ProfilerStep; where a trace has neither, events
 * of the names in options->phases, or else every code block and every slice without category. Runs of one phase are
 * one interval unless `each_step`. Returns 0 or -ENOMEM. */
int gt_phases_find(const struct gt_analysis_input *input, bool each_step, struct gt_phases *phases);
void gt_phases_release(struct gt_phases *phases);
/* Tells the time in which a node was recorded, ns; returns false when no file tells. */
bool gt_node_range(const struct gt_analysis_input *input, uint32_t node, int64_t *first, int64_t *last);

#endif
