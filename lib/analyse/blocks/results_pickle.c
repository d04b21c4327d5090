/* Pickles of results: those of the original gpu_tracker 5, of our Python package, and of `--format pickle`. Only
 * known names are accepted and nothing is called; what they would make is put together here. Nothing of pandas or
 * numpy is needed for it. */
#include "analyse/blocks/results.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "trace/input/pickle.h"

/* ---- names ---- */

/* Meanings of the names; several names have the same. */
enum meaning {
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

static const struct {
    enum meaning number;
    const char *module, *name;
} names[] = {
#define NAME(number, module, name) {GT_NAME_##number, module, name},
#include "analyse/blocks/results_names.def"
#undef NAME
};

static bool is_text(const char *text, size_t length, const char *other)
{
    return strlen(other) == length && memcmp(text, other, length) == 0;
}

/* Returns the meaning of a name, or 0: for gt_pickle_read. */
static int name_of(const char *module, size_t module_length, const char *name, size_t name_length)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_text(module, module_length, names[i].module) && is_text(name, name_length, names[i].name))
            return (int)names[i].number;
    return 0;
}

/* ---- arrays of numpy, pandas and pyarrow: bytes ---- */

struct array {
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

/* Protocol 2 has bytes as the text that Latin-1 makes of them. */
static int decode(struct array *array, const struct gt_pickle_value *text, const char **ret, size_t *length)
{
    if (!text || text->kind != GT_PICKLE_TEXT || array->owned_count == sizeof array->owned / sizeof *array->owned)
        return -EBADMSG;
    char *bytes = malloc(text->length + 1);
    if (!bytes)
        return -ENOMEM;
    array->owned[array->owned_count++] = bytes;
    *ret = bytes;
    *length = 0;
    for (size_t i = 0; i < text->length; i++) {
        unsigned char c = (unsigned char)text->text[i];
        if (c >= 0x80) { /* U+0080 to U+00FF: two bytes, 110000xx 10xxxxxx */
            unsigned char next = i + 1 < text->length ? (unsigned char)text->text[++i] : 0;
            if ((c != 0xc2 && c != 0xc3) || (next & 0xc0) != 0x80)
                return -EBADMSG;
            c = (unsigned char)(c << 6 | (next & 0x3f));
        }
        bytes[(*length)++] = (char)c;
    }
    return 0;
}

/* Bytes, however they are wrapped. */
static int find_bytes(struct array *array, const struct gt_pickle_value *value, const char **ret, size_t *length)
{
    for (int depth = 0; value && depth < 4; depth++) {
        if (value->kind == GT_PICKLE_BYTES) {
            *ret = value->text;
            *length = value->length;
            return 0;
        }
        if (value->kind == GT_PICKLE_TEXT)
            return decode(array, value, ret, length);
        int made_by = gt_pickle_made_by(value);
        if (made_by != GT_NAME_BYTE_ARRAY && made_by != GT_NAME_ENCODE && made_by != GT_NAME_ARROW_BUFFER)
            break;
        value = gt_pickle_item(value->arguments, 0);
    }
    return -EBADMSG;
}

/* ---- numpy ---- */

/* "f8", little-endian or of one byte. */
static int read_type(struct array *array, const struct gt_pickle_value *type)
{
    const struct gt_pickle_value *name = NULL, *order = NULL;
    if (gt_pickle_made_by(type) == GT_NAME_NUMBER_TYPE) {
        name = gt_pickle_item(type->arguments, 0);
        order = type->state ? gt_pickle_item(type->state, 1) : NULL;
    }
    if (!name || name->kind != GT_PICKLE_TEXT || name->length != 2)
        return -EBADMSG;
    if (!order || order->kind != GT_PICKLE_TEXT || order->length != 1 || !strchr("<|=", *order->text))
        return -EBADMSG;
    array->type = name->text[0];
    array->width = (size_t)(name->text[1] - '0');
    switch (array->type) {
    case 'f': return array->width == 4 || array->width == 8 ? 0 : -EBADMSG;
    case 'i':
    case 'u': return array->width == 1 || array->width == 2 || array->width == 4 || array->width == 8 ? 0 : -EBADMSG;
    case 'b': return array->width == 1 ? 0 : -EBADMSG;
    case 'O': return array->width == 8 || array->width == 4 ? 0 : -EBADMSG;
    default: return -EBADMSG;
    }
}

static int read_shape(struct array *array, const struct gt_pickle_value *shape)
{
    size_t size[2] = {1, 1};
    size_t dimensions = shape && shape->kind == GT_PICKLE_TUPLE ? shape->count : 0;
    if (dimensions != 1 && dimensions != 2)
        return -EBADMSG;
    for (size_t i = 0; i < dimensions; i++) {
        const struct gt_pickle_value *one = shape->item[i];
        if (one->kind != GT_PICKLE_INTEGER || one->integer < 0 || one->integer > INT32_MAX)
            return -EBADMSG;
        size[i + 2 - dimensions] = (size_t)one->integer;
    }
    array->rows = size[0];
    array->columns = size[1];
    return 0;
}

static int read_data(struct array *array, const struct gt_pickle_value *data)
{
    size_t count = array->rows * array->columns; /* below 2^62 */
    if (array->type == 'O') {
        array->values = data;
        array->is_fortran = false; /* numpy writes objects in the order of C, whatever it says */
        return data && data->kind == GT_PICKLE_LIST && data->count == count ? 0 : -EBADMSG;
    }
    int status = find_bytes(array, data, &array->bytes, &array->length);
    return status < 0                                                                   ? status
           : array->length / array->width == count && array->length % array->width == 0 ? 0
                                                                                        : -EBADMSG;
}

static int read_numpy(struct array *array, const struct gt_pickle_value *shape, const struct gt_pickle_value *type,
                      const struct gt_pickle_value *data, bool is_fortran)
{
    int status = read_shape(array, shape);
    array->is_fortran = is_fortran;
    if (status == 0)
        status = read_type(array, type);
    return status < 0 ? status : read_data(array, data);
}

/* ---- texts of pyarrow ---- */

static int64_t offset_at(const struct array *array, size_t index)
{
    int32_t narrow;
    int64_t wide;
    if (array->width == 8) {
        memcpy(&wide, array->offsets + index * 8, sizeof wide);
        return wide;
    }
    memcpy(&narrow, array->offsets + index * 4, sizeof narrow);
    return narrow;
}

static int check_offsets(const struct array *array, size_t length)
{
    if (length / array->width < array->columns + 1)
        return -EBADMSG;
    for (size_t i = 0; i <= array->columns; i++) {
        int64_t at = offset_at(array, i);
        if (at < (i ? offset_at(array, i - 1) : 0) || at > (int64_t)array->length)
            return -EBADMSG;
    }
    return 0;
}

/* (type, length, missing, offset, [which are there, offsets, texts], ...):
 * https://arrow.apache.org/docs/format/Columnar.html */
static int read_arrow(struct array *array, const struct gt_pickle_value *parts)
{
    const struct gt_pickle_value *type = gt_pickle_item(parts, 0), *count = gt_pickle_item(parts, 1);
    const struct gt_pickle_value *missing = gt_pickle_item(parts, 2), *begin = gt_pickle_item(parts, 3);
    const struct gt_pickle_value *buffers = gt_pickle_item(parts, 4);
    const struct gt_pickle_value *name = gt_pickle_made_by(type) == GT_NAME_ARROW_TYPE
                                             ? gt_pickle_item(type->arguments, 0)
                                             : NULL;
    size_t length = 0;
    if (!name || name->kind != GT_PICKLE_TEXT || !count || count->kind != GT_PICKLE_INTEGER || count->integer < 0 ||
        count->integer > INT32_MAX)
        return -EBADMSG;
    if (!missing || missing->kind != GT_PICKLE_INTEGER || missing->integer || !begin ||
        begin->kind != GT_PICKLE_INTEGER || begin->integer)
        return -EBADMSG;
    array->type = 'S';
    array->width = name->length > 6 ? 8 : 4; /* "large_string", "string" */
    array->rows = 1;
    array->columns = (size_t)count->integer;
    int status = find_bytes(array, gt_pickle_item(buffers, 2), &array->bytes, &array->length);
    if (status == 0)
        status = find_bytes(array, gt_pickle_item(buffers, 1), &array->offsets, &length);
    return status < 0 ? status : check_offsets(array, length);
}

/* One array, or one chunk of a chunked one. */
static int read_arrow_strings(struct array *array, const struct gt_pickle_value *state)
{
    const struct gt_pickle_value *inner = gt_pickle_get(state, "_pa_array");
    inner = inner ? inner : gt_pickle_get(state, "_data");
    if (gt_pickle_made_by(inner) == GT_NAME_ARROW_CHUNKS) {
        const struct gt_pickle_value *chunks = gt_pickle_item(inner->arguments, 0);
        inner = gt_pickle_item(chunks, 1) ? NULL : gt_pickle_item(chunks, 0);
    }
    bool is_array = gt_pickle_made_by(inner) == GT_NAME_ARROW_ARRAY;
    return is_array ? read_arrow(array, gt_pickle_item(inner->arguments, 0)) : -EBADMSG;
}

/* ---- any ---- */

/* The numpy array behind pandas' array of texts. */
static const struct gt_pickle_value *backing(const struct gt_pickle_value *value)
{
    for (size_t i = 0; i < 3; i++) {
        const struct gt_pickle_value *part = gt_pickle_item(value->state, i);
        int made_by = gt_pickle_made_by(part);
        if (made_by == GT_NAME_ARRAY || made_by == GT_NAME_ARRAY_OF_BUFFER)
            return part;
    }
    return NULL;
}

/* Returns 0, -EBADMSG for anything else than an array, or -ENOMEM. The array is to be released in any case. */
static int read_array(struct array *ret, const struct gt_pickle_value *value)
{
    const struct gt_pickle_value *items, *order;
    *ret = (struct array){0};
    if (gt_pickle_made_by(value) == GT_NAME_BACKED_ARRAY)
        value = backing(value);
    switch (gt_pickle_made_by(value)) {
    case GT_NAME_ARRAY: /* the state of _reconstruct's array: version, shape, type, order, data */
        items = value->state;
        order = gt_pickle_item(items, 3);
        return read_numpy(ret, gt_pickle_item(items, 1), gt_pickle_item(items, 2), gt_pickle_item(items, 4),
                          order && order->kind == GT_PICKLE_BOOL && order->integer);
    case GT_NAME_ARRAY_OF_BUFFER: /* of protocol 5: _frombuffer(data, type, shape, order) */
        items = value->arguments;
        order = gt_pickle_item(items, 3);
        return read_numpy(ret, gt_pickle_item(items, 2), gt_pickle_item(items, 1), gt_pickle_item(items, 0),
                          order && order->kind == GT_PICKLE_TEXT && order->length == 1 && *order->text == 'F');
    case GT_NAME_ARROW_STRINGS: return read_arrow_strings(ret, value->state);
    default: return -EBADMSG;
    }
}

static void release_array(struct array *array)
{
    for (size_t i = 0; i < array->owned_count; i++)
        free(array->owned[i]);
}

/* ---- single values ---- */

static struct gt_json_value *real(double value)
{
    return isfinite(value) ? gt_json_new_number(value) : gt_json_new_null();
}

static struct gt_json_value *number(const char *bytes, char type, size_t width)
{
    double real_number;
    float small;
    uint64_t bits = 0;
    for (size_t i = width; i > 0; i--)
        bits = bits << 8 | (unsigned char)bytes[i - 1];
    int unused = 64 - 8 * (int)width;
    switch (type) {
    case 'f':
        memcpy(&real_number, bytes, width == 8 ? 8 : 0);
        memcpy(&small, bytes, width == 4 ? 4 : 0);
        return real(width == 8 ? real_number : (double)small);
    case 'b': return gt_json_new_bool(bits);
    case 'u': return bits > INT64_MAX ? gt_json_new_number((double)bits) : gt_json_new_integer((int64_t)bits);
    default: return gt_json_new_integer((int64_t)(bits << unused) >> unused);
    }
}

static struct gt_json_value *text_tree(const char *text, size_t length)
{
    struct gt_json_value *json = gt_json_new_text(text, length);
    if (json || memchr(text, '\0', length))
        return json;
    char *copy = strndup(text, length);
    for (size_t i = 0; copy && i < length;) {
        int valid = gt_utf8_length(copy + i);
        copy[i] = valid ? copy[i] : '?';
        i += valid ? (size_t)valid : 1;
    }
    json = copy ? gt_json_new_text(copy, strlen(copy)) : NULL;
    free(copy);
    return json;
}

/* numpy.float64(1.5) and the like: scalar(type, bytes). */
static struct gt_json_value *numpy_scalar(const struct gt_pickle_value *arguments)
{
    struct array array = {0};
    const char *bytes = NULL;
    size_t length = 0;
    struct gt_json_value *json = NULL;
    if (read_type(&array, gt_pickle_item(arguments, 0)) == 0 && array.type != 'O' &&
        find_bytes(&array, gt_pickle_item(arguments, 1), &bytes, &length) == 0 && length == array.width)
        json = number(bytes, array.type, array.width);
    release_array(&array);
    return json;
}

/* Returns a value that is no list, dict or object, or NULL. */
static struct gt_json_value *scalar(const struct gt_pickle_value *value)
{
    if (gt_pickle_made_by(value) == GT_NAME_NUMBER)
        return numpy_scalar(value->arguments);
    if (gt_pickle_made_by(value) == GT_NAME_QUOTED_NAME)
        value = gt_pickle_item(value->arguments, 0);
    if (!value)
        return NULL;
    switch (value->kind) {
    case GT_PICKLE_NONE: return gt_json_new_null();
    case GT_PICKLE_BOOL: return gt_json_new_bool(value->integer);
    case GT_PICKLE_INTEGER: return gt_json_new_integer(value->integer);
    case GT_PICKLE_FLOAT: return real(value->number);
    case GT_PICKLE_TEXT: return text_tree(value->text, value->length);
    default: return NULL;
    }
}

/* Returns a value of the array, or NULL. */
static struct gt_json_value *value_at(const struct array *array, size_t row, size_t column)
{
    size_t index = array->is_fortran ? column * array->rows + row : row * array->columns + column;
    if (row >= array->rows || column >= array->columns)
        return NULL;
    if (array->type == 'O')
        return scalar(array->values->item[index]);
    if (array->type != 'S')
        return number(array->bytes + index * array->width, array->type, array->width);
    int64_t begin = offset_at(array, index);
    return text_tree(array->bytes + begin, (size_t)(offset_at(array, index + 1) - begin));
}

enum { DEEPEST = 64 };

/* ---- frames and series of pandas ---- */

/* This counts how much JSON may still be made: shared values make a small pickle a large tree. */
struct budget {
    size_t values;
};

/* ---- labels ---- */

/* The array of an Index: _new_Index(class, {"data": array, ...}). */
static int read_labels(struct array *ret, const struct gt_pickle_value *index)
{
    *ret = (struct array){0};
    if (gt_pickle_made_by(index) != GT_NAME_NEW_INDEX)
        return -EBADMSG;
    const struct gt_pickle_value *class = gt_pickle_item(index->arguments, 0);
    if (!class || class->kind != GT_PICKLE_NAME || class->integer != GT_NAME_INDEX)
        return -EBADMSG;
    int status = read_array(ret, gt_pickle_get(gt_pickle_item(index->arguments, 1), "data"));
    return status == 0 && ret->rows != 1 ? -EBADMSG : status;
}

/* Under the label that is a text; takes `value` over. */
static int set(struct gt_json_value *object, const struct array *labels, size_t index, struct gt_json_value *value)
{
    struct gt_json_value *label = value_at(labels, 0, index);
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
    const struct array *array;
    size_t row;
};

struct frame {
    struct array columns, rows; /* labels */
    struct array *blocks;
    size_t block_count;
    struct place *place; /* of each column */
};

static int place_column(struct frame *frame, int64_t column, const struct array *array, size_t row)
{
    if (column < 0 || (size_t)column >= frame->columns.columns || frame->place[column].array)
        return -EBADMSG;
    frame->place[column] = (struct place){array, row};
    return 0;
}

/* Columns start, start + step, ... of slice(start, stop, step). */
static int place_slice(struct frame *frame, const struct gt_pickle_value *slice, const struct array *array)
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

static int place_listed(struct frame *frame, const struct gt_pickle_value *list, const struct array *array)
{
    struct array numbers;
    int status = read_array(&numbers, list);
    for (size_t row = 0; row < array->rows && status == 0; row++) {
        struct gt_json_value *column = value_at(&numbers, 0, row);
        status = gt_json_is_integer(column) ? place_column(frame, gt_json_integer_of(column), array, row) : -EBADMSG;
        gt_json_free(column);
    }
    release_array(&numbers);
    return status;
}

/* _unpickle_block(values, which columns, dimensions) */
static int read_block(struct frame *frame, const struct gt_pickle_value *block)
{
    if (gt_pickle_made_by(block) != GT_NAME_FRAME_BLOCK)
        return -EBADMSG;
    struct array *array = &frame->blocks[frame->block_count++];
    const struct gt_pickle_value *columns = gt_pickle_item(block->arguments, 1);
    int status = read_array(array, gt_pickle_item(block->arguments, 0));
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
        release_array(&frame->blocks[i]);
    release_array(&frame->columns);
    release_array(&frame->rows);
    free(frame->blocks);
    free(frame->place);
}

static struct gt_json_value *row_of(const struct frame *frame, size_t row)
{
    struct gt_json_value *object = gt_json_new_object();
    int status = object ? 0 : -ENOMEM;
    for (size_t i = 0; i < frame->columns.columns && status == 0; i++) {
        struct gt_json_value *value = value_at(frame->place[i].array, frame->place[i].row, row);
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
    struct array labels = {0}, values = {0};
    struct gt_json_value *object = gt_json_new_object();
    const struct gt_pickle_value *manager = gt_pickle_made_by(value) == GT_NAME_SERIES
                                                ? gt_pickle_get(value->state, "_mgr")
                                                : NULL;
    int status = gt_pickle_made_by(manager) == GT_NAME_SINGLE_MANAGER && object ? 0 : -EBADMSG;
    if (status == 0) /* ([labels], [values], ...) */
        status = read_labels(&labels, gt_pickle_item(gt_pickle_item(manager->state, 0), 0));
    if (status == 0)
        status = read_array(&values, gt_pickle_item(gt_pickle_item(manager->state, 1), 0));
    if (status == 0)
        status = values.rows == 1 && values.columns == labels.columns ? spend(budget, labels.columns + 1) : -EBADMSG;
    for (size_t i = 0; i < labels.columns && status == 0; i++) {
        struct gt_json_value *one = value_at(&values, 0, i);
        status = one ? set(object, &labels, i, one) : -EBADMSG;
    }
    release_array(&labels);
    release_array(&values);
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
        struct gt_json_value *key = scalar(dict->item[i]);
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
    default: return scalar(value);
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
        status = put(block, plain[i], scalar(gt_pickle_get(value->state, plain[i])));
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
    int status = gt_pickle_read(&pickle, bytes, length, name_of, name, error);
    if (status < 0)
        return status;
    struct gt_json_value *tree = results_of(gt_pickle_root(pickle), &budget);
    gt_pickle_free(pickle);
    if (!tree)
        return gt_error_set(error, EBADMSG, "%s holds no results of analyze that can be read", name);
    *ret = tree;
    return 0;
}
