/* What the library in a program tells `run` beside the blocks: how many ranges it saw, and how many it did not keep. A file PID.notes in
 * the folder of the blocks, to which each process adds lines; of each program in it the last counts. */
#ifndef GT_BLOCKS_BLOCK_NOTES_H
#define GT_BLOCKS_BLOCK_NOTES_H

#include <stdint.h>
#include <sys/types.h>

#include "blocks/block_source.h"

#define GT_BLOCK_NOTE_SUFFIX ".notes"
/* The program in the process, the source, ranges seen; and not kept beyond --blocks-most, the number of names, that of levels. */
#define GT_BLOCK_NOTE_FORMAT "%llu %s %llu %llu %llu %llu\n"

struct gt_block_notes {
    uint64_t seen[GT_BLOCK_SOURCES]; /* in all processes */
};

/* Read and remove all in a folder, telling what was not kept. */
void gt_block_notes_take(struct gt_block_notes *ret, int folder, void (*warn)(void *context, const char *sentence),
                         void *context);

#endif
