/* A table is held by columns of numbers, integers, times or texts, of which any cell may be missing.
 *
 * A table is built column by column and then row by row, cell by cell from the left. It remembers the first failure, so that
 * builders check once, at the end; a table that is NULL has failed. Finished tables are shared: they do not change, and
 * the last owner frees them. */
#ifndef GT_BASE_TABLE_H
#define GT_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/map.h"

enum gt_cell_kind {
    GT_CELL_NUMBER,
    GT_CELL_INTEGER,
    GT_CELL_TEXT,       /* a number that chooses from a dictionary, in which each text stands once */
    GT_CELL_PLAIN_TEXT, /* texts without a dictionary, for columns in which hardly any repeats */
    GT_CELL_TIME,       /* nanoseconds since the epoch, UTC */
};

struct gt_table_column {
    char *key, *title, *unit;
    enum gt_cell_kind kind;
    unsigned flags; /* for whoever shows the table */
    size_t count, capacity;
    union {
        void *cell; /* [count] */
        double *number;
        int64_t *integer; /* also of times */
        int32_t *choice;  /* of GT_CELL_TEXT */
    };
    uint8_t *validity; /* bit i is set when cell i is not missing; NULL: none is missing */
    size_t missing;
    /* Where each text of the dictionary, or of each row, begins, and where the last ends: [texts + 1]. */
    int64_t *begin;
    char *text;
    size_t texts, begin_capacity, text_capacity;
    struct gt_map numbers;  /* of the texts of a dictionary, by hash */
    int32_t *choice_of_key; /* + 1; 0: the key is new */
    size_t keys;
};

struct gt_table {
    struct gt_table_column *column;
    size_t columns;
    size_t next; /* the column of the next cell */
    int failed;  /* 0, or the negative errno of the first failure */
    int owners;
    unsigned flags; /* for whoever shows the table */
    size_t shown;   /* likewise: how many rows at most, and how many were left out for that */
    size_t left_out;
};

/* NULL without memory. */
struct gt_table *gt_table_new(void);
struct gt_table *gt_table_keep(struct gt_table *table);
void gt_table_free(struct gt_table *table); /* by each owner, from any thread */

/* `unit` may be NULL. A column comes before all cells, else the table fails with -EINVAL. */
void gt_table_column(struct gt_table *table, const char *key, const char *title, enum gt_cell_kind kind,
                     const char *unit);
/* Several columns may be added at once; their titles are their keys. */
struct gt_column_kind {
    const char *name;
    enum gt_cell_kind kind;
    bool whole; /* numbers: gt_table_finish_columns makes integers of them where it can */
};
void gt_table_add_columns(struct gt_table *table, const struct gt_column_kind *columns, size_t count);
/* These add the next cell. A cell of another kind than its column's fails with -EINVAL; a missing one fits any column. */
void gt_table_number(struct gt_table *table, double value); /* NaN: missing */
void gt_table_integer(struct gt_table *table, int64_t value);
void gt_table_time(struct gt_table *table, int64_t value);
void gt_table_text(struct gt_table *table, const char *value); /* NULL: missing */
void gt_table_text_of(struct gt_table *table, const char *value, size_t length);
void gt_table_missing(struct gt_table *table);
/* Adds a text that repeats. `key` is the caller's small number for it; UINT32_MAX: missing. */
void gt_table_choice(struct gt_table *table, uint32_t key, const char *value);
/* Returns true where a column has a text for the key already. */
bool gt_table_knows(const struct gt_table *table, size_t column, uint32_t key);
/* Tables may be filled column by column: the next cell is of this column. */
void gt_table_seek(struct gt_table *table, size_t column);
/* A dictionary may be made before the cells: these add its next text, and a cell that chooses one by number; negative: missing. */
void gt_table_dictionary_text(struct gt_table *table, size_t column, const char *text, size_t length);
void gt_table_chosen(struct gt_table *table, int32_t number);
/* Makes integers of the numbers of a column, unless one is missing or not whole. */
void gt_table_make_integer(struct gt_table *table, size_t column);
/* Ends the building: spare memory is given back. Returns 0, or a negative errno with the
 * table freed; the error names `subject`. */
int gt_table_finish(struct gt_table **ret, struct gt_table *table, const char *subject, struct gt_error *error);

int gt_table_finish_columns(struct gt_table **ret, struct gt_table *table, const struct gt_column_kind *columns,
                            size_t count, const char *subject, struct gt_error *error);

size_t gt_table_rows(const struct gt_table *table); /* complete ones */
/* Takes out the rows that are not wanted, of a table that nobody else owns yet. */
void gt_table_keep_rows(struct gt_table *table, const bool *is_wanted);
bool gt_table_is_missing(const struct gt_table *table, size_t row, size_t column);
/* Returns a number or an integer; NaN when it is missing or of another kind. */
double gt_table_cell_number(const struct gt_table *table, size_t row, size_t column);
/* Returns an integer or a time; 0 when it is missing or of another kind. */
int64_t gt_table_cell_integer(const struct gt_table *table, size_t row, size_t column);
/* Returns the bytes of a text, without a NUL behind them; NULL when it is missing or no text. */
const char *gt_table_cell_bytes(const struct gt_table *table, size_t row, size_t column, size_t *ret_length);
/* Returns the same as a string in `buffer`, whose content it replaces. */
const char *gt_table_cell_text(const struct gt_table *table, size_t row, size_t column, struct gt_buffer *buffer);

/* Arrow libraries read tables as C streams of one batch, whose buffers are the table's own.
 *
 * The structs are the Arrow C data and stream interfaces (https://arrow.apache.org/docs/format/CDataInterface.html).
 * Consumers may release them from any thread. */

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
