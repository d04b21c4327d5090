/* Queues of work that was launched and has not begun on the GPU. */
#ifndef GT_ANALYSE_GPU_LAUNCHES_H
#define GT_ANALYSE_GPU_LAUNCHES_H

#include "analyse/trace/analysis.h"

/* Work waits in the queue of its stream from the begin of its call to its begin on the GPU. CUDA lets so many wait;
 * further calls block. */
enum { GT_FULL_QUEUE = 1024 };

struct gt_launch_queue {
    int64_t longest, length, first, last;
    int64_t blocked; /* ns at GT_FULL_QUEUE and more */
    double area;     /* length times ns */
};

/* Returns the changes of queues: node device stream time change, sorted; 1 a launch, -1 its work begins. */
struct gt_rows gt_launch_changes(const struct gt_analysis_input *input);
/* Add up the queue of changes from..to, and pass its length after each moment to `take`, which may be NULL. */
struct gt_launch_queue gt_launch_queue(const struct gt_rows *changes, size_t from, size_t to,
                                       void (*take)(void *context, int64_t time, int64_t length), void *context);

#endif
