/* Pages show in charts how much a recording used over time. */
#ifndef GT_ANALYSE_OVER_TIME_H
#define GT_ANALYSE_OVER_TIME_H

#include "aggregate/summary.h"
#include "report/report.h"

struct gt_over_time {
    const struct gt_history *history;
    const struct gt_machine *machine;
    const struct gt_band *band; /* stretches to be marked, in seconds from the first sample */
    size_t bands;
};

/* Adds a chart for each resource that was measured at least twice. */
void gt_over_time_add(const struct gt_over_time *recording, struct gt_node *root);

#endif
