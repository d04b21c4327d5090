/* Progress is how far a program is, as its code blocks tell that say how many of them there will be (gt_block_begin_of): from the files
 * that its processes write into the folder of a run, each byte read once. */
#ifndef GT_BLOCKS_BLOCK_PROGRESS_H
#define GT_BLOCKS_BLOCK_PROGRESS_H

#include <stdint.h>

enum { GT_PROGRESS_NAME = 96 };

struct gt_progress {
    char name[GT_PROGRESS_NAME]; /* "": nothing is counted */
    uint64_t done, total;
    double left; /* seconds until all are done, by the pace of the last ones; NaN: not known */
};

struct gt_block_progress;
/* NULL without memory. The folder may come later, or never. */
struct gt_block_progress *gt_block_progress_open(const char *folder);
/* Read on, a bounded part of each file. */
void gt_block_progress_read(struct gt_block_progress *progress);
/* Returns the progress of the outermost blocks that are counted and not yet all done, at a moment in seconds since the epoch. */
struct gt_progress gt_block_progress_at(const struct gt_block_progress *progress, double now);
void gt_block_progress_close(struct gt_block_progress *progress);

#endif
