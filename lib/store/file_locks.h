/* SQLite relies on locks and on memory that processes share, which file systems of a network have in part or not at all. */
#ifndef GT_STORE_FILE_LOCKS_H
#define GT_STORE_FILE_LOCKS_H

#include <stdbool.h>

/* Returns true where other machines see the file as well: NFS, Lustre, GPFS, BeeGFS, CephFS, SMB. */
bool gt_file_is_on_network(int fd);
/* Returns 1 where another process has a lock on the file as SQLite takes it, 0 where none has, or negative errno: there are no locks. */
int gt_file_is_locked(int fd);

#endif
