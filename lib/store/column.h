/* The columns that gpu_tracker's own files have, then ours: one list for every format. */
#ifndef GT_STORE_COLUMN_H
#define GT_STORE_COLUMN_H

#include <stdbool.h>
#include <stddef.h>

#include "sample/machine.h"
#include "sample/sample.h"

enum { GT_COLUMN_REAL = -1, GT_COLUMN_MONOTONIC = -2 }; /* instead of a scope: the two clocks */

struct gt_column {
    char name[64]; /* "main_ram", "cpu_main_sum_utilization_percent", "combined_swap", "timestamp" */
    int scope;     /* enum gt_scope, or one of the clocks above */
    enum gt_metric_id metric;
    bool per_unit;    /* "hardware": divided by cores or GPUs */
    bool is_integer;  /* whole numbers are written without a point */
    bool is_original; /* one of the original's 22 columns: the file's units, percentages */
    bool is_zero;     /* a GPU column of the original's on a machine without a GPU: 0 there, as the original has it */
    double multiply, divide; /* from base units to the column's, */
    double most;             /* and no more: 100 % of the hardware; the original's files have what it measured */
};

struct gt_columns {
    size_t count, original_count; /* the original's come first */
    struct gt_column column[24 + GT_FIXED_ROWS * GT_METRIC_COUNT];
};

/* The machine tells the units; NULL is enough for the names alone. The list is too large for a stack. */
void gt_store_columns(struct gt_columns *ret, const struct gt_machine *machine);
/* Returns one of them by its name: 0, -ENOENT or -ENOMEM. */
int gt_store_column_named(struct gt_column *ret, const char *name, const struct gt_machine *machine);
/* Returns the index, or -ENOENT. The name may be one that the column had in earlier recordings. */
int gt_store_column_find(const struct gt_columns *columns, const char *name);
/* The first translates a column's name in earlier recordings to the present one, or returns `name`. The second returns the name
 * that a column had before, or NULL. */
const char *gt_store_name_now(const char *name);
const char *gt_store_name_before(const char *name);
/* Returns the unit of its values as people read it: "joules", "megabytes", "percent". */
const char *gt_store_column_unit(const struct gt_column *column, const struct gt_machine *machine);
/* Returns the value of a column in the file's units, rounded to 9 decimals (a nanosecond); NaN when it is missing. */
double gt_store_column_value(const struct gt_column *column, const struct gt_sample *sample);
/* Do the same, but return NaN for a column with is_zero. */
double gt_store_column_measured(const struct gt_column *column, const struct gt_sample *sample);
/* Set the figure that a column's value stands for, in a sample that has its fixed rows. A column with is_zero sets none. */
void gt_store_column_assign(const struct gt_column *column, double value, struct gt_sample *sample);

/* Beyond its fixed rows a sample has a row for each GPU and each process. They have tables of their own, and a sample that is
 * copied takes them along. */

/* Columns that identify a row have these numbers where others have a scope. */
enum { GT_COLUMN_DEVICE = -3, GT_COLUMN_PID = -4, GT_COLUMN_PARENT = -5, GT_COLUMN_START = -6, GT_COLUMN_RANK = -7 };

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

#endif
