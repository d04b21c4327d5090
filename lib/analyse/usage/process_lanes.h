/* Pages show the processes of a recording with detail as bars, from their beginnings to their ends. */
#ifndef GT_ANALYSE_PROCESS_LANES_H
#define GT_ANALYSE_PROCESS_LANES_H

#include "analyse/usage/usage_sources.h"
#include "report/report.h"

void gt_process_lanes_add(const struct gt_usage *usage, struct gt_node *page);

#endif
