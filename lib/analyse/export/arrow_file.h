/* A file of Arrow's IPC format is written batch by batch (https://arrow.apache.org/docs/format/Columnar.html). */
#ifndef GT_ANALYSE_EXPORT_ARROW_FILE_H
#define GT_ANALYSE_EXPORT_ARROW_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

struct gt_arrow_column {
    const char *name;
    bool is_text; /* else int64 */
    struct gt_buffer validity, offsets, data;
    size_t count, missing;
};

struct gt_arrow_block {
    uint64_t place, body;
    uint32_t head;
};

struct gt_arrow_file {
    int fd;
    uint64_t place;
    struct gt_arrow_column *column; /* the caller's */
    size_t columns;
    struct gt_arrow_block *block;
    size_t block_count, block_capacity;
    struct gt_buffer out;
};

/* All return 0 or a negative errno. */
int gt_arrow_begin(struct gt_arrow_file *file, int fd, struct gt_arrow_column *columns, size_t count);
/* Add the next cell of a column. */
int gt_arrow_integer(struct gt_arrow_column *column, int64_t value);
int gt_arrow_text(struct gt_arrow_column *column, const char *text, size_t length); /* NULL: missing */
int gt_arrow_missing(struct gt_arrow_column *column);
/* Writes the rows that were added. */
int gt_arrow_flush(struct gt_arrow_file *file);
int gt_arrow_end(struct gt_arrow_file *file);
void gt_arrow_release(struct gt_arrow_file *file);

#endif
