/* Events of data loaders: PyTorch's, as SMDebug and Kineto record them, and TensorFlow's, as SMDebug does. */
#ifndef GT_ANALYSE_LOADER_H
#define GT_ANALYSE_LOADER_H

#include "analyse/analysis.h"
#include "analyse/spans.h"

enum gt_loader_part { GT_LOADER_INITIALIZATION, GT_LOADER_WORKER, GT_LOADER_NEXT, GT_LOADER_PARTS };

/* Which part an event is, or GT_LOADER_PARTS. */
enum gt_loader_part gt_loader_part(const struct gt_analysis_input *input, size_t event);
/* When the training waits for data: initialization and fetching, united, with the node as key 0. */
int gt_loader_waits(const struct gt_analysis_input *input, struct gt_spans *spans);

#endif
