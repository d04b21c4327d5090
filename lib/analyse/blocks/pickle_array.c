#include "analyse/blocks/pickle_array.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static const struct {
    enum gt_pickle_meaning number;
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

int gt_results_name(const char *module, size_t module_length, const char *name, size_t name_length)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_text(module, module_length, names[i].module) && is_text(name, name_length, names[i].name))
            return (int)names[i].number;
    return 0;
}

/* ---- bytes ---- */

/* Protocol 2 has bytes as the text that Latin-1 makes of them. */
static int decode(struct gt_pickle_array *array, const struct gt_pickle_value *text, const char **ret, size_t *length)
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
static int find_bytes(struct gt_pickle_array *array, const struct gt_pickle_value *value, const char **ret,
                      size_t *length)
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
static int read_type(struct gt_pickle_array *array, const struct gt_pickle_value *type)
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

static int read_shape(struct gt_pickle_array *array, const struct gt_pickle_value *shape)
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

static int read_data(struct gt_pickle_array *array, const struct gt_pickle_value *data)
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

/* The state that _reconstruct's array gets: version, shape, type, order, data. */
static int read_numpy(struct gt_pickle_array *array, const struct gt_pickle_value *state)
{
    const struct gt_pickle_value *order = gt_pickle_item(state, 3);
    int status = read_shape(array, gt_pickle_item(state, 1));
    if (status == 0)
        status = read_type(array, gt_pickle_item(state, 2));
    array->is_fortran = order && order->kind == GT_PICKLE_BOOL && order->integer;
    return status < 0 ? status : read_data(array, gt_pickle_item(state, 4));
}

/* Protocol 5 has _frombuffer(data, type, shape, order). */
static int read_buffer(struct gt_pickle_array *array, const struct gt_pickle_value *arguments)
{
    const struct gt_pickle_value *order = gt_pickle_item(arguments, 3);
    int status = read_shape(array, gt_pickle_item(arguments, 2));
    if (status == 0)
        status = read_type(array, gt_pickle_item(arguments, 1));
    array->is_fortran = order && order->kind == GT_PICKLE_TEXT && order->length == 1 && *order->text == 'F';
    return status < 0 ? status : read_data(array, gt_pickle_item(arguments, 0));
}

/* ---- texts of pyarrow ---- */

static int64_t offset_at(const struct gt_pickle_array *array, size_t index)
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

static int check_offsets(const struct gt_pickle_array *array, size_t length)
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
static int read_arrow(struct gt_pickle_array *array, const struct gt_pickle_value *parts)
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
static int read_arrow_strings(struct gt_pickle_array *array, const struct gt_pickle_value *state)
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

int gt_pickle_array_read(struct gt_pickle_array *ret, const struct gt_pickle_value *value)
{
    *ret = (struct gt_pickle_array){0};
    if (gt_pickle_made_by(value) == GT_NAME_BACKED_ARRAY)
        value = backing(value);
    switch (gt_pickle_made_by(value)) {
    case GT_NAME_ARRAY: return read_numpy(ret, value->state);
    case GT_NAME_ARRAY_OF_BUFFER: return read_buffer(ret, value->arguments);
    case GT_NAME_ARROW_STRINGS: return read_arrow_strings(ret, value->state);
    default: return -EBADMSG;
    }
}

void gt_pickle_array_release(struct gt_pickle_array *array)
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

/* numpy.float64(1.5) and the like: gt_pickle_scalar(type, bytes). */
static struct gt_json_value *numpy_scalar(const struct gt_pickle_value *arguments)
{
    struct gt_pickle_array array = {0};
    const char *bytes = NULL;
    size_t length = 0;
    struct gt_json_value *json = NULL;
    if (read_type(&array, gt_pickle_item(arguments, 0)) == 0 && array.type != 'O' &&
        find_bytes(&array, gt_pickle_item(arguments, 1), &bytes, &length) == 0 && length == array.width)
        json = number(bytes, array.type, array.width);
    gt_pickle_array_release(&array);
    return json;
}

struct gt_json_value *gt_pickle_scalar(const struct gt_pickle_value *value)
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

struct gt_json_value *gt_pickle_array_get(const struct gt_pickle_array *array, size_t row, size_t column)
{
    size_t index = array->is_fortran ? column * array->rows + row : row * array->columns + column;
    if (row >= array->rows || column >= array->columns)
        return NULL;
    if (array->type == 'O')
        return gt_pickle_scalar(array->values->item[index]);
    if (array->type != 'S')
        return number(array->bytes + index * array->width, array->type, array->width);
    int64_t begin = offset_at(array, index);
    return text_tree(array->bytes + begin, (size_t)(offset_at(array, index + 1) - begin));
}
