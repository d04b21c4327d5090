/* What PyTorch's allocator held at the borders of blocks (run --blocks-memory): notes of processes, brought into the recording. */
#ifndef GT_BLOCKS_BLOCK_MEMORY_H
#define GT_BLOCKS_BLOCK_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

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
