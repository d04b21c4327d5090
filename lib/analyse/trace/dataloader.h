/* Data loaders leave events: PyTorch's in traces of SMDebug and Kineto, TensorFlow's in those of SMDebug. */
#ifndef GT_ANALYSE_TRACE_DATALOADER_H
#define GT_ANALYSE_TRACE_DATALOADER_H

#include "analyse/trace/training.h"
#include "base/table.h"

/* Returns everything a data loader did, but for the fetches that found an epoch at its end, by node, part and time: node part event start
 * end length, ended_by (of batches: the event that ends it), median (of its node and part) and is_outlier. */
struct gt_rows gt_loader_parts(const struct gt_analysis_input *input);
/* Makes a table of the outliers of one part, by its name, the longest first:
 * previous_start (batches: when the one before was fetched), start_time, end_time, duration_us, worker_id,
 * framework_metric, nodeID. The trace keeps GT_TABLE_ARGUMENTS. -EINVAL: there is no such part. */
int gt_loader_outliers(const struct gt_trace *trace, const char *part, struct gt_table **ret, struct gt_error *error);

#endif
