/* Rows are a table of typed columns in memory, and the operators below make one from another. Analyses are made of these.
 *
 *     struct gt_query *query;                                  owns all memory, and remembers the first failure
 *     struct gt_rows work = ...;                               columns node, name, start, end, length
 *     struct gt_rows names = gt_rows_group(&work, "node name", GT_AGGREGATES(GT_COUNT("count"), GT_SUM("total", "length")));
 *     gt_rows_sort(&names, "node -total name");
 *
 * Columns are named in lists: "node name", and "-total" for a descending order. Rows are passed around by value; their cells are
 * shared, and stay until the query is freed. Operators do not fail one by one: without memory, or with a column that is not there, the
 * query fails, and gt_query_status and gt_query_problem return the failure at the end; operators and cells of a failed query have no rows.
 * Results depend on
 * values alone, not on the order of rows, except the last digit of sums and means of GT_REAL. Cells that were taken before a sort are
 * those of the former order. */
#ifndef GT_QUERY_ROWS_H
#define GT_QUERY_ROWS_H

#include "query/column.h"

/* ---- Rows ---- */

struct gt_rows gt_rows_filter(const struct gt_rows *rows, const bool *is_wanted);
/* Return the rows whose cell of a column equals a value, is above it, or is not missing. */
struct gt_rows gt_rows_where(const struct gt_rows *rows, const char *column, double value);
struct gt_rows gt_rows_above(const struct gt_rows *rows, const char *column, double value);
struct gt_rows gt_rows_known(const struct gt_rows *rows, const char *column);
/* Sort, and keep the order of equal rows. */
void gt_rows_sort(struct gt_rows *rows, const char *columns);
/* Returns the index behind the last row from `from` on that has the same keys. */
size_t gt_rows_run(const struct gt_rows *rows, const char *keys, size_t from);

/* A column of the rows that gt_rows_group makes. Missing values count for GT_COUNT alone: sum and mean of nothing else are
 * missing. */
struct gt_aggregate {
    const char *as;
    enum gt_aggregate_kind {
        GT_AGGREGATE_COUNT,
        GT_AGGREGATE_SUM,
        GT_AGGREGATE_TOTAL,
        GT_AGGREGATE_MEAN,
        GT_AGGREGATE_QUANTILE,
        GT_AGGREGATE_FIRST,
        GT_AGGREGATE_MIN,
        GT_AGGREGATE_MAX,
    } kind;
    const char *of,
        *value;  /* value: of GT_AGGREGATE_MIN and MAX, the column whose cell in that row is taken; NULL: `of` */
    double part; /* of GT_AGGREGATE_QUANTILE */
    double unit; /* MEAN and QUANTILE: the values are divided by it; 0: by nothing */
};
#define GT_AGGREGATE(as, kind, of, value, part, unit) \
    {                                                 \
        as, kind, of, value, part, unit               \
    }
#define GT_COUNT(as) GT_AGGREGATE(as, GT_AGGREGATE_COUNT, NULL, NULL, 0, 0)
#define GT_SUM(as, of) \
    GT_AGGREGATE(as, GT_AGGREGATE_SUM, of, NULL, 0, 0) /* of the type of the column; of keys GT_WHOLE */
#define GT_TOTAL(as, of) \
    GT_AGGREGATE(as, GT_AGGREGATE_TOTAL, of, NULL, 0, 0)                    /* GT_REAL; missing where all values are */
#define GT_MEAN(as, of) GT_AGGREGATE(as, GT_AGGREGATE_MEAN, of, NULL, 0, 0) /* GT_REAL */
/* GT_REAL, for a part from 0 to 1: between the closest values (type 7 of Hyndman and Fan, The American Statistician 50,
 * 1996). */
#define GT_QUANTILE(as, of, part) GT_AGGREGATE(as, GT_AGGREGATE_QUANTILE, of, NULL, part, 0)
/* The same of nanoseconds, in microseconds. */
#define GT_MEAN_US(as, of) GT_AGGREGATE(as, GT_AGGREGATE_MEAN, of, NULL, 0, 1e3)
#define GT_QUANTILE_US(as, of, part) GT_AGGREGATE(as, GT_AGGREGATE_QUANTILE, of, NULL, part, 1e3)
#define GT_FIRST(as, of) GT_AGGREGATE(as, GT_AGGREGATE_FIRST, of, NULL, 0, 0) /* in the order before grouping */
#define GT_MIN(as, of) GT_AGGREGATE(as, GT_AGGREGATE_MIN, of, NULL, 0, 0)
#define GT_MAX(as, of) GT_AGGREGATE(as, GT_AGGREGATE_MAX, of, NULL, 0, 0)
/* Cell of `value` in the first row that has the least, or greatest, of `of`. */
#define GT_ARG_MIN(as, of, value) GT_AGGREGATE(as, GT_AGGREGATE_MIN, of, value, 0, 0)
#define GT_ARG_MAX(as, of, value) GT_AGGREGATE(as, GT_AGGREGATE_MAX, of, value, 0, 0)
#define GT_AGGREGATES(...) ((const struct gt_aggregate[]){__VA_ARGS__, {.as = NULL}})
/* Make one row of those that share the keys, sorted by these. */
struct gt_rows gt_rows_group(const struct gt_rows *rows, const char *keys, const struct gt_aggregate *aggregates);
/* Add the median of a column over the other rows with the same keys; missing where no other has a value. */
double *gt_rows_others(struct gt_rows *rows, const char *as, const char *of, const char *keys);
/* Returns the keys that rows of one or the other have, each once, sorted. */
struct gt_rows gt_rows_union(const struct gt_rows *rows, const struct gt_rows *others, const char *keys);
/* Add the rows that make each value of one key appear with each of the other, with 0 in the columns behind these two keys. */
struct gt_rows gt_rows_complete(const struct gt_rows *rows, const char *one, const char *other);
/* Replace missing values of columns by 0. */
void gt_rows_fill(struct gt_rows *rows, const char *columns);
/* Add one column less another; missing where one is. */
int64_t *gt_rows_difference(struct gt_rows *rows, const char *as, const char *of, const char *less);
/* Add one column in percent of another; missing where that is not above 0. */
double *gt_rows_percent(struct gt_rows *rows, const char *as, const char *part, const char *whole);
/* Add the percentage of a column in its sum over rows with the same keys; missing where that is not above 0. */
void gt_rows_share(struct gt_rows *rows, const char *as, const char *of, const char *keys);
/* Add columns of the row of `with` that has the same keys. `with` has one row for each, sorted by these; where it has none, they are
 * missing. */
void gt_rows_join(struct gt_rows *rows, const struct gt_rows *with, const char *keys, const char *columns);

/* ---- Intervals: rows with the columns start and end, in nanoseconds, half-open ---- */

/* Returns keys, start and end of the united intervals of each key: those that touch or overlap are one. */
struct gt_rows gt_rows_unite(const struct gt_rows *rows, const char *keys);
/* Returns the times between united intervals of one key, each as the row behind it with the columns `from` and `to`. For each column X of
 * `kept`, X_before is its value in the row before. Rows are taken by keys, start, end, and the first of `kept`. */
struct gt_rows gt_rows_gaps(const struct gt_rows *rows, const char *keys, const char *kept);
/* Add how much of each row's from..to lies in intervals of `with`, which gt_rows_unite has made, that have the same keys. */
int64_t *gt_rows_overlap(struct gt_rows *rows, const char *as, const char *from, const char *to,
                         const struct gt_rows *with, const char *keys);
#endif
