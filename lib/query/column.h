/* What the operators do with cells and columns. */
#ifndef GT_QUERY_COLUMN_H
#define GT_QUERY_COLUMN_H

#include "query/rows.h"

/* Returns the next name of a list, which has no NUL behind it, and goes behind it; NULL at the end. */
const char *gt_rows_next_name(const char **list, size_t *length);
/* Return a column; NULL, or one without cells and a query that has failed, where there is none of that name. */
struct gt_rows_column *gt_rows_find_of(const struct gt_rows *rows, const char *name, size_t length);
const struct gt_rows_column *gt_rows_need(const struct gt_rows *rows, const char *name, size_t length);
/* Put the columns of a list into `ret` and return how many there are. */
int gt_rows_list(const struct gt_rows *rows, const char *list, const struct gt_rows_column *ret[GT_COLUMNS]);
/* Add a column whose cells are not initialized. */
struct gt_rows_column *gt_rows_add(struct gt_rows *rows, const char *name, size_t length, enum gt_rows_type type);
/* Take these rows, in this order. */
void gt_rows_gather(struct gt_rows *rows, const uint32_t *order, size_t count);

bool gt_rows_is_missing(const struct gt_rows_column *column, size_t row);
void gt_rows_copy(struct gt_rows_column *to, size_t row, const struct gt_rows_column *from, size_t other);
void gt_rows_set(struct gt_rows_column *column, size_t row, double value); /* NaN: missing */
/* Orders cells of two columns of one type. Missing keys and real numbers are behind the others, missing whole numbers before. */
int gt_rows_compare(const struct gt_rows_column *a, size_t row, const struct gt_rows_column *b, size_t other);
/* Returns true for two rows that have the same keys. */
bool gt_rows_is_same(const struct gt_rows_column *const *key, int keys, size_t a, size_t b);

#endif
