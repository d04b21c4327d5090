/* The report on code blocks says how much each of them used. */
#ifndef GT_ANALYSE_BLOCKS_BLOCKS_H
#define GT_ANALYSE_BLOCKS_BLOCKS_H

#include "report/report.h"

struct gt_block_analysis;

/* Builds a report of type "sub_tracking_results" with gpu_tracker's keys and layout, and further keys after them.
 * Without sub-tracking files the blocks that the run collected are used; `optional`: and none at all is no error. */
int gt_blocks_report(struct gt_report **ret, const struct gt_blocks_options *options, bool optional,
                     struct gt_error *error);

/* Adds what pages show of the blocks that the run collected, if any, to the report of a recording. */
int gt_blocks_page(struct gt_report *report, const struct gt_blocks_options *options, struct gt_error *error);
/* Does the same with an analysis that has ended. */
int gt_blocks_page_add(struct gt_report *report, struct gt_block_analysis *analysis, struct gt_error *error);

/* The version of our results files; those of a newer one are refused by `compare`.
 *   2  "peaks" are in bytes; before, in the unit of "static_data"; columns of the network's namespace are
 *      called so */
enum { GT_RESULTS_VERSION = 2 };

#endif
