/* Operators of frameworks on the CPU. */
#ifndef GT_ANALYSE_OPERATORS_H
#define GT_ANALYSE_OPERATORS_H

#include "analyse/trace/spans.h"

/* Memory of devices as PyTorch's profiler saw it: "[memory]" instants, each an allocation (Bytes > 0) or a release (< 0), with the
 * allocator's totals after it. */

/* An analysis has the reader keep these, as the first of its arguments. */
#define GT_MEMORY_ARGUMENTS "Total Allocated", "Total Reserved", "Device Type", "Device Id", "Addr", "Bytes"

struct gt_memory_change {
    uint32_t node, track;
    double type, id; /* c10::DeviceType and number; -1 not known */
    int64_t time;
    double allocated, reserved, address, bytes; /* NaN not known */
    uint32_t owner;                             /* innermost operator running on the thread, as a place */
    size_t event;
};

/* All changes by node, device and time; free(). 0 or -ENOMEM. */
int gt_memory_find(const struct gt_analysis_input *input, struct gt_memory_change **ret, size_t *ret_count);
/* Past the last change of the device of number `from`. */
size_t gt_memory_run(const struct gt_memory_change *change, size_t from, size_t count);
/* The first of changes from..to with the most allocated. */
size_t gt_memory_peak(const struct gt_memory_change *change, size_t from, size_t to);
/* "cuda:0", "cpu". */
const char *gt_memory_device(double type, double id, char *text, size_t size);

struct gt_memory_holder {
    double address, bytes;
    uint32_t owner; /* operator, as a place, or GT_TRACE_NONE */
    size_t blocks;
};
/* Who holds what was allocated in changes from..to and not released there, the largest first; free(). 0 or -ENOMEM. */
int gt_memory_holders(const struct gt_memory_change *change, size_t from, size_t to, struct gt_memory_holder **ret,
                      size_t *ret_count);

#endif
