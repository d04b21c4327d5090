/* Beyond its fixed rows a sample has a row for each GPU and each process. They have tables of their own, and a sample that is
 * copied takes them along. */
#ifndef GT_STORE_DETAIL_H
#define GT_STORE_DETAIL_H

#include "store/store.h"

/* Columns that identify a row have these numbers where others have a scope. */
enum { GT_COLUMN_DEVICE = -3, GT_COLUMN_PID = -4, GT_COLUMN_PARENT = -5, GT_COLUMN_START = -6 };

/* Each scope of detail has one table. */
struct gt_detail {
    enum gt_scope scope;
    const char *table;  /* SQLite: "gpu_data" */
    const char *suffix; /* CSV: the file NAME.gpus.csv beside NAME.csv */
};

enum { GT_DETAIL_COUNT = 2 };
extern const struct gt_detail gt_details[GT_DETAIL_COUNT];

/* Columns are the sample's timestamp, the identity, and each metric that has the scope, in base units. */
void gt_detail_columns(struct gt_columns *ret, enum gt_scope scope);
double gt_detail_value(const struct gt_column *column, const struct gt_sample *sample, const struct gt_row *row);
void gt_detail_assign(const struct gt_column *column, double value, struct gt_sample *sample, struct gt_row *row);

/* A sample that owns its rows. Its capacity only grows. */
struct gt_sample_copy {
    struct gt_sample sample; /* its lives are those below */
    size_t capacity;
    struct gt_life *life;
    size_t life_capacity;
};

int gt_sample_copy_reserve(struct gt_sample_copy *copy, size_t rows);
int gt_sample_copy_reserve_lives(struct gt_sample_copy *copy, size_t lives);
size_t gt_sample_copy_bytes(const struct gt_sample_copy *copy);
/* Copy the first `rows` rows of `sample`, and its lives. Returns 0 or -ENOMEM. */
int gt_sample_copy_set(struct gt_sample_copy *copy, const struct gt_sample *sample, size_t rows);
/* Add a row without values. Returns NULL without memory. */
struct gt_row *gt_sample_copy_add(struct gt_sample_copy *copy, enum gt_scope scope);
void gt_sample_copy_release(struct gt_sample_copy *copy);

/* Reads a table of detail rows beside the samples. The row at hand belongs to the sample with its timestamp. */
struct gt_detail_cursor {
    enum gt_scope scope;
    bool has_row;
    struct gt_sample moment; /* only its time is used */
    struct gt_row row;
};

/* Call this before the columns of a row are assigned to `moment` and `row`. */
void gt_detail_begin_row(struct gt_detail_cursor *cursor);
/* Add the rows of the sample in `copy` to it. Rows of samples that are not there are passed over. `read` fills in the next
 * row: 1, 0 at the end, negative on an error. */
int gt_detail_take(struct gt_detail_cursor *cursor, struct gt_sample_copy *copy,
                   int (*read)(void *context, struct gt_detail_cursor *cursor, struct gt_error *error), void *context,
                   struct gt_error *error);

#endif
