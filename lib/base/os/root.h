/* Only this code opens files of /proc, /sys, /dev and /etc, all of them below a root. With another root the whole library
 * reads a stored machine. Unless a comment says otherwise, functions return 0 or more, or negative errno. */
#ifndef GT_BASE_OS_ROOT_H
#define GT_BASE_OS_ROOT_H

#include <dirent.h>
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

/* Open `path` ("proc/1/stat", a leading slash is allowed) for reading. */
int gt_root_open_file(const struct gt_root *root, const char *path);
/* Open an existing file for writing; make and remove a directory. On a stored machine all return -EROFS. */
int gt_root_open_to_write(const struct gt_root *root, const char *path);
int gt_root_make_directory(const struct gt_root *root, const char *path);
int gt_root_remove_directory(const struct gt_root *root, const char *path);
int gt_root_open_directory(const struct gt_root *root, const char *path);
/* Open a directory to go through its names; closedir() it. NULL: errno tells why. */
DIR *gt_root_list(const struct gt_root *root, const char *path);

/* Returns 0 when this process may do what `mode` says (R_OK, W_OK). Nothing is opened, so no device wakes up. */
int gt_root_access(const struct gt_root *root, const char *path, int mode);
/* Tell the group that a file belongs to. */
int gt_root_group(const struct gt_root *root, const char *path, gid_t *ret);

/* Read a small file into `text`, which ends in NUL; what does not fit is cut off. Returns the length. */
ssize_t gt_root_read(const struct gt_root *root, const char *path, char *text, size_t size);
/* Read the first line without its end, "" where it cannot be read; `format` makes the path as printf does. */
ssize_t gt_root_read_line(const struct gt_root *root, char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Return a larger file, up to 64 KiB; free() it. NULL: it cannot be read or is empty. */
char *gt_root_text(const struct gt_root *root, const char *path);
/* Read a file of a process ("stat") as gt_root_read does. `root` NULL: this machine's. */
ssize_t gt_root_read_process(const struct gt_root *root, pid_t pid, const char *name, char *text, size_t size);
/* Do the same from the start of an open descriptor. */
ssize_t gt_root_reread(int fd, char *text, size_t size);
/* Do the same in one system call, for a file that the kernel makes in one piece, as those of /proc that are no lists. */
ssize_t gt_root_reread_piece(int fd, char *text, size_t size);
/* Read a symbolic link into `text`. Returns the length. */
ssize_t gt_root_readlink(const struct gt_root *root, const char *path, char *text, size_t size);
/* Read a file that holds one number without a sign, and nothing else. */
int gt_root_read_u64(const struct gt_root *root, const char *path, unsigned long long *ret);
int gt_root_reread_u64(int fd, unsigned long long *ret);
/* Find the name that "etc/passwd" or "etc/group" has for a number. Returns 0, or -ENOENT, and then `ret` stays. */
int gt_root_name_of(const struct gt_root *root, const char *path, unsigned long number, char *ret, size_t size);

/* Descriptors that a program with privileges of its own (setuid, or file capabilities) opened before it gave them up. Figures come
 * from these, so the privileges need not be kept. They are collected once, before there are threads, and only looked up later.
 *
 * Names are those of files on this machine, without a leading slash, and "perf/TYPE/CONFIG/CPU" of counters. */

/* From begin to end, files that are opened for reading are kept unless everybody may read them. */
void gt_early_begin(void);
void gt_early_end(void);
/* Keep a duplicate of `fd`, which has just been opened. Outside of begin and end this does nothing. */
void gt_early_keep(const char *name, int fd);
/* Returns a duplicate of the kept descriptor, for the caller to close, -ENOENT, or the errno of the duplication. */
int gt_early_open(const char *name);
/* Returns true where one is kept whose name begins with `prefix`. */
bool gt_early_has(const char *prefix);

#endif
