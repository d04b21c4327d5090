/* Pages show in charts how much a recording used over time. */
#ifndef GT_ANALYSE_USAGE_OVER_TIME_H
#define GT_ANALYSE_USAGE_OVER_TIME_H

#include "aggregate/course.h"
#include "analyse/usage/figures.h"
#include "report/report.h"

struct gt_over_time {
    const struct gt_sample_course *course;
    const struct gt_machine *machine;
    double memory_limit; /* bytes; 0 or NaN: the machine's memory */
    double memory_peak;  /* bytes: the job's, which no sample may have seen; 0 or NaN: not known */
};

/* Adds a chart for each resource that was measured at least twice. */
void gt_over_time_add(const struct gt_over_time *recording, struct gt_node *page);

/* Pages show the processes of a recording with detail as bars, from their beginnings to their ends. */

void gt_process_lanes_add(const struct gt_usage *usage, struct gt_node *page);

#endif
