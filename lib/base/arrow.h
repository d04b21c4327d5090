/* Arrow libraries read tables as C streams of one batch, whose buffers are the table's own.
 *
 * The structs are the Arrow C data and stream interfaces (https://arrow.apache.org/docs/format/CDataInterface.html).
 * Consumers may release them from any thread. */
#ifndef GT_BASE_ARROW_H
#define GT_BASE_ARROW_H

#include "base/table.h"

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *schema);
    void *private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *array);
    void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *stream, struct ArrowSchema *ret);
    int (*get_next)(struct ArrowArrayStream *stream, struct ArrowArray *ret);
    const char *(*get_last_error)(struct ArrowArrayStream *stream);
    void (*release)(struct ArrowArrayStream *stream);
    void *private_data;
};

#endif

/* Both return 0 or -ENOMEM; what they make is released by its own function. The stream is one more owner of the table. */
int gt_table_arrow_stream(struct gt_table *table, struct ArrowArrayStream *ret);
int gt_table_arrow_schema(const struct gt_table *table, struct ArrowSchema *ret);

#endif
