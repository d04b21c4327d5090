/* The command's options as the library's. */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "gpu_tracker.h"
#include "option.h"

struct gt_tracker_options settings_tracker(const struct options *options);

#endif
