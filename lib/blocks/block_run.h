/* The code blocks of a command: its processes leave them in a folder, from which they go into the recording. */
#ifndef GT_BLOCKS_BLOCK_RUN_H
#define GT_BLOCKS_BLOCK_RUN_H

#include <stddef.h>
#include <stdint.h>

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

/* What PyTorch's allocator held at the borders of blocks (run --blocks-memory): notes of processes, brought into the recording. */

#define GT_BLOCKS_MEMORY_ENVIRONMENT "GPU_TRACKER_BLOCKS_MEMORY"

/* The greatest figures of a block, in bytes, over all its calls in all processes. */
struct gt_block_memory {
    char *name;
    int64_t allocated, reserved; /* at borders */
    int64_t least, most;         /* between which the peak of what was allocated lies; -1: not known */
};

struct gt_block_memories {
    struct gt_block_memory *memory;
    size_t count, capacity;
};

/* Bring the notes in the folder of a run into its recording, an SQLite file, before the folder is emptied. */
int gt_block_memory_collect(const char *folder, const char *tracking_file, pid_t pid, struct gt_error *error);
/* Read them, sorted by name; none where the recording has none. */
int gt_block_memory_load(struct gt_block_memories *ret, const char *tracking_file, struct gt_error *error);
void gt_block_memory_release(struct gt_block_memories *memories);

#endif
