/* A recording is read here for those who see only the public header. */
#ifndef GT_API_RECORDED_H
#define GT_API_RECORDED_H

#include "analyse/usage/usage.h"
#include "gpu_tracker.h"

struct gt_recorded_use {
    int (*of)(const struct gt_usage_sources *sources, void *context, struct gt_error *error);
    void *context;
};

/* Read the recording and hand it on; what was read is borrowed for the call. `options` may be NULL. */
int gt_recorded_use(const char *path, const struct gt_recording_options *options, const struct gt_recorded_use *use,
                    struct gt_error *error);

#endif
