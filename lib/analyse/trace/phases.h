/* Training phases cut time into intervals. */
#ifndef GT_ANALYSE_PHASES_H
#define GT_ANALYSE_PHASES_H

#include "analyse/trace/analysis.h"

/* Half-open [start, end), ns. Titles: "Before P", "P", "Between P and Q" (in the order of names), "After P". */
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

/* Phases are events of processes "Step:...", or ProfilerStep, or, where a trace has neither, what bears one of the names
 * in options->phases, or else every code block and every slice without category. Runs of one phase are one interval unless
 * `each_step`. 0 or -ENOMEM. */
int gt_phases_find(const struct gt_analysis_input *input, bool each_step, struct gt_phases *phases);
void gt_phases_release(struct gt_phases *phases);
/* The time a node was recorded; false when no file tells. */
bool gt_node_range(const struct gt_analysis_input *input, uint32_t node, int64_t *first, int64_t *last);

#endif
