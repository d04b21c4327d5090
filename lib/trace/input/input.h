/* An input reads the bytes of a file, and inflates them when they are gzip, zstd, xz or bzip2, several members in a row.
 * The path "archive.zip/member" is that of a member of an archive. Its memory is constant. */
#ifndef GT_TRACE_INPUT_INPUT_H
#define GT_TRACE_INPUT_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "trace/input/walk.h"

struct gt_input;

/* Opens a file that may inflate to `ceiling` bytes, 0 for 1 TiB. -EINVAL: it is no regular file, or a member that cannot be
 * read; -ENOSYS: the library that inflates it is not installed. */
int gt_input_open(struct gt_input **ret, const char *path, uint64_t ceiling, struct gt_error *error);
/* Fills `buffer`, and returns how many bytes it got: fewer than `size` only at the end. -EFBIG: the file passes the
 * ceiling, or inflates to 1000 times its size, as only made-up ones do. Damaged data are the end: see
 * gt_input_trouble. */
ssize_t gt_input_read(struct gt_input *input, char *buffer, size_t size, struct gt_error *error);
/* Returns why the end came early, NULL where it did not. */
const char *gt_input_trouble(const struct gt_input *input);
uint64_t gt_input_size(const struct gt_input *input); /* of the file as it lies on the disk */
void gt_input_close(struct gt_input *input);
/* Reads the rest, of `most` bytes at most (-EFBIG), with a NUL behind it. The caller frees *ret. */
int gt_input_whole(struct gt_input *input, size_t most, char **ret, size_t *length, struct gt_error *error);

/* Lines of a file are read with memory for the longest of them. */

struct gt_lines {
    struct gt_input *input;
    struct gt_buffer text;
    size_t at, searched;
    uint64_t offset; /* of the text in the file */
    bool at_end;
    uint64_t too_long; /* lines that were left out because they are longer than 64 MB */
};

/* Returns 1 and a line without its end, 0 at the end, or the negative errors of the input. */
int gt_lines_next(struct gt_lines *lines, struct gt_span *ret, struct gt_error *error);
void gt_lines_release(struct gt_lines *lines);

#endif
