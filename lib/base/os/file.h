/* Files are read and written whole, replaced without a moment in which they are torn, and opened by the names that users give. */
#ifndef GT_BASE_OS_FILE_H
#define GT_BASE_OS_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"

/* Append all that is left of `fd` to `text`. Returns 0, -EFBIG beyond the ceiling of `text`, or the error of a read. */
int gt_file_read_all(int fd, struct gt_buffer *text);
/* Append the rest of a line, with its end, to the emptied `line`. Returns 1, 0 at the end of the file, -EFBIG for a line
 * that is longer than `most` bytes, -EIO or -ENOMEM. */
int gt_file_line(FILE *file, struct gt_buffer *line, size_t most);

/* Write all of it, in as many calls as it takes. Returns 0 or the error of a write, after which a part may be written. A negative offset:
 * where the descriptor is. */
int gt_file_write_all(int fd, const void *bytes, size_t length);
int gt_file_write_all_at(int fd, const void *bytes, size_t length, off_t offset);

/* Ask as faccessat(2) with AT_EACCESS does, also where that system call is forbidden. Returns 0 or negative errno. */
int gt_access(int folder, const char *path, int mode);

/* Files that somebody names to be read. Nothing that a name may lead to makes us wait without end: a pipe nobody writes to, a
 * device, a file of the kernel's that blocks. */

/* Open a regular file for reading, or a copy of what came through a pipe, as of <(...). Returns a descriptor, close-on-exec, or negative
 * errno with a sentence that begins with the path: -EINVAL for anything else, and for a pipe through which nothing or too much comes.
 * `facts`, unless NULL, is about what has the name. */
int gt_given_file_open(const char *path, struct stat *facts, struct gt_error *error);
/* Do the same where there may be no such file: -ENOENT comes without a sentence. */
int gt_given_file_open_optional(const char *path, struct gt_error *error);
/* Append all of it to `text`. Returns 0, -EFBIG beyond the ceiling of `text`, or another error. */
int gt_given_file_read(const char *path, struct gt_buffer *text, struct gt_error *error);
/* Where `path` names a descriptor of this process by its number and that is a pipe, put a copy of all that comes through in its place:
 * it can be opened again and again. Returns 0, also for everything else, or as gt_given_file_open does. */
int gt_given_file_keep(const char *path, struct gt_error *error);
/* Check a file for libraries that open it by its name. Returns 0, or -EINVAL with a sentence about what it is instead of a
 * regular file. */
int gt_given_file_check(const char *path, struct gt_error *error);

/* Files that appear whole: who opens one by its name finds all that it begins with.
 *
 * A file is written under another name in the same folder, and renamed. Nothing follows a symbolic link that lies there.
 * One that replaces a file has the permissions of that file from its first moment, and is on the disk before it takes the
 * name. */

struct gt_new_file {
    int fd;                /* for writing; the caller's after gt_new_file_place */
    bool has_predecessor;  /* a regular file has the name when this one begins */
    bool replaces_content; /* the predecessor is not empty */
    const char *path;      /* where it shall be, borrowed */
    char hidden[PATH_MAX]; /* where it is until then, in the same folder; empty: it has no name */
};

/* Begin a file under a name of no concern. Returns 0 or negative errno. */
int gt_new_file_begin(struct gt_new_file *file, const char *path);
/* Do the same without any name where the system can: a killed process leaves nothing. */
int gt_new_file_begin_unnamed(struct gt_new_file *file, const char *path);
/* Let it appear. Returns 0 or negative errno, -EEXIST without `replace`; after any error the file is gone. */
int gt_new_file_place(struct gt_new_file *file, bool replace);
/* Do the same, and close it, with a sentence about the path. */
int gt_new_file_finish(struct gt_new_file *file, bool replace, struct gt_error *error);
void gt_new_file_drop(struct gt_new_file *file);

/* Make or replace the file at `path` with these bytes. Returns 0 or negative errno, after which the old file is as it was. */
int gt_new_file_write(const char *path, const void *bytes, size_t length);

/* Others read a file of rows while it grows.
 *
 * The kernel takes a write that crosses a page in parts: a reader may find the first part alone, and a kill may leave it.
 * So no row crosses the end of a page. The row before it is made longer instead, by zeros behind a decimal point. 4096
 * divides every size of page. */

enum { GT_PAGE = 4096 };

/* Returns how many bytes longer a row that ends at `end` must be, so that the next row, of at most `next` bytes, crosses no
 * page. */
static inline size_t gt_file_page_rest(off_t end, size_t next)
{
    size_t left = GT_PAGE - (size_t)end % GT_PAGE;
    return left < next && next <= GT_PAGE ? left : 0;
}

/* Returns true for a folder, or a link to one. */
bool gt_is_folder(const char *path);
/* Returns what stands behind the last slash of a path. */
const char *gt_file_name(const char *path);

/* Get the path of the library, or of the program that contains it. Returns 0 or negative errno. */
int gt_own_path(char ret[PATH_MAX]);
/* Find NAME (share/gpu-tracker/..., lib/gpu-tracker/...) in the nearest folder above that. It is the prefix of an installation, a Python
 * environment, or the folder of a build. Returns 0, -ENOENT, or the errno of a look at that path. */
int gt_installed_file(char *ret, size_t size, const char *name);

/* Files that become texts of the program when it is compiled. */

/* Declares the content of a file, by its path in the repository, as a string. */
#define GT_EMBED(name, path)                                                                                          \
    extern const char name[];                                                                                         \
    __asm__(".pushsection .rodata\n.global " #name "\n.hidden " #name "\n" #name ":\n.incbin \"" path "\"\n.byte 0\n" \
            ".popsection\n");

/* Close a descriptor; negative: there is none. */
void gt_close_fd(int fd);
/* Close every descriptor from `first` on, also where the kernel cannot do that at once (before 5.9). */
void gt_close_from(int first);

/* Descriptors are held back while others are opened that can be done without, so that some are left for what cannot. */

enum { GT_RESERVE_MOST = 20 };

struct gt_reserve {
    int fd[GT_RESERVE_MOST];
    size_t count;
};

/* Hold back up to `wanted` descriptors, at most GT_RESERVE_MOST. Returns how many the process could still open. */
size_t gt_reserve_take(struct gt_reserve *reserve, size_t wanted);
/* Let go of all but `kept`. */
void gt_reserve_release(struct gt_reserve *reserve, size_t kept);

#endif
