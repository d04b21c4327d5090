/* A family is the processes of one run of one program: those forked from each other, and those that multiprocessing starts. A
 * file made by one of them belongs to all; a file of that name from an earlier run does not.
 *
 * A file remembers who made it in an extended attribute. */
#ifndef GT_BLOCKS_BLOCK_FAMILY_H
#define GT_BLOCKS_BLOCK_FAMILY_H

#include <stdbool.h>
#include <sys/types.h>

/* Returns true where this process is known to be a part that another one started or forked. */
bool gt_family_is_child(void);

/* Remember in the file that this process makes it; quiet where the file system cannot. */
void gt_family_sign(int fd);
/* Returns 1 when a process of this run made the file, 0 when not; -ENOTSUP when the file system cannot say. */
int gt_family_made(const char *path);

#endif
