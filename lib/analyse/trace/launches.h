/* Queues of launches: work whose call has begun and that has not begun on the GPU itself. */
#ifndef GT_ANALYSE_LAUNCHES_H
#define GT_ANALYSE_LAUNCHES_H

#include "analyse/trace/gpu_spans.h"

/* So many launches CUDA lets wait on a stream; further calls block. */
enum { GT_FULL_QUEUE = 1024 };

struct gt_launch_change {
    int64_t time;
    int by; /* 1 a launch, -1 its work begins */
};

struct gt_launch_queue {
    int64_t longest, length, first, last;
    int64_t blocked; /* ns at GT_FULL_QUEUE and more */
    double area;     /* length times ns */
};

/* Changes of the queue by spans from..to and their calls (gt_gpu_launches), in time; free(). 0 or -ENOMEM. */
int gt_launch_changes(const struct gt_analysis_input *input, const struct gt_spans *spans, const size_t *call,
                      size_t from, size_t to, struct gt_launch_change **ret, size_t *ret_count);
/* `take`, which may be NULL, is told the length after each moment. */
struct gt_launch_queue gt_launch_queue(const struct gt_launch_change *change, size_t count,
                                       void (*take)(void *context, int64_t time, int64_t length), void *context);

#endif
