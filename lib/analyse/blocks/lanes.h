/* Pages show the calls of code blocks above their charts: each thread has a lane for each depth at which calls nest. */
#ifndef GT_ANALYSE_LANES_H
#define GT_ANALYSE_LANES_H

#include "analyse/blocks/block_analysis.h"
#include "report/report.h"

void gt_lanes_add(struct gt_node *page, const struct gt_block_analysis *analysis);

#endif
