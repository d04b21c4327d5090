/* Pickles of results are made of these: the names that may occur in them, arrays of numpy, pandas and pyarrow, and single values. */
#ifndef GT_ANALYSE_BLOCKS_PICKLE_ARRAY_H
#define GT_ANALYSE_BLOCKS_PICKLE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "trace/input/pickle.h"

/* Meanings of the names; several names have the same. */
enum gt_pickle_meaning {
    GT_NAME_RESULTS = 1,
    GT_NAME_BLOCK,
    GT_NAME_FROM_TREE,
    GT_NAME_FRAME,
    GT_NAME_SERIES,
    GT_NAME_MANAGER,
    GT_NAME_SINGLE_MANAGER,
    GT_NAME_FRAME_BLOCK,
    GT_NAME_NEW_INDEX,
    GT_NAME_INDEX,
    GT_NAME_BACKED_ARRAY,
    GT_NAME_STRING_ARRAY,
    GT_NAME_STRING_TYPE,
    GT_NAME_ARROW_STRINGS,
    GT_NAME_ARROW_ARRAY,
    GT_NAME_ARROW_CHUNKS,
    GT_NAME_ARROW_BUFFER,
    GT_NAME_ARROW_TYPE,
    GT_NAME_ARRAY,
    GT_NAME_ARRAY_OF_BUFFER,
    GT_NAME_NUMBER,
    GT_NAME_ARRAY_CLASS,
    GT_NAME_NUMBER_TYPE,
    GT_NAME_QUOTED_NAME,
    GT_NAME_SLICE,
    GT_NAME_BYTE_ARRAY,
    GT_NAME_ENCODE
};

/* Returns the meaning of a name, or 0: for gt_pickle_read. */
int gt_results_name(const char *module, size_t module_length, const char *name, size_t name_length);

struct gt_pickle_array {
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

/* Returns 0, -EBADMSG for anything else than an array, or -ENOMEM. The array is to be released in any case. */
int gt_pickle_array_read(struct gt_pickle_array *ret, const struct gt_pickle_value *value);
void gt_pickle_array_release(struct gt_pickle_array *array);
/* Returns a value of the array, or NULL. */
struct gt_json_value *gt_pickle_array_get(const struct gt_pickle_array *array, size_t row, size_t column);
/* Returns a value that is no list, dict or object, or NULL. */
struct gt_json_value *gt_pickle_scalar(const struct gt_pickle_value *value);

#endif
