/* Data sets: tables of columns, for whoever computes with the data themselves. For Python. */
#ifndef GT_BASE_DATASET_H
#define GT_BASE_DATASET_H

#include <stdbool.h>

#include "gpu_tracker.h"

struct gt_dataset;

enum gt_dataset_kind {
    GT_DATASET_NUMBER,
    GT_DATASET_INTEGER,
    GT_DATASET_TEXT,
    GT_DATASET_CHOICE, /* texts that repeat, each kept once */
    GT_DATASET_TIME,   /* nanoseconds since the epoch, UTC */
};

/* The member of its kind is set; text i is the bytes from text_end[i - 1] (0 for the first) to text_end[i]. */
struct gt_dataset_column {
    const char *name;
    enum gt_dataset_kind kind;
    const double *number;   /* NaN: missing */
    const int64_t *integer; /* integers and times */
    const int32_t *choice;  /* which of the texts a row has; -1: missing */
    size_t choices;         /* how many texts there are */
    const char *text;
    const int64_t *text_end;
};

size_t gt_dataset_rows(const struct gt_dataset *dataset);
size_t gt_dataset_columns(const struct gt_dataset *dataset);
/* Borrowed from the data set; 0 or -ENOENT. */
int gt_dataset_column(const struct gt_dataset *dataset, size_t column, struct gt_dataset_column *ret);
void gt_dataset_free(struct gt_dataset *dataset);

/* ---- Building them ----------------------------------------------------------------------------------------------- */
struct gt_column_kind {
    const char *name;
    enum gt_dataset_kind kind;
    bool whole; /* numbers: they become integers where none is missing and all are whole */
};

/* Columns first, then the cells of each row from the left. Failures of memory are kept until gt_dataset_finish. */
struct gt_dataset *gt_dataset_new(void);
void gt_dataset_add_column(struct gt_dataset *dataset, const char *name, enum gt_dataset_kind kind);
void gt_dataset_add_columns(struct gt_dataset *dataset, const struct gt_column_kind *columns, size_t count);
void gt_dataset_number(struct gt_dataset *dataset, double value); /* NaN: missing */
void gt_dataset_integer(struct gt_dataset *dataset, int64_t value);
void gt_dataset_text(struct gt_dataset *dataset, const char *value);
/* `key` is the caller's small number for the text, UINT32_MAX: missing. */
void gt_dataset_choice(struct gt_dataset *dataset, uint32_t key, const char *value);
void gt_dataset_time(struct gt_dataset *dataset, int64_t value);
/* Turn a column of numbers into integers, unless one is missing or not whole. */
void gt_dataset_make_integer(struct gt_dataset *dataset, size_t column);
/* 0, or -ENOMEM with it freed; `subject` is named. */
int gt_dataset_finish(struct gt_dataset **ret, struct gt_dataset *dataset, const char *subject, struct gt_error *error);
/* The same for a data set of those columns. */
int gt_dataset_finish_columns(struct gt_dataset **ret, struct gt_dataset *dataset, const struct gt_column_kind *columns,
                              size_t count, const char *subject, struct gt_error *error);

#endif
