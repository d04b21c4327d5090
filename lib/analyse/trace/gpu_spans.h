/* The work of GPUs as spans. */
#ifndef GT_ANALYSE_GPU_SPANS_H
#define GT_ANALYSE_GPU_SPANS_H

#include "analyse/trace/analysis.h"
#include "analyse/trace/spans.h"

/* Keys of the spans; node, device (Kineto's pid) and stream (its tid) as places. */
enum { GT_GPU_NODE, GT_GPU_DEVICE, GT_GPU_STREAM, GT_GPU_USE };

/* Kernels, copies and fills of memory, in the order of events. */
int gt_gpu_spans(const struct gt_analysis_input *input, struct gt_spans *spans);
bool gt_gpu_is_work(const struct gt_analysis_input *input, size_t event);
/* "GPU 0" as the process is labelled, or its number. */
const char *gt_gpu_device(const struct gt_analysis_input *input, const struct gt_keyed_span *span);

/* Time of one device by what runs at once: index is a set of bits 1 << enum gt_use. Index 0 is idle time between the first start
 * and the last end. The parts sum to `last - first`. */
struct gt_gpu_time {
    int64_t first, last;
    int64_t part[1 << GT_USES];
};
/* Add up spans from..to. 0 or -ENOMEM. */
int gt_gpu_time(struct gt_gpu_time *ret, const struct gt_spans *spans, size_t from, size_t to);
/* Time in which `use` runs, whatever else does. */
int64_t gt_gpu_busy(const struct gt_gpu_time *time, enum gt_use usage);

/* GPU work joined with the runtime call that launched it: by correlation id, file by file, so that ids of other ranks or
 * windows do not mix. calls[i] is the event of the call of spans->span[i], or SIZE_MAX. Of several calls with one id the latest
 * that began before the work did. 0 or -ENOMEM. */
int gt_gpu_launches(const struct gt_analysis_input *input, const struct gt_spans *spans, size_t **calls);

#endif
