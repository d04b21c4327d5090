/* Data loaders leave events: PyTorch's in traces of SMDebug and Kineto, TensorFlow's in those of SMDebug. */
#ifndef GT_ANALYSE_TRACE_DATALOADER_H
#define GT_ANALYSE_TRACE_DATALOADER_H

#include "analyse/gpu/lists.h"
#include "base/table.h"

/* A batch is no event: it lasts from the start of one fetch to the start of the next of the same process. The pause
 * in which a new iterator is made (between epochs) is none. */
enum gt_loader_part { GT_LOADER_INITIALIZATION, GT_LOADER_WORKER, GT_LOADER_NEXT, GT_LOADER_BATCH, GT_LOADER_PARTS };

/* Returns the part that an event is, GT_LOADER_BATCH for none. */
enum gt_loader_part gt_loader_part(const struct gt_analysis_input *input, size_t event);
/* Returns everything a data loader did, but for the fetches that found an epoch at its end, by node, part and time: node part event start
 * end length, ended_by (of batches: the event that ends it), median (of its node and part) and is_outlier. */
struct gt_rows gt_loader_parts(const struct gt_analysis_input *input);
/* Finds when the training waits for data: initialization and fetching, united, with the node as key 0. Returns 0 or
 * -ENOMEM. */
int gt_loader_waits(const struct gt_analysis_input *input, struct gt_spans *spans);
/* Makes a table of the outliers of one part, by its name, the longest first:
 * previous_start (batches: when the one before was fetched), start_time, end_time, duration_us, worker_id,
 * framework_metric, nodeID. The trace keeps GT_TABLE_ARGUMENTS. -EINVAL: there is no such part. */
int gt_loader_outliers(const struct gt_trace *trace, const char *part, struct gt_table **ret, struct gt_error *error);

#endif
