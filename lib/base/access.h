/* What this process may do with a file, as it is now. */
#ifndef GT_BASE_ACCESS_H
#define GT_BASE_ACCESS_H

/* faccessat(2) with AT_EACCESS, also where the system call is forbidden. 0 or negative errno. */
int gt_access(int folder, const char *path, int mode);

#endif
