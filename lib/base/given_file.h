/* Files that somebody names to be read. Nothing that a name may lead to makes us wait without end: a pipe nobody writes to, a
 * device, a file of the kernel's that blocks. */
#ifndef GT_BASE_GIVEN_FILE_H
#define GT_BASE_GIVEN_FILE_H

#include <sys/stat.h>

#include "base/buffer.h"
#include "base/error.h"

/* A descriptor for reading, close-on-exec, of a regular file or of a copy of what came through a pipe, as of <(...); or negative
 * errno, -EINVAL for what is neither and for a pipe through which nothing or too much comes, with a sentence that begins with the path. `facts`, unless NULL, is about what has the name. */
int gt_given_file_open(const char *path, struct stat *facts, struct gt_error *error);
/* Do the same where there may be no such file: -ENOENT comes without a sentence. */
int gt_given_file_open_optional(const char *path, struct gt_error *error);
/* Append all of it to `text`. Returns 0, -EFBIG beyond the ceiling of `text`, or another error. */
int gt_given_file_read(const char *path, struct gt_buffer *text, struct gt_error *error);
/* Check a file for libraries that open it by its name. Returns 0, or -EINVAL with a sentence about what it is instead of a
 * regular file. */
int gt_given_file_check(const char *path, struct gt_error *error);

#endif
