/* The pandas and numpy objects in pickles of results, as JSON. Nothing of pandas or numpy is needed for it. */
#ifndef GT_ANALYSE_RESULTS_FRAME_H
#define GT_ANALYSE_RESULTS_FRAME_H

#include "base/json_tree.h"
#include "base/pickle.h"

/* What a name stands for; several have the same meaning. See results_names.def. */
enum gt_results_name {
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

/* How much JSON may still be made: shared values make a small pickle a large tree. */
struct gt_results_budget {
    size_t values;
};

/* A DataFrame as {row: {column: value}}, a Series as {label: value}; NULL when it is none that can be read. */
struct gt_json_value *gt_results_frame(const struct gt_pickle_value *frame, struct gt_results_budget *budget);
struct gt_json_value *gt_results_series(const struct gt_pickle_value *series, struct gt_results_budget *budget);

/* A number, text, bool or nothing, plain or of numpy or sqlalchemy; what is not finite is null. NULL for anything else. */
struct gt_json_value *gt_results_scalar(const struct gt_pickle_value *value);
/* Text of a pickle; bytes that are no UTF-8 (lone surrogates) become "?". */
struct gt_json_value *gt_results_text(const char *text, size_t length);

#endif
