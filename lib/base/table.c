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
