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
/* Finds everything a data loader did, sorted, but for the fetches that found an epoch at its end. Keys: node, part, process, and of
 * batches the event that ends it. Returns 0 or -ENOMEM. */
int gt_loader_spans(const struct gt_analysis_input *input, struct gt_spans *spans);
/* Finds when the training waits for data: initialization and fetching, united, with the node as key 0. Returns 0 or
 * -ENOMEM. */
int gt_loader_waits(const struct gt_analysis_input *input, struct gt_spans *spans);
/* Finds the least length of an outlier: twice the median, and beyond three deviations above it, where lengths vary by
 * themselves (the median absolute deviation, in units of a normal distribution's deviation; C. Leys et al., Journal of
 * Experimental Social Psychology 49, 2013). NaN or 0: there are none. Returns 0 or -ENOMEM. */
int gt_loader_outlier(struct gt_numbers *lengths, double *ret);
/* Makes a table of the outliers of one part, by its name, the longest first:
 * previous_start (batches: when the one before was fetched), start_time, end_time, duration_us, worker_id,
 * framework_metric, nodeID. The trace keeps GT_TABLE_ARGUMENTS. -EINVAL: there is no such part. */
int gt_loader_outliers(const struct gt_trace *trace, const char *part, struct gt_table **ret, struct gt_error *error);

#endif
