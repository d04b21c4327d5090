/* Typed columns of rows in memory, and the query that owns them. */
#ifndef GT_QUERY_COLUMN_H
#define GT_QUERY_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gt_rows_type {
    GT_KEY,   /* uint32_t: the number of a text, or another small number; GT_NO_KEY: missing */
    GT_WHOLE, /* int64_t: counts, and times in nanoseconds; GT_NO_WHOLE: missing */
    GT_REAL,  /* double: NaN: missing */
};
#define GT_NO_KEY UINT32_MAX
#define GT_NO_WHOLE INT64_MIN

struct gt_rows_column {
    const char *name;
    enum gt_rows_type type;
    const char *const *words; /* of GT_KEY: the texts that the numbers choose from; NULL: whoever shows them knows */
    union {
        void *cell;
        uint32_t *key;
        int64_t *whole;
        double *real;
    };
};

enum { GT_COLUMNS = 32 };

struct gt_rows {
    struct gt_query *query;
    size_t count;
    int columns;
    struct gt_rows_column column[GT_COLUMNS];
};

/* ---- The query ---- */

/* Returns NULL without memory. */
struct gt_query *gt_query_new(void);
void gt_query_free(struct gt_query *query);
/* Returns 0, -ENOMEM, or -EINVAL for a column that does not exist. */
int gt_query_status(const struct gt_query *query);
void gt_query_fail(struct gt_query *query, int status);
/* Returns what is wrong with a column, "gt_rows_sort: no column 'lenght'"; NULL where that is not what failed first. */
const char *gt_query_problem(const struct gt_query *query);
/* Keep an object until the query is freed, in a place from 0 to GT_QUERY_KEPT - 1. */
enum { GT_QUERY_KEPT = 4 };
void gt_query_keep(struct gt_query *query, int place, void *object,
                   void (*release)(void *object));            /* NULL: memory of the query */
void *gt_query_kept(const struct gt_query *query, int place); /* NULL: nothing is there */
/* Returns memory that is the query's, not initialized; NULL after a failure. */
void *gt_query_memory(struct gt_query *query, size_t count, size_t size);
/* Returns the same, all zero. */
void *gt_query_zeros(struct gt_query *query, size_t count, size_t size);
/* Returns a copy of a text that is the query's; "" of NULL, which is a text for which there was no memory, and after a failure. */
const char *gt_query_text(struct gt_query *query, const char *text);

/* ---- Columns ---- */

/* Begin a table of so many rows. */
struct gt_rows gt_rows_new(struct gt_query *query, size_t count);
/* Add a column and return its cells, which are 0. After a failure they are those of no row. */
uint32_t *gt_rows_add_keys(struct gt_rows *rows, const char *name, const char *const *words);
int64_t *gt_rows_add_wholes(struct gt_rows *rows, const char *name);
double *gt_rows_add_reals(struct gt_rows *rows, const char *name);
/* Make rows of an array of structures. */
struct gt_rows_field {
    const char *name; /* of the column; NULL behind the last */
    enum gt_rows_type type;
    size_t offset;
};
#define GT_FIELD(type, structure, member)          \
    {                                              \
#member, type, offsetof(structure, member) \
    }
struct gt_rows gt_rows_of_records(struct gt_query *query, const void *array, size_t count, size_t size,
                                  const struct gt_rows_field *fields);
/* Return the cells of a column of this type. Where there is none the query fails, and the rows become none. */
uint32_t *gt_rows_keys(const struct gt_rows *rows, const char *name);
int64_t *gt_rows_wholes(const struct gt_rows *rows, const char *name);
double *gt_rows_reals(const struct gt_rows *rows, const char *name);
/* Returns NULL where there is no such column, which is no failure. */
const struct gt_rows_column *gt_rows_find(const struct gt_rows *rows, const char *name);
void gt_rows_rename(struct gt_rows *rows, const char *name, const char *new_name);
/* Return a cell as a number, NaN where it is missing. */
double gt_rows_number(const struct gt_rows_column *column, size_t row);

/* ---- What operators do with cells and columns ---- */

/* Returns the next name of a list, which has no NUL behind it, and goes behind it; NULL at the end. */
const char *gt_rows_next_name(const char **list, size_t *length);
/* Return a column; NULL, or one of zeros and a query that has failed, where there is none of that name. */
struct gt_rows_column *gt_rows_find_of(const struct gt_rows *rows, const char *name, size_t length);
const struct gt_rows_column *gt_rows_need(const struct gt_rows *rows, const char *operator, const char * name,
                                          size_t length);
/* Put the columns of a list into `ret` and return how many there are. */
int gt_rows_list(const struct gt_rows *rows, const char *operator, const char * list,
                 const struct gt_rows_column *ret[GT_COLUMNS]);
/* Add a column whose cells are not initialized. */
struct gt_rows_column *gt_rows_add(struct gt_rows *rows, const char *name, size_t length, enum gt_rows_type type);

size_t gt_rows_width(enum gt_rows_type type); /* bytes of a cell */
bool gt_rows_is_missing(const struct gt_rows_column *column, size_t row);
void gt_rows_copy(struct gt_rows_column *to, size_t row, const struct gt_rows_column *from, size_t other);
void gt_rows_set(struct gt_rows_column *column, size_t row, double value); /* NaN: missing */

#endif
