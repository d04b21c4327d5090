/* Reading and writing whole files and lines. */
#ifndef GT_BASE_FILE_H
#define GT_BASE_FILE_H

#include <limits.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/buffer.h"

/* Append all that is left of `fd` to `text`. Returns 0, -EFBIG beyond the ceiling of `text`, or the error of a read. */
int gt_file_read_all(int fd, struct gt_buffer *text);
/* Append the rest of a line, with its end, to the emptied `line`. Returns 1, 0 at the end of the file, -EFBIG for a line
 * that is longer than `most` bytes, -EIO or -ENOMEM. */
int gt_file_line(FILE *file, struct gt_buffer *line, size_t most);

/* Write all of it, in as many calls as it takes. Returns 0 or the error of a write, after which a part may be written. */
int gt_file_write_all(int fd, const void *bytes, size_t length);
int gt_file_write_all_at(int fd, const void *bytes, size_t length, off_t offset);

/* The path that holds also when this process changes its folder: realpath(3), or where the system forbids to follow links, one through
 * them. Returns 0 or negative errno. */
int gt_file_real_path(const char *path, char ret[PATH_MAX]);

#endif
