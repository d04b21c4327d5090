#include "base/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

struct gt_table *gt_table_new(void)
{
    struct gt_table *table = calloc(1, sizeof *table);
    if (table)
        table->owners = 1;
    return table;
}

struct gt_table *gt_table_keep(struct gt_table *table)
{
    __atomic_add_fetch(&table->owners, 1, __ATOMIC_RELAXED);
    return table;
}

static void release_column(struct gt_table_column *column)
{
    free(column->key);
    free(column->title);
    free(column->unit);
    free(column->cell);
    free(column->validity);
    free(column->begin);
    free(column->text);
    free(column->choice_of_key);
    gt_map_release(&column->numbers);
}

void gt_table_free(struct gt_table *table)
{
    if (!table || __atomic_sub_fetch(&table->owners, 1, __ATOMIC_ACQ_REL))
        return;
    for (size_t i = 0; i < table->columns; i++)
        release_column(&table->column[i]);
    free(table->column);
    free(table);
}

static bool fail(struct gt_table *table, int status)
{
    table->failed = table->failed ? table->failed : status;
    return false;
}

/* ---- columns ---- */

static bool has_texts(const struct gt_table_column *column)
{
    return column->kind == GT_CELL_TEXT || column->kind == GT_CELL_PLAIN_TEXT;
}

void gt_table_column(struct gt_table *table, const char *key, const char *title, enum gt_cell_kind kind,
                     const char *unit)
{
    if (!table || table->failed)
        return;
    struct gt_table_column *column = GT_GROW_BY_ONE(table->column, table->columns);
    if (!column || (table->columns && table->column->count)) {
        fail(table, column ? -EINVAL : -ENOMEM);
        return;
    }
    *column = (struct gt_table_column){
        .key = strdup(key), .title = strdup(title), .unit = strdup(unit ? unit : ""), .kind = kind};
    table->columns++;
    bool has_begin = !has_texts(column) || GT_GROW_TO(column->begin, column->begin_capacity, 1) == 0;
    if (!column->key || !column->title || !column->unit || !has_begin)
        fail(table, -ENOMEM);
    else if (column->begin)
        column->begin[0] = 0;
}

void gt_table_add_columns(struct gt_table *table, const struct gt_column_kind *columns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        gt_table_column(table, columns[i].name, columns[i].name, columns[i].kind, NULL);
}

/* ---- cells ---- */

/* The bytes of a cell; texts without a dictionary have none beside their beginnings. */
static size_t cell_size(const struct gt_table_column *column)
{
    switch (column->kind) {
    case GT_CELL_TEXT: return sizeof(int32_t);
    case GT_CELL_PLAIN_TEXT: return 0;
    default: return sizeof(int64_t);
    }
}

static bool grow_cells(struct gt_table *table, struct gt_table_column *column)
{
    size_t capacity = column->capacity ? column->capacity * 2 : 64, size = cell_size(column);
    void *cells = size ? reallocarray(column->cell, capacity, size) : NULL;
    column->cell = cells ? cells : column->cell;
    uint8_t *validity = column->validity ? realloc(column->validity, capacity / 8) : NULL;
    column->validity = validity ? validity : column->validity;
    if ((size && !cells) || (column->validity && !validity))
        return fail(table, -ENOMEM);
    if (validity)
        memset(validity + column->capacity / 8, 0xff, (capacity - column->capacity) / 8);
    column->capacity = capacity;
    return true;
}

/* The column of the next cell, with room for it; NULL when the table has failed. */
static struct gt_table_column *next_column(struct gt_table *table)
{
    if (!table || table->failed)
        return NULL;
    if (!table->columns) {
        fail(table, -EINVAL);
        return NULL;
    }
    struct gt_table_column *column = &table->column[table->next];
    table->next = table->next + 1 < table->columns ? table->next + 1 : 0;
    return column->count < column->capacity || grow_cells(table, column) ? column : NULL;
}

static struct gt_table_column *next_column_of(struct gt_table *table, enum gt_cell_kind kind)
{
    struct gt_table_column *column = next_column(table);
    if (column && column->kind != kind) {
        fail(table, -EINVAL);
        return NULL;
    }
    return column;
}

static bool mark_missing(struct gt_table *table, struct gt_table_column *column, size_t row)
{
    if (!column->validity) {
        column->validity = malloc(column->capacity / 8);
        if (!column->validity)
            return fail(table, -ENOMEM);
        memset(column->validity, 0xff, column->capacity / 8);
    }
    column->validity[row / 8] &= (uint8_t) ~(1u << row % 8);
    column->missing++;
    return true;
}

static bool add_text(struct gt_table *table, struct gt_table_column *column, const char *text, size_t length)
{
    size_t end = (size_t)column->begin[column->texts];
    if (GT_GROW_TO(column->begin, column->begin_capacity, column->texts + 2) < 0 ||
        GT_GROW_TO(column->text, column->text_capacity, end + length + 1) < 0)
        return fail(table, -ENOMEM);
    memcpy(column->text + end, text, length);
    column->begin[++column->texts] = (int64_t)(end + length);
    return true;
}

struct wanted_text {
    const struct gt_table_column *column;
    const char *text;
    size_t length;
};

static bool is_wanted_text(const void *context, uint32_t number)
{
    const struct wanted_text *wanted = context;
    const int64_t *begin = wanted->column->begin;
    return (size_t)(begin[number + 1] - begin[number]) == wanted->length &&
           !memcmp(wanted->column->text + begin[number], wanted->text, wanted->length);
}

/* Finds the number of a text in the dictionary, or adds it. Returns -1 without memory. */
static int32_t choice_of(struct gt_table *table, struct gt_table_column *column, const char *text, size_t length)
{
    struct wanted_text wanted = {column, text, length};
    uint32_t hash = (uint32_t)gt_hash(text, length);
    uint32_t found = gt_map_find(&column->numbers, hash, is_wanted_text, &wanted);
    if (found != GT_MAP_ABSENT)
        return (int32_t)found;
    if (!add_text(table, column, text, length))
        return -1;
    if (gt_map_add(&column->numbers, hash, (uint32_t)column->texts - 1) < 0)
        fail(table, -ENOMEM);
    return (int32_t)column->texts - 1;
}

void gt_table_missing(struct gt_table *table)
{
    struct gt_table_column *column = next_column(table);
    if (!column || !mark_missing(table, column, column->count))
        return;
    switch (column->kind) {
    case GT_CELL_NUMBER: column->number[column->count++] = NAN; break;
    case GT_CELL_TEXT: column->choice[column->count++] = -1; break;
    case GT_CELL_PLAIN_TEXT: column->count += add_text(table, column, "", 0); break;
    default: column->integer[column->count++] = 0;
    }
}

void gt_table_number(struct gt_table *table, double value)
{
    if (isnan(value)) {
        gt_table_missing(table);
        return;
    }
    struct gt_table_column *column = next_column_of(table, GT_CELL_NUMBER);
    if (column)
        column->number[column->count++] = value;
}

void gt_table_integer(struct gt_table *table, int64_t value)
{
    struct gt_table_column *column = next_column_of(table, GT_CELL_INTEGER);
    if (column)
        column->integer[column->count++] = value;
}

void gt_table_time(struct gt_table *table, int64_t value)
{
    struct gt_table_column *column = next_column_of(table, GT_CELL_TIME);
    if (column)
        column->integer[column->count++] = value;
}

void gt_table_text_of(struct gt_table *table, const char *value, size_t length)
{
    struct gt_table_column *column = next_column(table);
    if (column && !has_texts(column))
        fail(table, -EINVAL);
    else if (column && column->kind == GT_CELL_PLAIN_TEXT)
        column->count += add_text(table, column, value, length);
    else if (column)
        column->choice[column->count++] = choice_of(table, column, value, length);
}

void gt_table_text(struct gt_table *table, const char *value)
{
    if (value)
        gt_table_text_of(table, value, strlen(value));
    else
        gt_table_missing(table);
}

void gt_table_choice(struct gt_table *table, uint32_t key, const char *value)
{
    if (key == UINT32_MAX) {
        gt_table_missing(table);
        return;
    }
    struct gt_table_column *column = next_column_of(table, GT_CELL_TEXT);
    if (!column)
        return;
    size_t keys = column->keys;
    if (GT_GROW_TO(column->choice_of_key, column->keys, key + (size_t)1) < 0) {
        fail(table, -ENOMEM);
        return;
    }
    memset(column->choice_of_key + keys, 0, (column->keys - keys) * sizeof *column->choice_of_key);
    if (!column->choice_of_key[key])
        column->choice_of_key[key] = choice_of(table, column, value, strlen(value)) + 1;
    column->choice[column->count++] = column->choice_of_key[key] - 1;
}

bool gt_table_knows(const struct gt_table *table, size_t column, uint32_t key)
{
    return table && column < table->columns && key < table->column[column].keys &&
           table->column[column].choice_of_key[key];
}

void gt_table_seek(struct gt_table *table, size_t column)
{
    if (table && !table->failed)
        table->next = column;
}

void gt_table_dictionary_text(struct gt_table *table, size_t column, const char *text, size_t length)
{
    if (table && !table->failed)
        add_text(table, &table->column[column], text, length);
}

void gt_table_chosen(struct gt_table *table, int32_t number)
{
    if (number < 0) {
        gt_table_missing(table);
        return;
    }
    struct gt_table_column *column = next_column_of(table, GT_CELL_TEXT);
    if (column && (size_t)number >= column->texts)
        fail(table, -EINVAL);
    else if (column)
        column->choice[column->count++] = number;
}

/* ---- finishing ---- */

void gt_table_make_integer(struct gt_table *table, size_t number)
{
    if (!table || table->failed)
        return;
    struct gt_table_column *column = &table->column[number];
    if (column->kind != GT_CELL_NUMBER || column->missing)
        return;
    for (size_t i = 0; i < column->count; i++)
        if (column->number[i] != floor(column->number[i]) || fabs(column->number[i]) > 9e15)
            return;
    for (size_t i = 0; i < column->count; i++)
        column->integer[i] = (int64_t)column->number[i];
    column->kind = GT_CELL_INTEGER;
}

static void trim(struct gt_table_column *column)
{
    size_t size = cell_size(column) * column->count;
    void *cells = size ? realloc(column->cell, size) : NULL;
    column->cell = cells ? cells : column->cell;
    gt_map_release(&column->numbers);
}

int gt_table_finish(struct gt_table **ret, struct gt_table *table, const char *subject, struct gt_error *error)
{
    int status = table ? table->failed : -ENOMEM;
    if (status < 0) {
        gt_table_free(table);
        return gt_error_system(error, -status, "%s", subject);
    }
    for (size_t i = 0; i < table->columns; i++)
        trim(&table->column[i]);
    *ret = table;
    return 0;
}

int gt_table_finish_columns(struct gt_table **ret, struct gt_table *table, const struct gt_column_kind *columns,
                            size_t count, const char *subject, struct gt_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (columns[i].whole)
            gt_table_make_integer(table, i);
    return gt_table_finish(ret, table, subject, error);
}

/* ---- reading ---- */

size_t gt_table_rows(const struct gt_table *table)
{
    return table && table->columns ? table->column[table->columns - 1].count : 0;
}

static void keep_texts(struct gt_table_column *column, const bool *is_wanted)
{
    size_t kept = 0;
    int64_t end = 0;
    for (size_t row = 0; row < column->count; row++) {
        int64_t begin = column->begin[row], length = column->begin[row + 1] - begin;
        if (!is_wanted[row])
            continue;
        memmove(column->text + end, column->text + begin, (size_t)length);
        column->begin[kept++] = end;
        end += length;
    }
    column->begin[kept] = end;
    column->texts = kept;
}

static void keep_cells(struct gt_table_column *column, const bool *is_wanted)
{
    size_t size = cell_size(column), kept = 0;
    char *cell = column->cell;
    column->missing = 0;
    for (size_t row = 0; row < column->count; row++) {
        bool is_there = !column->validity || (column->validity[row / 8] >> row % 8 & 1);
        if (!is_wanted[row])
            continue;
        if (size)
            memmove(cell + kept * size, cell + row * size, size);
        if (column->validity)
            column->validity[kept / 8] = (uint8_t)((column->validity[kept / 8] & ~(1U << kept % 8)) | (unsigned)is_there
                                                                                                          << kept % 8);
        column->missing += !is_there;
        kept++;
    }
    if (column->validity) /* of cells to come it is set */
        for (size_t row = kept; row < column->count; row++)
            column->validity[row / 8] |= (uint8_t)(1U << row % 8);
    column->count = kept;
}

void gt_table_keep_rows(struct gt_table *table, const bool *is_wanted)
{
    for (size_t i = 0; table && !table->failed && i < table->columns; i++) {
        if (table->column[i].kind == GT_CELL_PLAIN_TEXT)
            keep_texts(&table->column[i], is_wanted);
        keep_cells(&table->column[i], is_wanted);
    }
}

bool gt_table_is_missing(const struct gt_table *table, size_t row, size_t column)
{
    const uint8_t *validity = table->column[column].validity;
    return validity && !(validity[row / 8] >> row % 8 & 1);
}

double gt_table_cell_number(const struct gt_table *table, size_t row, size_t number)
{
    const struct gt_table_column *column = &table->column[number];
    if (column->kind == GT_CELL_NUMBER)
        return column->number[row];
    bool is_known = column->kind == GT_CELL_INTEGER && !gt_table_is_missing(table, row, number);
    return is_known ? (double)column->integer[row] : NAN;
}

int64_t gt_table_cell_integer(const struct gt_table *table, size_t row, size_t number)
{
    const struct gt_table_column *column = &table->column[number];
    return column->kind == GT_CELL_INTEGER || column->kind == GT_CELL_TIME ? column->integer[row] : 0;
}

const char *gt_table_cell_bytes(const struct gt_table *table, size_t row, size_t number, size_t *ret_length)
{
    const struct gt_table_column *column = &table->column[number];
    if (!has_texts(column) || gt_table_is_missing(table, row, number))
        return NULL;
    size_t text = column->kind == GT_CELL_TEXT ? (size_t)column->choice[row] : row;
    *ret_length = (size_t)(column->begin[text + 1] - column->begin[text]);
    return column->text + column->begin[text];
}

const char *gt_table_cell_text(const struct gt_table *table, size_t row, size_t column, struct gt_buffer *buffer)
{
    size_t length;
    const char *bytes = gt_table_cell_bytes(table, row, column, &length);
    gt_buffer_clear(buffer);
    return bytes && gt_buffer_append(buffer, bytes, length) == 0 ? buffer->data : NULL;
}

/* ---- Arrow: schemas ---- */

enum { NULLABLE = 2 };

static const char *const formats[] = {[GT_CELL_NUMBER] = "g",
                                      [GT_CELL_INTEGER] = "l",
                                      [GT_CELL_PLAIN_TEXT] = "U",
                                      [GT_CELL_TEXT] = "i",
                                      [GT_CELL_TIME] = "tsn:UTC"};

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

/* ---- Arrow: arrays ---- */

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

/* ---- Arrow: streams ---- */

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
