/* Calls of the runtime and the driver of CUDA or HIP, by what they do. */
#ifndef GT_ANALYSE_CALLS_API_H
#define GT_ANALYSE_CALLS_API_H

#include "analyse/gpu/lists.h"

/* A call costs this beside the work that it is for. */
enum gt_api_kind {
    GT_API_OTHER,
    GT_API_ALLOCATION,      /* cudaMalloc, cudaFree: they also wait for the device */
    GT_API_SYNCHRONIZATION, /* cudaDeviceSynchronize, cudaStreamSynchronize, cudaEventSynchronize */
    GT_API_COPY,            /* cudaMemcpy, which returns when the copy is made; not cudaMemcpyAsync */
    GT_API_KINDS
};
enum gt_api_kind gt_api_kind(const char *name);

/* Returns the time of each node's threads that make calls, by place, in ns: of each thread from the begin of its first
 * event to the end of its last. It is the query's; NULL: it has failed. */
int64_t *gt_api_host_times(const struct gt_analysis_input *input);
/* Returns true for a copy from or to memory that is not pinned, as far as names tell. */
bool gt_api_is_pageable(const struct gt_analysis_input *input, size_t event);

#endif
