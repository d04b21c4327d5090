#include "api/frame.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct column {
    char *name;
    enum gt_frame_kind kind;
    void *value; /* double or int64_t [capacity]; for texts their ends */
    size_t count, capacity;
    char *text;
    size_t length, text_capacity;
};

struct gt_frame {
    struct column *column;
    size_t count, next; /* the column of the next cell */
    bool failed;
};

struct gt_frame *gt_frame_new(void)
{
    return calloc(1, sizeof(struct gt_frame));
}

void gt_frame_free(struct gt_frame *frame)
{
    if (!frame)
        return;
    for (size_t i = 0; i < frame->count; i++) {
        free(frame->column[i].name);
        free(frame->column[i].value);
        free(frame->column[i].text);
    }
    free(frame->column);
    free(frame);
}

/* Room for `more` in an array that grows by doubling; NULL without memory. */
static void *grow(void *array, size_t count, size_t more, size_t *capacity, size_t size)
{
    if (count + more <= *capacity)
        return array;
    size_t wanted = *capacity ? *capacity * 2 : 64;
    while (wanted < count + more)
        wanted *= 2;
    void *grown = realloc(array, wanted * size);
    if (grown)
        *capacity = wanted;
    return grown;
}

void gt_frame_add_column(struct gt_frame *frame, const char *name, enum gt_frame_kind kind)
{
    if (!frame || frame->failed)
        return;
    struct column *columns = realloc(frame->column, (frame->count + 1) * sizeof *columns);
    char *copy = strdup(name);
    frame->failed = !columns || !copy;
    if (columns)
        frame->column = columns;
    if (frame->failed)
        free(copy);
    else
        columns[frame->count++] = (struct column){.name = copy, .kind = kind};
}

/* The place of the next cell, NULL without memory. */
static void *next_cell(struct gt_frame *frame, struct column **ret)
{
    if (!frame || frame->failed)
        return NULL;
    struct column *column = &frame->column[frame->next];
    frame->next = (frame->next + 1) % frame->count;
    void *value = grow(column->value, column->count, 1, &column->capacity, sizeof(int64_t));
    frame->failed = !value;
    if (!value)
        return NULL;
    column->value = value;
    *ret = column;
    return (int64_t *)value + column->count++;
}

void gt_frame_number(struct gt_frame *frame, double value)
{
    struct column *column;
    void *cell = next_cell(frame, &column);
    if (cell)
        memcpy(cell, &value, sizeof value);
}

void gt_frame_integer(struct gt_frame *frame, int64_t value)
{
    struct column *column;
    void *cell = next_cell(frame, &column);
    if (cell)
        memcpy(cell, &value, sizeof value);
}

void gt_frame_text(struct gt_frame *frame, const char *value)
{
    struct column *column;
    size_t length = strlen(value);
    int64_t *end = next_cell(frame, &column);
    if (!end)
        return;
    char *text = grow(column->text, column->length, length, &column->text_capacity, 1);
    frame->failed = !text && length;
    if (frame->failed)
        return;
    column->text = text;
    if (length)
        memcpy(text + column->length, value, length);
    column->length += length;
    *end = (int64_t)column->length;
}

void gt_frame_make_integer(struct gt_frame *frame, size_t column)
{
    if (!frame || frame->failed)
        return;
    struct column *numbers = &frame->column[column];
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
    numbers->kind = GT_FRAME_INTEGER;
}

int gt_frame_finish(struct gt_frame **ret, struct gt_frame *frame, const char *subject, struct gt_error *error)
{
    if (frame && !frame->failed) {
        *ret = frame;
        return 0;
    }
    gt_frame_free(frame);
    return gt_error_system(error, ENOMEM, "%s", subject);
}

size_t gt_frame_rows(const struct gt_frame *frame)
{
    return frame->count ? frame->column[0].count : 0;
}

size_t gt_frame_columns(const struct gt_frame *frame)
{
    return frame->count;
}

int gt_frame_column(const struct gt_frame *frame, size_t column, struct gt_frame_column *ret)
{
    if (column >= frame->count)
        return -ENOENT;
    const struct column *found = &frame->column[column];
    *ret = (struct gt_frame_column){.name = found->name, .kind = found->kind};
    switch (found->kind) {
    case GT_FRAME_NUMBER: ret->number = found->value; break;
    case GT_FRAME_INTEGER: ret->integer = found->value; break;
    case GT_FRAME_TEXT:
        ret->text = found->text;
        ret->text_end = found->value;
        break;
    }
    return 0;
}
