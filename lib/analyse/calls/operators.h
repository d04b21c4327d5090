/* PyTorch's profiler tells of operators and of memory on devices: each "[memory]" instant is an allocation (Bytes >
 * 0) or a release (< 0), with the totals of the allocator after it. */
#ifndef GT_ANALYSE_CALLS_OPERATORS_H
#define GT_ANALYSE_CALLS_OPERATORS_H

#include "analyse/gpu/lists.h"

/* An analysis has the reader keep these, as the first of its arguments. */
#define GT_MEMORY_ARGUMENTS "Total Allocated", "Total Reserved", "Device Type", "Device Id", "Addr", "Bytes"

/* Likewise, behind GT_BACKWARD_ARGUMENTS; Kineto before 1.12 writes the second. */
#define GT_SHAPE_ARGUMENTS "Input Dims", "Input dims"
enum { GT_DIMENSIONS = 2, GT_OLD_DIMENSIONS };
/* Returns the shapes that an operator was called with, as a place. */
uint32_t gt_operator_shape(const struct gt_analysis_input *input, size_t event);

struct gt_memory_change {
    uint32_t node, track;
    double type, id; /* c10::DeviceType and number; -1 not known */
    int64_t time;
    double allocated, reserved, address, bytes; /* NaN not known */
    uint32_t owner;                             /* innermost operator running on the thread, as a place */
    size_t event;
    bool is_hidden;  /* the owner is not selected */
    bool is_unknown; /* it releases what was allocated before the trace begins */
    bool
        is_summed; /* the trace tells no totals: allocated is the sum of bytes since it begins, less what was released */
};

/* Returns all changes, sorted by node, device and time. They are the query's; it fails without memory. */
struct gt_memory_change *gt_memory_find(const struct gt_analysis_input *input, size_t *count);
/* Returns the index behind the last change of the device that change `from` is of. */
size_t gt_memory_run(const struct gt_memory_change *change, size_t from, size_t count);
/* Returns the first of changes from..to with the most allocated. */
size_t gt_memory_peak(const struct gt_memory_change *change, size_t from, size_t to);
/* Writes "cuda:0" or "cpu", and returns `text`. */
const char *gt_memory_device(double type, double id, char *text, size_t size);

struct gt_memory_holder {
    double address, bytes;
    uint32_t owner; /* operator, as a place, or GT_TRACE_NONE */
    size_t blocks;
    bool is_hidden; /* the operator is not selected */
};
/* Returns the operators that hold memory allocated in changes from..to and not released there, the largest first. They are
 * the query's; it fails without memory. */
struct gt_memory_holder *gt_memory_holders(struct gt_query *query, const struct gt_memory_change *change, size_t from,
                                           size_t to, size_t *count);

#endif
