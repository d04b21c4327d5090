/* Text files from outside, read piece by piece: what is longer than it may be ends the reading there, and not once it is all in memory. */
#ifndef GT_BASE_TEXT_FILE_H
#define GT_BASE_TEXT_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/buffer.h"

/* 1: the next line, with its end, is in `line`; 0: the end; -EFBIG: it is longer than `most` bytes; -EIO; -ENOMEM. */
int gt_text_line(FILE *file, struct gt_buffer *line, size_t most);
/* The next JSON value, of `most` bytes at most; NULL: *problem says why not. Flags are jansson's. */
json_t *gt_text_json(FILE *file, size_t most, size_t flags, json_error_t *problem);

#endif
