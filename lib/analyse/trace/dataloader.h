/* Events of data loaders: PyTorch's, as SMDebug and Kineto record them, and TensorFlow's, as SMDebug does. */
#ifndef GT_ANALYSE_DATALOADER_H
#define GT_ANALYSE_DATALOADER_H

#include "analyse/trace/analysis.h"
#include "analyse/trace/spans.h"

/* A batch is no event: it lasts from the start of one fetch to the start of the next of the same process. The pause in which
 * a new iterator is made (between epochs) is none. */
enum gt_loader_part { GT_LOADER_INITIALIZATION, GT_LOADER_WORKER, GT_LOADER_NEXT, GT_LOADER_BATCH, GT_LOADER_PARTS };
extern const char *const gt_loader_part_names[GT_LOADER_PARTS + 1]; /* the last is NULL */

/* Which part an event is, or GT_LOADER_BATCH: none. */
enum gt_loader_part gt_loader_part(const struct gt_analysis_input *input, size_t event);
/* Everything a data loader did, sorted. Keys: node, part, process, and of batches the event that ends it. */
int gt_loader_spans(const struct gt_analysis_input *input, struct gt_spans *spans);
/* When the training waits for data: initialization and fetching, united, with the node as key 0. */
int gt_loader_waits(const struct gt_analysis_input *input, struct gt_spans *spans);

#endif
