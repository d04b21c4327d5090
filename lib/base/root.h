/* The machine's root: the only code that opens /proc, /sys, /dev and /etc. With another root the whole
 * library reads a stored machine instead of this one. */
#ifndef GT_BASE_ROOT_H
#define GT_BASE_ROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct gt_root {
    int fd;          /* directory handle of "/", or of the stored machine */
    bool is_machine; /* true: the running kernel, so that system calls on its pids mean something */
    char path[512];  /* "" for the running machine */
};

/* `path` NULL, "" or "/" opens the running machine. */
int gt_root_open(struct gt_root *root, const char *path, struct gt_error *error);
void gt_root_close(struct gt_root *root);

/* Open `path` ("proc/1/stat", a leading slash is allowed) for reading, close-on-exec; negative errno on failure. */
int gt_root_open_file(const struct gt_root *root, const char *path);
/* Open an existing file for writing; make and remove a directory. Negative errno on failure, on a stored machine -EROFS. */
int gt_root_open_to_write(const struct gt_root *root, const char *path);
int gt_root_make_directory(const struct gt_root *root, const char *path);
int gt_root_remove_directory(const struct gt_root *root, const char *path);
int gt_root_open_directory(const struct gt_root *root, const char *path);

/* May this process do what `mode` says (R_OK, W_OK)? 0 or negative errno. Nothing is opened, so no device wakes up. */
int gt_root_access(const struct gt_root *root, const char *path, int mode);
/* The group that a file belongs to; 0 or negative errno. */
int gt_root_group(const struct gt_root *root, const char *path, gid_t *ret);

/* Read a whole small file into `text` (NUL-terminated, cut off at size - 1); returns its length or negative errno. */
ssize_t gt_root_read(const struct gt_root *root, const char *path, char *text, size_t size);
/* Read again from the start of an open descriptor. */
ssize_t gt_root_reread(int fd, char *text, size_t size);
/* The same, in one system call, for a file that the kernel makes in one piece: those of /proc that are no lists. */
ssize_t gt_root_reread_piece(int fd, char *text, size_t size);
/* Resolve a symbolic link below the root into `text`; length or negative errno. */
ssize_t gt_root_readlink(const struct gt_root *root, const char *path, char *text, size_t size);
/* The number of a file that has one and nothing else, without a sign; 0 or negative errno. */
int gt_root_read_u64(const struct gt_root *root, const char *path, unsigned long long *ret);
int gt_root_reread_u64(int fd, unsigned long long *ret);

#endif
