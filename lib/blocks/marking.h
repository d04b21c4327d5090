/* Marking blocks in a file of one's own. For Python. */
#ifndef GT_BLOCKS_MARKING_H
#define GT_BLOCKS_MARKING_H

#include "gpu_tracker.h"

/* Mark in a file of your choice, .csv or .sqlite. It stays open until the process ends; asking again gives the same. All
 * processes of a run of the program write to it: those forked from one that has opened it, whoever opens it after a fork, and
 * those below gt_block_parent. -EEXIST when an earlier run left it and `overwrite` is 0; a file of this run is never replaced. */
int gt_block_file_open(struct gt_block_file **ret, const char *path, int overwrite, struct gt_error *error);
struct gt_block gt_block_begin_in(struct gt_block_file *file, const char *name);
/* The path at which the blocks of a file (NULL: the process's own, which is made) are written; NULL when there is no place. */
const char *gt_block_file_path(const struct gt_block_file *file);
/* 0, or why blocks are not being recorded in a file (NULL: the process's own); -ENOENT when it was removed or renamed. */
int gt_block_file_status(const struct gt_block_file *file, struct gt_error *error);
/* Before a file is opened: `pid` started this process as a part of its own program, but not by fork. */
void gt_block_parent(pid_t pid);

#endif
