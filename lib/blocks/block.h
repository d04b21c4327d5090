/* Marking code blocks in a running program: the rows that gt_block_begin and gt_block_end leave behind, and the files
 * they go to. Nothing here knows how the rows are analysed.
 *
 * A file that was asked for by its name is shared by all processes of the run (see gt_family_made); any other belongs to one
 * process. All that may not be shared after fork lies in one page that the kernel clears in the child (MADV_WIPEONFORK),
 * so that the child starts with no files and opens its own, or the shared ones anew.
 *
 * Durability: a row is in the page cache when the call returns, so it outlives kill -9 of the process (not a power cut). */
#ifndef GT_BLOCKS_BLOCK_H
#define GT_BLOCKS_BLOCK_H

#include "blocks/block_writer.h"
#include "gpu_tracker.h"

/* Bytes of a name in a file. A longer one is cut off, not in the middle of a character, and ends in "~" and a number of eight digits
 * made of the whole, so that different names stay different. */
enum { GT_BLOCK_NAME_MAX = 1000 };
/* Returns the name as it is written: `name`, or what is in `cut`, which has GT_BLOCK_NAME_MAX + 1 bytes. */
const char *gt_block_name(const char *name, char *cut);

/* Mark in a file of your choice, .csv or .sqlite. It stays open until the process ends; asking again gives the same. All
 * processes of a run of the program write to it: those forked from one that has opened it, whoever opens it after a fork, and
 * those below gt_block_parent. -EEXIST when an earlier run left it and `overwrite` is 0; a file of this run is never replaced. */
int gt_block_file_open(struct gt_block_file **ret, const char *path, int overwrite, struct gt_error *error);
struct gt_block gt_block_begin_in(struct gt_block_file *file, const char *name, uint64_t total);
/* Keep a call of the calling thread that is over: moments of the monotonic clock. It has no CPU time. */
void gt_block_add_past(const char *name, int64_t begin_ns, int64_t end_ns);
/* The path at which the blocks of a file (NULL: the process's own, which is made) are written; NULL when there is no place. */
const char *gt_block_file_path(const struct gt_block_file *file);
/* 0, or why blocks are not being recorded in a file (NULL: the process's own); -ENOENT when it was removed or renamed. */
int gt_block_file_status(const struct gt_block_file *file, struct gt_error *error);

#endif
