/* The code blocks of a command: its processes leave them in a folder, from which they go into the recording. */
#ifndef GT_BLOCKS_BLOCK_RUN_H
#define GT_BLOCKS_BLOCK_RUN_H

#include "gpu_tracker.h"

/* Make the folder in which the processes of a command leave their blocks (GPU_TRACKER_BLOCKS is set to it). `tracking_file` is that
 * of the tracker's options; `pid` is the tracked process, for its placeholder. What an earlier run left in the folder is -EEXIST, or
 * removed with `overwrite`. A folder that was not made so, or that holds anything else, is left alone. */
int gt_blocks_prepare(char *folder, size_t size, const char *tracking_file, int overwrite, struct gt_error *error);
/* At the end: bring the blocks into the recording and remove the folder. Returns how many rows there were. */
int gt_blocks_collect(const char *folder, const char *tracking_file, pid_t pid,
                      void (*warn)(void *context, const char *sentence), void *context, struct gt_error *error);
/* Nothing was started: remove the folder. */
void gt_blocks_cancel(const char *folder);

#endif
