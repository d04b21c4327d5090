/* Parts of what a data loader does. */
#ifndef GT_ANALYSE_TRACE_LOADER_PART_H
#define GT_ANALYSE_TRACE_LOADER_PART_H

#include "analyse/gpu/lists.h"

/* A batch is no event: it lasts from the start of one fetch to the start of the next of the same process. The pause
 * in which a new iterator is made (between epochs) is none. */
enum gt_loader_part { GT_LOADER_INITIALIZATION, GT_LOADER_WORKER, GT_LOADER_NEXT, GT_LOADER_BATCH, GT_LOADER_PARTS };

/* Returns the part that an event is, GT_LOADER_BATCH for none. */
enum gt_loader_part gt_loader_part(const struct gt_analysis_input *input, size_t event);
/* Finds when the training waits for data: initialization and fetching, united, with the node as key 0. Returns 0 or
 * -ENOMEM. */
int gt_loader_waits(const struct gt_analysis_input *input, struct gt_spans *spans);

#endif
