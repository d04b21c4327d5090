#include "base/dataset.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"

struct column {
    char *name;
    enum gt_dataset_kind kind;
    void *value; /* double or int64_t [capacity], int32_t for choices; for texts their ends */
    size_t count, capacity;
    char *text;
    size_t length, text_capacity;
    int64_t *end; /* of a choice's texts */
    size_t choices, end_capacity;
    int32_t *choice_of_key; /* + 1; 0: the key is new */
    size_t keys;
};

struct gt_dataset {
    struct column *column;
    size_t count, next; /* the column of the next cell */
    bool failed;
};

struct gt_dataset *gt_dataset_new(void)
{
    return calloc(1, sizeof(struct gt_dataset));
}

void gt_dataset_free(struct gt_dataset *dataset)
{
    if (!dataset)
        return;
    for (size_t i = 0; i < dataset->count; i++) {
        free(dataset->column[i].name);
        free(dataset->column[i].value);
        free(dataset->column[i].text);
        free(dataset->column[i].end);
        free(dataset->column[i].choice_of_key);
    }
    free(dataset->column);
    free(dataset);
}

/* Room for `more`; NULL without memory. */
static void *grow(void *array, size_t count, size_t more, size_t *capacity, size_t size)
{
    return gt_grow_to(&array, capacity, count + more, size) < 0 ? NULL : array;
}

void gt_dataset_add_column(struct gt_dataset *dataset, const char *name, enum gt_dataset_kind kind)
{
    if (!dataset || dataset->failed)
        return;
    struct column *column = GT_GROW_BY_ONE(dataset->column, dataset->count);
    char *copy = strdup(name);
    dataset->failed = !column || !copy;
    if (dataset->failed) {
        free(copy);
        return;
    }
    *column = (struct column){.name = copy, .kind = kind};
    dataset->count++;
}

void gt_dataset_add_columns(struct gt_dataset *dataset, const struct gt_column_kind *columns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        gt_dataset_add_column(dataset, columns[i].name, columns[i].kind);
}

/* The place of the next cell, NULL without memory. */
static void *next_cell(struct gt_dataset *dataset, struct column **ret)
{
    if (!dataset || dataset->failed)
        return NULL;
    struct column *column = &dataset->column[dataset->next];
    dataset->next = (dataset->next + 1) % dataset->count;
    size_t size = column->kind == GT_DATASET_CHOICE ? sizeof(int32_t) : sizeof(int64_t);
    char *value = grow(column->value, column->count, 1, &column->capacity, size);
    dataset->failed = !value;
    if (!value)
        return NULL;
    column->value = value;
    *ret = column;
    return value + size * column->count++;
}

void gt_dataset_number(struct gt_dataset *dataset, double value)
{
    struct column *column;
    void *cell = next_cell(dataset, &column);
    if (cell)
        memcpy(cell, &value, sizeof value);
}

void gt_dataset_integer(struct gt_dataset *dataset, int64_t value)
{
    struct column *column;
    void *cell = next_cell(dataset, &column);
    if (cell)
        memcpy(cell, &value, sizeof value);
}

void gt_dataset_time(struct gt_dataset *dataset, int64_t value)
{
    gt_dataset_integer(dataset, value);
}

/* Where the text ends, or -1 without memory. */
static int64_t append_text(struct gt_dataset *dataset, struct column *column, const char *value)
{
    size_t length = strlen(value);
    char *text = grow(column->text, column->length, length, &column->text_capacity, 1);
    dataset->failed = !text && length;
    if (dataset->failed)
        return -1;
    column->text = text;
    if (length)
        memcpy(text + column->length, value, length);
    column->length += length;
    return (int64_t)column->length;
}

void gt_dataset_text(struct gt_dataset *dataset, const char *value)
{
    struct column *column;
    int64_t *end = next_cell(dataset, &column);
    if (end)
        *end = append_text(dataset, column, value);
}

/* Number of the text that a key stands for, from 0; -1 without memory. */
static int32_t choice_of(struct gt_dataset *dataset, struct column *column, uint32_t key, const char *value)
{
    if (key >= column->keys) {
        size_t keys = column->keys;
        int32_t *grown = grow(column->choice_of_key, keys, key + (size_t)1 - keys, &column->keys, sizeof *grown);
        dataset->failed = !grown;
        if (!grown)
            return -1;
        memset(grown + keys, 0, (column->keys - keys) * sizeof *grown);
        column->choice_of_key = grown;
    }
    if (!column->choice_of_key[key]) {
        int64_t *ends = grow(column->end, column->choices, 1, &column->end_capacity, sizeof *ends);
        dataset->failed = !ends;
        if (!ends)
            return -1;
        column->end = ends;
        ends[column->choices++] = append_text(dataset, column, value);
        column->choice_of_key[key] = (int32_t)column->choices;
    }
    return column->choice_of_key[key] - 1;
}

void gt_dataset_choice(struct gt_dataset *dataset, uint32_t key, const char *value)
{
    struct column *column;
    int32_t *cell = next_cell(dataset, &column);
    if (cell)
        *cell = key == UINT32_MAX ? -1 : choice_of(dataset, column, key, value);
}

void gt_dataset_make_integer(struct gt_dataset *dataset, size_t column)
{
    if (!dataset || dataset->failed)
        return;
    struct column *numbers = &dataset->column[column];
    for (size_t i = 0; i < numbers->count; i++) {
        double value;
        memcpy(&value, (int64_t *)numbers->value + i, sizeof value);
        if (isnan(value) || value != floor(value) || fabs(value) > 9e15)
            return;
    }
    for (size_t i = 0; i < numbers->count; i++) {
        double value;
        memcpy(&value, (int64_t *)numbers->value + i, sizeof value);
        ((int64_t *)numbers->value)[i] = (int64_t)value;
    }
    numbers->kind = GT_DATASET_INTEGER;
}

/* What was grown for more. */
static void trim(struct column *column)
{
    size_t size = column->kind == GT_DATASET_CHOICE ? sizeof(int32_t) : sizeof(int64_t);
    void *value = column->count ? realloc(column->value, column->count * size) : NULL;
    column->value = value ? value : column->value;
}

int gt_dataset_finish(struct gt_dataset **ret, struct gt_dataset *dataset, const char *subject, struct gt_error *error)
{
    if (dataset && !dataset->failed) {
        for (size_t i = 0; i < dataset->count; i++)
            trim(&dataset->column[i]);
        *ret = dataset;
        return 0;
    }
    gt_dataset_free(dataset);
    return gt_error_system(error, ENOMEM, "%s", subject);
}

int gt_dataset_finish_columns(struct gt_dataset **ret, struct gt_dataset *dataset, const struct gt_column_kind *columns,
                              size_t count, const char *subject, struct gt_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (columns[i].kind == GT_DATASET_NUMBER && columns[i].whole)
            gt_dataset_make_integer(dataset, i);
    return gt_dataset_finish(ret, dataset, subject, error);
}

size_t gt_dataset_rows(const struct gt_dataset *dataset)
{
    return dataset->count ? dataset->column[0].count : 0;
}

size_t gt_dataset_columns(const struct gt_dataset *dataset)
{
    return dataset->count;
}

int gt_dataset_column(const struct gt_dataset *dataset, size_t column, struct gt_dataset_column *ret)
{
    if (column >= dataset->count)
        return -ENOENT;
    const struct column *found = &dataset->column[column];
    *ret = (struct gt_dataset_column){.name = found->name, .kind = found->kind};
    switch (found->kind) {
    case GT_DATASET_NUMBER: ret->number = found->value; break;
    case GT_DATASET_TIME:
    case GT_DATASET_INTEGER: ret->integer = found->value; break;
    case GT_DATASET_CHOICE:
        ret->choice = found->value;
        ret->choices = found->choices;
        ret->text = found->text;
        ret->text_end = found->end;
        break;
    case GT_DATASET_TEXT:
        ret->text = found->text;
        ret->text_end = found->value;
        break;
    }
    return 0;
}
