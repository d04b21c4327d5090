/* Pickles of results: those of the original gpu_tracker 5, of our Python package, and of `--format pickle`. Only
 * known names are accepted and nothing is called; what they would make is put together here. Nothing of pandas or
 * numpy is needed for it. */
#include "analyse/blocks/results.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/blocks/pickle_array.h"

enum { DEEPEST = 64 };

/* ---- frames and series of pandas ---- */

/* This counts how much JSON may still be made: shared values make a small pickle a large tree. */
struct budget {
    size_t values;
};

/* ---- labels ---- */

/* The array of an Index: _new_Index(class, {"data": array, ...}). */
static int read_labels(struct gt_pickle_array *ret, const struct gt_pickle_value *index)
{
    *ret = (struct gt_pickle_array){0};
    if (gt_pickle_made_by(index) != GT_NAME_NEW_INDEX)
        return -EBADMSG;
    const struct gt_pickle_value *class = gt_pickle_item(index->arguments, 0);
    if (!class || class->kind != GT_PICKLE_NAME || class->integer != GT_NAME_INDEX)
        return -EBADMSG;
    int status = gt_pickle_array_read(ret, gt_pickle_get(gt_pickle_item(index->arguments, 1), "data"));
    return status == 0 && ret->rows != 1 ? -EBADMSG : status;
}

/* Under the label that is a text; takes `value` over. */
static int set(struct gt_json_value *object, const struct gt_pickle_array *labels, size_t index,
               struct gt_json_value *value)
{
    struct gt_json_value *label = gt_pickle_array_get(labels, 0, index);
    int status = gt_json_is_text(label) ? gt_json_set(object, gt_json_text_of(label), value) : -1;
    if (!gt_json_is_text(label))
        gt_json_free(value);
    gt_json_free(label);
    return status < 0 ? -EBADMSG : 0;
}

static struct gt_json_value *finished(struct gt_json_value *object, int status)
{
    if (status == 0)
        return object;
    gt_json_free(object);
    return NULL;
}

static int spend(struct budget *budget, size_t values)
{
    if (values > budget->values)
        return -EBADMSG;
    budget->values -= values;
    return 0;
}

/* ---- frames ---- */

/* Where a column lies: a row of the array of one of the frame's blocks. */
struct place {
    const struct gt_pickle_array *array;
    size_t row;
};

struct frame {
    struct gt_pickle_array columns, rows; /* labels */
    struct gt_pickle_array *blocks;
    size_t block_count;
    struct place *place; /* of each column */
};

static int place_column(struct frame *frame, int64_t column, const struct gt_pickle_array *array, size_t row)
{
    if (column < 0 || (size_t)column >= frame->columns.columns || frame->place[column].array)
        return -EBADMSG;
    frame->place[column] = (struct place){array, row};
    return 0;
}

/* Columns start, start + step, ... of slice(start, stop, step). */
static int place_slice(struct frame *frame, const struct gt_pickle_value *slice, const struct gt_pickle_array *array)
{
    const struct gt_pickle_value *start = gt_pickle_item(slice, 0), *step = gt_pickle_item(slice, 2);
    bool has_start = start && start->kind == GT_PICKLE_INTEGER, has_step = step && step->kind == GT_PICKLE_INTEGER;
    int64_t at = has_start ? start->integer : 0, by = has_step ? step->integer : 1;
    if (at < 0 || at > INT32_MAX || by > INT32_MAX || by < -INT32_MAX)
        return -EBADMSG;
    int status = 0;
    for (size_t row = 0; row < array->rows && status == 0; row++, at += by)
        status = place_column(frame, at, array, row);
    return status;
}

static int place_listed(struct frame *frame, const struct gt_pickle_value *list, const struct gt_pickle_array *array)
{
    struct gt_pickle_array numbers;
    int status = gt_pickle_array_read(&numbers, list);
    for (size_t row = 0; row < array->rows && status == 0; row++) {
        struct gt_json_value *column = gt_pickle_array_get(&numbers, 0, row);
        status = gt_json_is_integer(column) ? place_column(frame, gt_json_integer_of(column), array, row) : -EBADMSG;
        gt_json_free(column);
    }
    gt_pickle_array_release(&numbers);
    return status;
}

/* _unpickle_block(values, which columns, dimensions) */
static int read_block(struct frame *frame, const struct gt_pickle_value *block)
{
    if (gt_pickle_made_by(block) != GT_NAME_FRAME_BLOCK)
        return -EBADMSG;
    struct gt_pickle_array *array = &frame->blocks[frame->block_count++];
    const struct gt_pickle_value *columns = gt_pickle_item(block->arguments, 1);
    int status = gt_pickle_array_read(array, gt_pickle_item(block->arguments, 0));
    if (status == 0 && array->columns != frame->rows.columns)
        status = -EBADMSG;
    if (status < 0)
        return status;
    return gt_pickle_made_by(columns) == GT_NAME_SLICE ? place_slice(frame, columns->arguments, array)
                                                       : place_listed(frame, columns, array);
}

/* BlockManager((block, ...), [columns, rows]) */
static int read_frame(struct frame *frame, const struct gt_pickle_value *manager)
{
    if (gt_pickle_made_by(manager) != GT_NAME_MANAGER)
        return -EBADMSG;
    const struct gt_pickle_value *blocks = gt_pickle_item(manager->arguments, 0);
    const struct gt_pickle_value *axes = gt_pickle_item(manager->arguments, 1);
    int status = read_labels(&frame->columns, gt_pickle_item(axes, 0));
    if (status == 0)
        status = read_labels(&frame->rows, gt_pickle_item(axes, 1));
    if (status < 0 || !blocks || blocks->kind != GT_PICKLE_TUPLE)
        return -EBADMSG;
    frame->blocks = calloc((size_t)blocks->count + 1, sizeof *frame->blocks);
    frame->place = calloc(frame->columns.columns + 1, sizeof *frame->place);
    status = frame->blocks && frame->place ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < blocks->count && status == 0; i++)
        status = read_block(frame, blocks->item[i]);
    for (size_t i = 0; i < frame->columns.columns && status == 0; i++)
        status = frame->place[i].array ? 0 : -EBADMSG;
    return status;
}

static void release(struct frame *frame)
{
    for (size_t i = 0; i < frame->block_count; i++)
        gt_pickle_array_release(&frame->blocks[i]);
    gt_pickle_array_release(&frame->columns);
    gt_pickle_array_release(&frame->rows);
    free(frame->blocks);
    free(frame->place);
}

static struct gt_json_value *row_of(const struct frame *frame, size_t row)
{
    struct gt_json_value *object = gt_json_new_object();
    int status = object ? 0 : -ENOMEM;
    for (size_t i = 0; i < frame->columns.columns && status == 0; i++) {
        struct gt_json_value *value = gt_pickle_array_get(frame->place[i].array, frame->place[i].row, row);
        status = value ? set(object, &frame->columns, i, value) : -EBADMSG;
    }
    return finished(object, status);
}

static struct gt_json_value *frame_tree(const struct gt_pickle_value *value, struct budget *budget)
{
    struct frame frame = {0};
    struct gt_json_value *object = gt_json_new_object();
    int status = gt_pickle_made_by(value) == GT_NAME_FRAME && object ? 0 : -EBADMSG;
    if (status == 0)
        status = read_frame(&frame, gt_pickle_get(value->state, "_mgr"));
    if (status == 0)
        status = spend(budget, (frame.rows.columns + 1) * (frame.columns.columns + 1));
    for (size_t i = 0; i < frame.rows.columns && status == 0; i++) {
        struct gt_json_value *row = row_of(&frame, i);
        status = row ? set(object, &frame.rows, i, row) : -EBADMSG;
    }
    release(&frame);
    return finished(object, status);
}

/* ---- series ---- */

static struct gt_json_value *series_tree(const struct gt_pickle_value *value, struct budget *budget)
{
    struct gt_pickle_array labels = {0}, values = {0};
    struct gt_json_value *object = gt_json_new_object();
    const struct gt_pickle_value *manager = gt_pickle_made_by(value) == GT_NAME_SERIES
                                                ? gt_pickle_get(value->state, "_mgr")
                                                : NULL;
    int status = gt_pickle_made_by(manager) == GT_NAME_SINGLE_MANAGER && object ? 0 : -EBADMSG;
    if (status == 0) /* ([labels], [values], ...) */
        status = read_labels(&labels, gt_pickle_item(gt_pickle_item(manager->state, 0), 0));
    if (status == 0)
        status = gt_pickle_array_read(&values, gt_pickle_item(gt_pickle_item(manager->state, 1), 0));
    if (status == 0)
        status = values.rows == 1 && values.columns == labels.columns ? spend(budget, labels.columns + 1) : -EBADMSG;
    for (size_t i = 0; i < labels.columns && status == 0; i++) {
        struct gt_json_value *one = gt_pickle_array_get(&values, 0, i);
        status = one ? set(object, &labels, i, one) : -EBADMSG;
    }
    gt_pickle_array_release(&labels);
    gt_pickle_array_release(&values);
    return finished(object, status);
}

/* ---- trees as they are ---- */

static struct gt_json_value *tree_of(const struct gt_pickle_value *value, struct budget *budget, int depth);

static struct gt_json_value *list_of(const struct gt_pickle_value *list, struct budget *budget, int depth)
{
    struct gt_json_value *json = gt_json_new_array();
    for (uint32_t i = 0; json && i < list->count; i++) {
        struct gt_json_value *item = tree_of(list->item[i], budget, depth + 1);
        if (!item || gt_json_append(json, item) < 0) {
            gt_json_free(json);
            json = NULL;
        }
    }
    return json;
}

static struct gt_json_value *dict_of(const struct gt_pickle_value *dict, struct budget *budget, int depth)
{
    struct gt_json_value *json = gt_json_new_object();
    for (uint32_t i = 0; json && i < dict->count; i += 2) {
        struct gt_json_value *key = gt_pickle_scalar(dict->item[i]);
        struct gt_json_value *item = gt_json_is_text(key) ? tree_of(dict->item[i + 1], budget, depth + 1) : NULL;
        if (!item || gt_json_set(json, gt_json_text_of(key), item) < 0) {
            gt_json_free(json);
            json = NULL;
        }
        gt_json_free(key);
    }
    return json;
}

static struct gt_json_value *tree_of(const struct gt_pickle_value *value, struct budget *budget, int depth)
{
    if (depth >= DEEPEST || !budget->values--) {
        budget->values = 0;
        return NULL;
    }
    switch (value->kind) {
    case GT_PICKLE_LIST:
    case GT_PICKLE_TUPLE: return list_of(value, budget, depth);
    case GT_PICKLE_DICT: return dict_of(value, budget, depth);
    default: return gt_pickle_scalar(value);
    }
}

/* ---- objects ---- */

/* Our own package keeps the report that it computed them from beside the fields that the original knows. */
static const struct gt_pickle_value *report_of(const struct gt_pickle_value *state)
{
    const struct gt_pickle_value *report = gt_pickle_get(state, "_report");
    return report && report->kind == GT_PICKLE_DICT ? report : NULL;
}

static int put(struct gt_json_value *object, const char *key, struct gt_json_value *value)
{
    return value && gt_json_set(object, key, value) == 0 ? 0 : -EBADMSG;
}

static struct gt_json_value *block_of(const struct gt_pickle_value *value, struct budget *budget)
{
    static const char *const plain[] = {"name", "num_timepoints", "num_calls", "num_non_empty_calls"};
    if (gt_pickle_made_by(value) != GT_NAME_BLOCK)
        return NULL;
    if (report_of(value->state))
        return tree_of(report_of(value->state), budget, 0);
    struct gt_json_value *block = gt_json_new_object();
    int status = block ? 0 : -ENOMEM;
    for (size_t i = 0; i < sizeof plain / sizeof *plain && status == 0; i++)
        status = put(block, plain[i], gt_pickle_scalar(gt_pickle_get(value->state, plain[i])));
    if (status == 0)
        status = put(block, "compute_time", series_tree(gt_pickle_get(value->state, "compute_time"), budget));
    if (status == 0)
        status = put(block, "resource_usage", frame_tree(gt_pickle_get(value->state, "resource_usage"), budget));
    return finished(block, status);
}

static struct gt_json_value *blocks_of(const struct gt_pickle_value *list, struct budget *budget)
{
    struct gt_json_value *blocks = list && list->kind == GT_PICKLE_LIST ? gt_json_new_array() : NULL;
    int status = blocks ? 0 : -EBADMSG;
    for (uint32_t i = 0; status == 0 && i < list->count; i++) {
        struct gt_json_value *block = block_of(list->item[i], budget);
        status = block && gt_json_append(blocks, block) == 0 ? 0 : -EBADMSG;
    }
    return finished(blocks, status);
}

static struct gt_json_value *results_of(const struct gt_pickle_value *value, struct budget *budget)
{
    if (gt_pickle_made_by(value) == GT_NAME_FROM_TREE && gt_pickle_item(value->arguments, 1))
        return tree_of(gt_pickle_item(value->arguments, 1), budget, 0);
    if (gt_pickle_made_by(value) != GT_NAME_RESULTS)
        return NULL;
    const struct gt_pickle_value *state = value->state;
    if (report_of(state))
        return tree_of(report_of(state), budget, 0);
    struct gt_json_value *results = gt_json_new_object();
    int status = results ? put(results, "overall", frame_tree(gt_pickle_get(state, "overall"), budget)) : -ENOMEM;
    if (status == 0)
        status = put(results, "static_data", series_tree(gt_pickle_get(state, "static_data"), budget));
    if (status == 0)
        status = put(results, "code_block_results", blocks_of(gt_pickle_get(state, "code_block_results"), budget));
    return finished(results, status);
}

int gt_results_unpickle(struct gt_json_value **ret, const void *bytes, size_t length, const char *name,
                        struct gt_error *error)
{
    struct gt_pickle *pickle;
    struct budget budget = {4 * length + 1024}; /* a value is a byte at least, and few are shared */
    int status = gt_pickle_read(&pickle, bytes, length, gt_results_name, name, error);
    if (status < 0)
        return status;
    struct gt_json_value *tree = results_of(gt_pickle_root(pickle), &budget);
    gt_pickle_free(pickle);
    if (!tree)
        return gt_error_set(error, EBADMSG, "%s holds no results of sub-track analyze that can be read", name);
    *ret = tree;
    return 0;
}
