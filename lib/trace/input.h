/* An input reads the bytes of a file, and inflates them when they are gzip, several members in a row, with ISA-L
 * where it is installed, else zlib. Its memory is constant. */
#ifndef GT_TRACE_INPUT_H
#define GT_TRACE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct gt_input;

/* Opens a file that may inflate to `ceiling` bytes, 0 for 1 TiB. -EINVAL: it is no regular file. */
int gt_input_open(struct gt_input **ret, const char *path, uint64_t ceiling, struct gt_error *error);
/* Fills `buffer`, and returns how many bytes it got: fewer than `size` only at the end. -EFBIG: the file passes the
 * ceiling, or inflates to 1000 times its size, as only made-up ones do. Damaged gzip data are the end: see
 * gt_input_trouble. */
ssize_t gt_input_read(struct gt_input *input, char *buffer, size_t size, struct gt_error *error);
/* Returns why the end came early, NULL where it did not. */
const char *gt_input_trouble(const struct gt_input *input);
bool gt_input_is_compressed(const struct gt_input *input);
uint64_t gt_input_size(const struct gt_input *input); /* of the file as it lies on the disk */
void gt_input_close(struct gt_input *input);

/* Libraries inflate behind this. */
struct gt_inflater {
    void *(*open)(void); /* NULL: not available here */
    /* Inflate from `in` to `out`, moving both on; 0 more is wanted, 1 a member has ended, -EBADMSG damaged. */
    int (*inflate)(void *state, const unsigned char **in, size_t *in_length, unsigned char **out, size_t *out_length);
    int (*reset)(void *state); /* another member follows */
    void (*close)(void *state);
};
extern const struct gt_inflater gt_inflate_isal, gt_inflate_zlib;

#endif
