/* Tables as Arrow C streams: one batch, whose buffers are the table's own.
 *
 * The three structs are the Arrow C data and stream interfaces (https://arrow.apache.org/docs/format/CDataInterface.html);
 * capsules after the Arrow PyCapsule interface. Consumers may release from any thread, without the interpreter. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *schema);
    void *private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *array);
    void *private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *stream, struct ArrowSchema *ret);
    int (*get_next)(struct ArrowArrayStream *stream, struct ArrowArray *ret);
    const char *(*get_last_error)(struct ArrowArrayStream *stream);
    void (*release)(struct ArrowArrayStream *stream);
    void *private_data;
};

enum { NULLABLE = 2 };

/* Choices are dictionaries: int32 numbers of texts. */
static const char *const formats[] = {[GT_DATASET_NUMBER] = "g",
                                      [GT_DATASET_INTEGER] = "l",
                                      [GT_DATASET_TEXT] = "U",
                                      [GT_DATASET_CHOICE] = "i",
                                      [GT_DATASET_TIME] = "tsn:UTC"};

/* ---- schemas ---- */

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i] && schema->children[i]->release)
            schema->children[i]->release(schema->children[i]);
        free(schema->children[i]);
    }
    free(schema->children);
    if (schema->dictionary && schema->dictionary->release)
        schema->dictionary->release(schema->dictionary);
    free(schema->dictionary);
    free(schema->private_data); /* the name */
    schema->release = NULL;
}

static int fill_field(struct ArrowSchema *field, const char *format, const char *name)
{
    *field = (struct ArrowSchema){.format = format, .flags = NULLABLE, .release = release_schema};
    field->private_data = strdup(name);
    field->name = field->private_data;
    return field->name ? 0 : ENOMEM;
}

static int fill_column_field(struct ArrowSchema *field, const struct table_column *column)
{
    int status = fill_field(field, formats[column->kind], column->name);
    if (status || column->kind != GT_DATASET_CHOICE)
        return status;
    field->dictionary = calloc(1, sizeof *field->dictionary);
    return field->dictionary ? fill_field(field->dictionary, formats[GT_DATASET_TEXT], "") : ENOMEM;
}

static int fill_schema(struct ArrowSchema *schema, const struct table *table)
{
    int status = fill_field(schema, "+s", "");
    schema->flags = 0;
    schema->children = calloc(table->count + 1, sizeof *schema->children);
    if (!schema->children)
        status = ENOMEM;
    for (size_t i = 0; !status && i < table->count; i++) {
        schema->children[i] = calloc(1, sizeof *schema->children[i]);
        schema->n_children++;
        status = schema->children[i] ? fill_column_field(schema->children[i], &table->column[i]) : ENOMEM;
    }
    if (status)
        release_schema(schema);
    return status;
}

/* ---- arrays ---- */

static void release_array(struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i] && array->children[i]->release)
            array->children[i]->release(array->children[i]);
        free(array->children[i]);
    }
    free(array->children);
    if (array->dictionary && array->dictionary->release)
        array->dictionary->release(array->dictionary);
    free(array->dictionary);
    free(array->buffers);
    table_drop(array->private_data);
    array->release = NULL;
}

static int fill_array(struct ArrowArray *array, struct table *table, int64_t buffers)
{
    *array = (struct ArrowArray){.length = (int64_t)table->rows, .n_buffers = buffers, .release = release_array};
    array->private_data = table_keep(table);
    array->buffers = calloc((size_t)buffers, sizeof *array->buffers);
    return array->buffers ? 0 : ENOMEM;
}

/* The texts that a column of choices chooses from. */
static int fill_dictionary(struct ArrowArray *array, struct table *table, const struct table_column *column)
{
    int status = fill_array(array, table, 3);
    array->length = (int64_t)column->choices;
    if (status)
        return status;
    array->buffers[1] = column->begin;
    array->buffers[2] = column->text;
    return 0;
}

static int fill_column(struct ArrowArray *array, struct table *table, const struct table_column *column)
{
    int status = fill_array(array, table, column->kind == GT_DATASET_TEXT ? 3 : 2);
    if (status)
        return status;
    array->null_count = column->missing;
    array->buffers[0] = column->validity;
    array->buffers[1] = column->value;
    if (column->kind == GT_DATASET_TEXT)
        array->buffers[2] = column->text;
    if (column->kind != GT_DATASET_CHOICE)
        return 0;
    array->dictionary = calloc(1, sizeof *array->dictionary);
    return array->dictionary ? fill_dictionary(array->dictionary, table, column) : ENOMEM;
}

static int fill_batch(struct ArrowArray *array, struct table *table)
{
    int status = fill_array(array, table, 1);
    array->children = calloc(table->count + 1, sizeof *array->children);
    if (!array->children)
        status = ENOMEM;
    for (size_t i = 0; !status && i < table->count; i++) {
        array->children[i] = calloc(1, sizeof *array->children[i]);
        array->n_children++;
        status = array->children[i] ? fill_column(array->children[i], table, &table->column[i]) : ENOMEM;
    }
    if (status)
        release_array(array);
    return status;
}

/* ---- streams ---- */

struct stream {
    struct table *table;
    int is_over;
};

static int stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *ret)
{
    return fill_schema(ret, ((struct stream *)stream->private_data)->table);
}

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *ret)
{
    struct stream *state = stream->private_data;
    *ret = (struct ArrowArray){0}; /* a released array: the end */
    if (state->is_over)
        return 0;
    state->is_over = 1;
    return fill_batch(ret, state->table);
}

static const char *stream_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "out of memory"; /* nothing else can fail */
}

static void release_stream(struct ArrowArrayStream *stream)
{
    struct stream *state = stream->private_data;
    table_drop(state->table);
    free(state);
    stream->release = NULL;
}

/* ---- capsules ---- */

static void free_stream_capsule(PyObject *capsule)
{
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream->release)
        stream->release(stream);
    free(stream);
}

static void free_schema_capsule(PyObject *capsule)
{
    struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema->release)
        schema->release(schema);
    free(schema);
}

PyObject *core_arrow_stream(struct table *table)
{
    struct ArrowArrayStream *stream = calloc(1, sizeof *stream);
    struct stream *state = calloc(1, sizeof *state);
    if (!stream || !state) {
        free(stream);
        free(state);
        return PyErr_NoMemory();
    }
    state->table = table_keep(table);
    *stream = (struct ArrowArrayStream){stream_schema, stream_next, stream_error, release_stream, state};
    PyObject *capsule = PyCapsule_New(stream, "arrow_array_stream", free_stream_capsule);
    if (!capsule) {
        release_stream(stream);
        free(stream);
    }
    return capsule;
}

PyObject *core_arrow_schema(const struct table *table)
{
    struct ArrowSchema *schema = calloc(1, sizeof *schema);
    if (!schema || fill_schema(schema, table)) {
        free(schema);
        return PyErr_NoMemory();
    }
    PyObject *capsule = PyCapsule_New(schema, "arrow_schema", free_schema_capsule);
    if (!capsule) {
        release_schema(schema);
        free(schema);
    }
    return capsule;
}
