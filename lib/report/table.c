#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "report/node.h"

struct gt_node *gt_report_table(struct gt_node *parent, const char *key, const char *title)
{
    return gt_node_add(parent, GT_NODE_TABLE, key, title, NULL);
}

void gt_table_release(struct gt_table *table)
{
    for (size_t i = 0; i < table->cells; i++)
        if (table->column[i % table->columns].kind == GT_CELL_TEXT)
            free(table->cell[i].text);
    for (size_t i = 0; i < table->columns; i++) {
        free(table->column[i].key);
        free(table->column[i].title);
        free(table->column[i].unit);
    }
    free(table->column);
    free(table->cell);
    free(table->mark);
}

int gt_table_column(struct gt_node *node, const char *key, const char *title, enum gt_cell_kind kind, const char *unit)
{
    if (!node)
        return -ENOMEM;
    struct gt_table *table = &node->table;
    if (table->cells)
        return -EINVAL;
    struct gt_table_column *column = GT_GROW_BY_ONE(table->column, table->columns);
    if (!column)
        return gt_node_fail(node);
    table->columns++;
    *column = (struct gt_table_column){strdup(key), strdup(title), strdup(unit ? unit : ""), kind};
    return column->key && column->title && column->unit ? 0 : gt_node_fail(node);
}

static int add_cell(struct gt_node *node, enum gt_cell_kind kind, union gt_cell cell, enum gt_cell_mark mark)
{
    struct gt_table *table = &node->table;
    if (!table->columns || table->column[table->cells % table->columns].kind != kind)
        return -EINVAL;
    size_t capacity = table->capacity; /* of both arrays */
    if (GT_GROW_TO(table->cell, capacity, table->cells + 1) < 0 ||
        GT_GROW_TO(table->mark, table->capacity, table->cells + 1) < 0)
        return gt_node_fail(node);
    table->mark[table->cells] = (uint8_t)mark;
    table->cell[table->cells++] = cell;
    return 0;
}

/* The kind of the next cell: a missing value fits any column. */
static enum gt_cell_kind due_kind(const struct gt_table *table)
{
    return table->columns ? table->column[table->cells % table->columns].kind : GT_CELL_NUMBER;
}

static int add_missing(struct gt_node *node, enum gt_cell_mark mark)
{
    return add_cell(node, due_kind(&node->table), (union gt_cell){.text = NULL}, mark);
}

int gt_table_number(struct gt_node *node, double value)
{
    if (!node)
        return -ENOMEM;
    if (isnan(value))
        return add_missing(node, GT_CELL_MISSING);
    return add_cell(node, GT_CELL_NUMBER, (union gt_cell){.number = value}, GT_CELL_PRESENT);
}

int gt_table_original_zero(struct gt_node *node)
{
    return node ? add_missing(node, GT_CELL_ORIGINAL_ZERO) : -ENOMEM;
}

int gt_table_integer(struct gt_node *node, int64_t value)
{
    return node ? add_cell(node, GT_CELL_INTEGER, (union gt_cell){.integer = value}, GT_CELL_PRESENT) : -ENOMEM;
}

int gt_table_text(struct gt_node *node, const char *value)
{
    if (!node)
        return -ENOMEM;
    if (!value)
        return add_missing(node, GT_CELL_MISSING);
    char *copy = strdup(value);
    if (!copy)
        return gt_node_fail(node);
    int status = add_cell(node, GT_CELL_TEXT, (union gt_cell){.text = copy}, GT_CELL_PRESENT);
    if (status < 0)
        free(copy);
    return status;
}

size_t gt_table_columns(const struct gt_node *node)
{
    return node->table.columns;
}

size_t gt_table_rows(const struct gt_node *node)
{
    return node->table.columns ? node->table.cells / node->table.columns : 0;
}

const char *gt_table_column_key(const struct gt_node *node, size_t column)
{
    return node->table.column[column].key;
}

const char *gt_table_column_title(const struct gt_node *node, size_t column)
{
    return node->table.column[column].title;
}

const char *gt_table_column_unit(const struct gt_node *node, size_t column)
{
    return node->table.column[column].unit;
}

enum gt_cell_kind gt_table_column_kind(const struct gt_node *node, size_t column)
{
    return node->table.column[column].kind;
}

bool gt_table_cell_missing(const struct gt_node *node, size_t row, size_t column)
{
    return node->table.mark[row * node->table.columns + column] != GT_CELL_PRESENT;
}

double gt_table_cell_number(const struct gt_node *node, size_t row, size_t column)
{
    const struct gt_table *table = &node->table;
    size_t i = row * table->columns + column;
    if (table->mark[i] != GT_CELL_PRESENT || table->column[column].kind == GT_CELL_TEXT)
        return NAN;
    return table->column[column].kind == GT_CELL_NUMBER ? table->cell[i].number : (double)table->cell[i].integer;
}

int64_t gt_table_cell_integer(const struct gt_node *node, size_t row, size_t column)
{
    const struct gt_table *table = &node->table;
    size_t i = row * table->columns + column;
    bool missing = table->mark[i] != GT_CELL_PRESENT;
    return missing || table->column[column].kind != GT_CELL_INTEGER ? 0 : table->cell[i].integer;
}

double gt_table_cell_original(const struct gt_node *node, size_t row, size_t column)
{
    bool is_zero = node->table.mark[row * node->table.columns + column] == GT_CELL_ORIGINAL_ZERO;
    return is_zero ? 0.0 : gt_table_cell_number(node, row, column);
}

const char *gt_table_cell_text(const struct gt_node *node, size_t row, size_t column)
{
    const struct gt_table *table = &node->table;
    return table->column[column].kind == GT_CELL_TEXT ? table->cell[row * table->columns + column].text : NULL;
}
