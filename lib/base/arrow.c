#include "base/arrow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NULLABLE = 2 };

static const char *const formats[] = {[GT_CELL_NUMBER] = "g",
                                      [GT_CELL_INTEGER] = "l",
                                      [GT_CELL_PLAIN_TEXT] = "U",
                                      [GT_CELL_TEXT] = "i",
                                      [GT_CELL_TIME] = "tsn:UTC"};

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

static int fill_column_field(struct ArrowSchema *field, const struct gt_table_column *column)
{
    int status = fill_field(field, formats[column->kind], column->key);
    if (status || column->kind != GT_CELL_TEXT)
        return status;
    field->dictionary = calloc(1, sizeof *field->dictionary);
    return field->dictionary ? fill_field(field->dictionary, formats[GT_CELL_PLAIN_TEXT], "") : ENOMEM;
}

static int fill_schema(struct ArrowSchema *schema, const struct gt_table *table)
{
    int status = fill_field(schema, "+s", "");
    schema->flags = 0;
    schema->children = calloc(table->columns + 1, sizeof *schema->children);
    if (!schema->children)
        status = ENOMEM;
    for (size_t i = 0; !status && i < table->columns; i++) {
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
    gt_table_free(array->private_data);
    array->release = NULL;
}

static int fill_array(struct ArrowArray *array, struct gt_table *table, int64_t buffers)
{
    *array = (struct ArrowArray){
        .length = (int64_t)gt_table_rows(table), .n_buffers = buffers, .release = release_array};
    array->private_data = gt_table_keep(table);
    array->buffers = calloc((size_t)buffers, sizeof *array->buffers);
    return array->buffers ? 0 : ENOMEM;
}

static void fill_texts(struct ArrowArray *array, const struct gt_table_column *column)
{
    array->buffers[1] = column->begin;
    array->buffers[2] = column->text ? column->text : "";
}

/* The dictionary of a column of texts. */
static int fill_dictionary(struct ArrowArray *array, struct gt_table *table, const struct gt_table_column *column)
{
    int status = fill_array(array, table, 3);
    array->length = (int64_t)column->texts;
    if (status)
        return status;
    fill_texts(array, column);
    return 0;
}

static int fill_column(struct ArrowArray *array, struct gt_table *table, const struct gt_table_column *column)
{
    int status = fill_array(array, table, column->kind == GT_CELL_PLAIN_TEXT ? 3 : 2);
    if (status)
        return status;
    array->null_count = (int64_t)column->missing;
    array->buffers[0] = column->validity;
    array->buffers[1] = column->cell;
    if (column->kind == GT_CELL_PLAIN_TEXT)
        fill_texts(array, column);
    if (column->kind != GT_CELL_TEXT)
        return 0;
    array->dictionary = calloc(1, sizeof *array->dictionary);
    return array->dictionary ? fill_dictionary(array->dictionary, table, column) : ENOMEM;
}

static int fill_batch(struct ArrowArray *array, struct gt_table *table)
{
    int status = fill_array(array, table, 1);
    array->children = calloc(table->columns + 1, sizeof *array->children);
    if (!array->children)
        status = ENOMEM;
    for (size_t i = 0; !status && i < table->columns; i++) {
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
    struct gt_table *table;
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
    gt_table_free(state->table);
    free(state);
    stream->release = NULL;
}

int gt_table_arrow_stream(struct gt_table *table, struct ArrowArrayStream *ret)
{
    struct stream *state = calloc(1, sizeof *state);
    if (!state)
        return -ENOMEM;
    state->table = gt_table_keep(table);
    *ret = (struct ArrowArrayStream){stream_schema, stream_next, stream_error, release_stream, state};
    return 0;
}

int gt_table_arrow_schema(const struct gt_table *table, struct ArrowSchema *ret)
{
    return -fill_schema(ret, table);
}
