/* Building data sets. */
#ifndef GT_BASE_DATASET_H
#define GT_BASE_DATASET_H

#include <stdbool.h>

#include "gpu_tracker.h"

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
