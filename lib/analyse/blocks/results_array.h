/* Arrays in pickles: of numpy, of pandas' and of pyarrow's texts. */
#ifndef GT_ANALYSE_RESULTS_ARRAY_H
#define GT_ANALYSE_RESULTS_ARRAY_H

#include <stdbool.h>

#include "analyse/blocks/results_frame.h"

struct gt_results_array {
    size_t rows, columns; /* of one dimension: one row */
    bool is_fortran;      /* columns lie one after another */
    char type;            /* 'f', 'i', 'u', 'b' numbers; 'O' values; 'S' texts of pyarrow */
    size_t width;         /* bytes of a number, or of an offset */
    const char *bytes;    /* numbers; texts of pyarrow */
    const char *offsets;
    const struct gt_pickle_value *values; /* a list */
    size_t length;                        /* of `bytes` */
    char *owned[3];                       /* bytes that protocol 2 has as text */
    size_t owned_count;
};

/* 0, or -EBADMSG. Release it in either case. */
int gt_results_array_read(struct gt_results_array *ret, const struct gt_pickle_value *value);
void gt_results_array_release(struct gt_results_array *array);
struct gt_json_value *gt_results_array_get(const struct gt_results_array *array, size_t row, size_t column);

#endif
