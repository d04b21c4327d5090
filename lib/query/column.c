#include "query/column.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

/* ---- The query ---------------------------------------------------------------------------------------------------- */

enum { BLOCK = 1 << 16 };

struct block {
    struct block *next;
    size_t used, size;
    _Alignas(16) char byte[];
};

struct gt_query {
    struct block *blocks; /* the first has room left */
    int status;
    char problem[200]; /* what the first failure was, or empty */
    struct kept {
        void *object;
        void (*release)(void *object);
    } kept[GT_QUERY_KEPT];
};

struct gt_query *gt_query_new(void)
{
    return calloc(1, sizeof(struct gt_query));
}

void gt_query_keep(struct gt_query *query, int place, void *object, void (*release)(void *object))
{
    query->kept[place] = (struct kept){object, release};
}

void *gt_query_kept(const struct gt_query *query, int place)
{
    return query->kept[place].object;
}

void gt_query_free(struct gt_query *query)
{
    for (int i = 0; query && i < GT_QUERY_KEPT; i++)
        if (query->kept[i].release)
            query->kept[i].release(query->kept[i].object);
    for (struct block *block = query ? query->blocks : NULL, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(query);
}

int gt_query_status(const struct gt_query *query)
{
    return query->status;
}

void gt_query_fail(struct gt_query *query, int status)
{
    query->status = query->status ? query->status : status;
}

const char *gt_query_problem(const struct gt_query *query)
{
    return *query->problem ? query->problem : NULL;
}

/* Fails the query because of a column, and says so. */
__attribute__((format(printf, 2, 3))) static void fail(struct gt_query *query, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!query->status)
        vsnprintf(query->problem, sizeof query->problem, format, arguments);
    va_end(arguments);
    gt_query_fail(query, -EINVAL);
}

static struct block *add_block(struct gt_query *query, size_t size)
{
    struct block *block = malloc(sizeof *block + size), *first = query->blocks;
    if (!block)
        return NULL;
    *block = (struct block){.size = size};
    if (first && size > BLOCK) { /* a large piece has a block of its own, behind the one that has room */
        block->next = first->next;
        first->next = block;
    } else {
        block->next = first;
        query->blocks = block;
    }
    return block;
}

static void *allocate(struct gt_query *query, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2) {
        gt_query_fail(query, -ENOMEM);
        return NULL;
    }
    bytes = bytes < 16 ? 16 : (bytes + 15) & ~(size_t)15;
    struct block *block = query->blocks;
    if (!block || block->size - block->used < bytes)
        block = add_block(query, bytes > BLOCK ? bytes : BLOCK);
    if (!block) {
        gt_query_fail(query, -ENOMEM);
        return NULL;
    }
    void *ret = block->byte + block->used;
    block->used += bytes;
    return ret;
}

void *gt_query_memory(struct gt_query *query, size_t count, size_t size)
{
    return query->status ? NULL : allocate(query, count, size);
}

void *gt_query_zeros(struct gt_query *query, size_t count, size_t size)
{
    void *memory = gt_query_memory(query, count, size);
    return memory ? memset(memory, 0, count * size) : NULL;
}

const char *gt_query_text(struct gt_query *query, const char *text)
{
    char *copy = text ? gt_query_memory(query, strlen(text) + 1, 1) : NULL;
    if (!text)
        gt_query_fail(query, -ENOMEM);
    return copy ? strcpy(copy, text) : "";
}

/* ---- Columns ------------------------------------------------------------------------------------------------------ */

/* Cells of rows that have failed, which are none. */
static int64_t no_cell[2];

size_t gt_rows_width(enum gt_rows_type type)
{
    return type == GT_KEY ? sizeof(uint32_t) : sizeof(int64_t);
}

/* The next name of a list, as its begin and length. Returns NULL behind the last one. */
const char *gt_rows_next_name(const char **list, size_t *length)
{
    const char *name = *list + strspn(*list, " ");
    *length = strcspn(name, " ");
    *list = name + *length;
    return *length ? name : NULL;
}

struct gt_rows_column *gt_rows_find_of(const struct gt_rows *rows, const char *name, size_t length)
{
    for (int i = 0; i < rows->columns; i++)
        if (strncmp(rows->column[i].name, name, length) == 0 && !rows->column[i].name[length])
            return (struct gt_rows_column *)&rows->column[i];
    return NULL;
}

/* A column in place of one that is not there: 0 in every row, since some caller may count rows by another table. */
static const struct gt_rows_column *add_substitute(const struct gt_rows *rows, enum gt_rows_type type)
{
    static const struct gt_rows_column none = {.name = "", .cell = no_cell};
    struct gt_rows_column *column = allocate(rows->query, 1, sizeof *column);
    void *cell = allocate(rows->query, rows->count, sizeof(int64_t));
    if (!column || !cell)
        return &none;
    *column = (struct gt_rows_column){.name = "", .type = type, .cell = memset(cell, 0, rows->count * sizeof(int64_t))};
    return column;
}

const struct gt_rows_column *gt_rows_need(const struct gt_rows *rows, const char *operator, const char * name,
                                          size_t length)
{
    const struct gt_rows_column *found = gt_rows_find_of(rows, name, length);
    if (!found)
        fail(rows->query, "%s: no column '%.*s'", operator,(int) length, name);
    return found ? found : add_substitute(rows, GT_KEY);
}

const struct gt_rows_column *gt_rows_find(const struct gt_rows *rows, const char *name)
{
    return gt_rows_find_of(rows, name, strlen(name));
}

struct gt_rows gt_rows_new(struct gt_query *query, size_t count)
{
    return (struct gt_rows){.query = query, .count = query->status ? 0 : count};
}

/* A column without cells. */
static struct gt_rows_column *append(struct gt_rows *rows, const char *name, size_t length, enum gt_rows_type type)
{
    char *copy = gt_query_memory(rows->query, length + 1, 1);
    if (rows->columns == GT_COLUMNS)
        fail(rows->query, "column '%.*s' is more than %d", (int)length, name, GT_COLUMNS);
    if (!copy || rows->columns == GT_COLUMNS)
        rows->count = 0;
    struct gt_rows_column *column = &rows->column[rows->columns < GT_COLUMNS ? rows->columns++ : GT_COLUMNS - 1];
    *column = (struct gt_rows_column){.name = "", .type = type, .cell = no_cell};
    if (copy) {
        memcpy(copy, name, length);
        copy[length] = '\0';
        column->name = copy;
    }
    return column;
}

struct gt_rows_column *gt_rows_add(struct gt_rows *rows, const char *name, size_t length, enum gt_rows_type type)
{
    struct gt_rows_column *column = append(rows, name, length, type);
    void *cell = gt_query_memory(rows->query, rows->count, gt_rows_width(type));
    if (cell)
        column->cell = cell;
    else
        rows->count = 0;
    return column;
}

static struct gt_rows_column *add_empty(struct gt_rows *rows, const char *name, enum gt_rows_type type)
{
    struct gt_rows_column *column = gt_rows_add(rows, name, strlen(name), type);
    memset(column->cell, 0, rows->count * gt_rows_width(type));
    return column;
}

uint32_t *gt_rows_add_keys(struct gt_rows *rows, const char *name, const char *const *words)
{
    struct gt_rows_column *column = add_empty(rows, name, GT_KEY);
    column->words = words;
    return column->key;
}

int64_t *gt_rows_add_wholes(struct gt_rows *rows, const char *name)
{
    return add_empty(rows, name, GT_WHOLE)->whole;
}

double *gt_rows_add_reals(struct gt_rows *rows, const char *name)
{
    return add_empty(rows, name, GT_REAL)->real;
}

struct gt_rows gt_rows_of_records(struct gt_query *query, const void *array, size_t count, size_t size,
                                  const struct gt_rows_field *fields)
{
    struct gt_rows rows = gt_rows_new(query, count);
    for (; fields->name; fields++) {
        struct gt_rows_column *column = gt_rows_add(&rows, fields->name, strlen(fields->name), fields->type);
        size_t width = gt_rows_width(fields->type);
        for (size_t i = 0; i < rows.count; i++)
            memcpy((char *)column->cell + i * width, (const char *)array + i * size + fields->offset, width);
    }
    return rows;
}

/* Cells of a column. Rows are no constants, whoever asks: without this column they become none. */
static void *cells(const struct gt_rows *rows, const char *operator, const char * name, enum gt_rows_type type)
{
    const struct gt_rows_column *column = gt_rows_need(rows, operator, name, strlen(name));
    if (column->type != type) {
        fail(rows->query, "%s: column '%s' is of another type", operator, name);
        column = add_substitute(rows, type);
    }
    if (rows->query->status)
        ((struct gt_rows *)(uintptr_t)rows)->count = 0;
    return column->cell;
}

uint32_t *gt_rows_keys(const struct gt_rows *rows, const char *name)
{
    return cells(rows, __func__, name, GT_KEY);
}

int64_t *gt_rows_wholes(const struct gt_rows *rows, const char *name)
{
    return cells(rows, __func__, name, GT_WHOLE);
}

double *gt_rows_reals(const struct gt_rows *rows, const char *name)
{
    return cells(rows, __func__, name, GT_REAL);
}

void gt_rows_rename(struct gt_rows *rows, const char *name, const char *new_name)
{
    struct gt_rows_column *column = gt_rows_find_of(rows, name, strlen(name));
    struct gt_rows named = {.query = rows->query};
    if (!column)
        fail(rows->query, "%s: no column '%s'", __func__, name);
    else
        column->name = append(&named, new_name, strlen(new_name), column->type)->name;
}

double gt_rows_number(const struct gt_rows_column *column, size_t row)
{
    switch (column->type) {
    case GT_KEY: return column->key[row] == GT_NO_KEY ? NAN : column->key[row];
    case GT_WHOLE: return column->whole[row] == GT_NO_WHOLE ? NAN : (double)column->whole[row];
    case GT_REAL: return column->real[row];
    }
    return NAN;
}

bool gt_rows_is_missing(const struct gt_rows_column *column, size_t row)
{
    return column->type == GT_KEY     ? column->key[row] == GT_NO_KEY
           : column->type == GT_WHOLE ? column->whole[row] == GT_NO_WHOLE
                                      : isnan(column->real[row]);
}

/* NaN: missing. */
void gt_rows_set(struct gt_rows_column *column, size_t row, double value)
{
    if (column->type == GT_KEY)
        column->key[row] = isnan(value) ? GT_NO_KEY : (uint32_t)value;
    else if (column->type == GT_WHOLE)
        column->whole[row] = isnan(value) ? GT_NO_WHOLE : (int64_t)value;
    else
        column->real[row] = value;
}

void gt_rows_copy(struct gt_rows_column *to, size_t row, const struct gt_rows_column *from, size_t other)
{
    if (from->type == GT_KEY)
        to->key[row] = from->key[other];
    else
        to->whole[row] = from->whole[other]; /* the bits of a real number, too */
}

/* The columns of a list; their number. */
int gt_rows_list(const struct gt_rows *rows, const char *operator, const char * list,
                 const struct gt_rows_column *ret[GT_COLUMNS])
{
    int count = 0;
    size_t length;
    for (const char *name; count < GT_COLUMNS && (name = gt_rows_next_name(&list, &length));)
        ret[count++] = gt_rows_need(rows, operator, name, length);
    return count;
}
