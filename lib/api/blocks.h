/* Results of code blocks that were read elsewhere. For Python. */
#ifndef GT_API_BLOCKS_H
#define GT_API_BLOCKS_H

#include "gpu_tracker.h"

/* The results in a file, as JSON: of the file itself, or of a pickle made by this project, its Python package or the original
 * gpu_tracker 5. A pickle's names are compared with those that results have, and nothing of it is run. Free with free(). */
int gt_blocks_results_read(const char *path, char **ret, struct gt_error *error);

/* Results in JSON that are not in a file, as a report: of the type "sub_tracking_results" (of gt_blocks_analyze),
 * "code_block_results" (one of its blocks) or "comparison_results" (of gt_blocks_compare). */
int gt_blocks_results(const char *type, const char *json, struct gt_report **ret, struct gt_error *error);

#endif
