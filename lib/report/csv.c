/* CSV: a report that is one table is that table; any other is one line per figure, "key,value,unit", with the keys of
 * the JSON format joined by points. Missing values are empty. Joined reports that are one table each, with the same first
 * column, are one table with the column "recording" in front, and with the columns of all. Texts do not run as formulas in
 * spreadsheets: see base/csv.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/grow.h"
#include "base/number.h"
#include "report/format.h"

#define RECORDING "recording" /* the key that tells joined reports apart */

static void put_number(struct gt_buffer *out, double value)
{
    char text[GT_NUMBER_SIZE];
    if (isfinite(value))
        gt_buffer_append(out, text, gt_number_repr(text, value));
}

static void put_text(struct gt_buffer *out, const char *text)
{
    if (text)
        gt_csv_field_for_people(out, text);
}

static void put_cell(struct gt_buffer *out, const struct gt_table *table, size_t row, size_t column)
{
    struct gt_buffer text = {0};
    if (gt_table_is_missing(table, row, column) || gt_table_cell_is_absent(table, row, column))
        return;
    switch (table->column[column].kind) {
    case GT_CELL_NUMBER: put_number(out, gt_table_cell_number(table, row, column)); break;
    case GT_CELL_INTEGER: gt_buffer_printf(out, "%lld", (long long)gt_table_cell_integer(table, row, column)); break;
    default: put_text(out, gt_table_cell_text(table, row, column, &text));
    }
    out->failed = out->failed ? out->failed : text.failed;
    gt_buffer_release(&text);
}

/* Row 0 is the header. */
static void put_rows(struct gt_buffer *out, const struct gt_table *table)
{
    for (size_t row = 0; row <= gt_table_rows(table); row++) {
        const char *comma = "";
        for (size_t column = 0; column < table->columns; column++) {
            if (!gt_table_has_column_for(table, column, GT_ONLY_DATA))
                continue;
            gt_buffer_text(out, comma);
            if (row == 0)
                gt_csv_field_for_people(out, table->column[column].key);
            else
                put_cell(out, table, row - 1, column);
            comma = ",";
        }
        gt_buffer_char(out, '\n');
    }
}

/* Lengthen the key by one part; the result is the length to go back to. */
static size_t push(struct gt_buffer *key, const char *part)
{
    size_t before = key->length;
    if (before)
        gt_buffer_char(key, '.');
    gt_buffer_text(key, part);
    return before;
}

static size_t push_index(struct gt_buffer *key, size_t index)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", index);
    return push(key, text);
}

static void pop(struct gt_buffer *key, size_t before)
{
    if (key->failed)
        return;
    key->length = before;
    key->data[before] = '\0';
}

static void begin_line(struct gt_buffer *out, const struct gt_buffer *key)
{
    if (key->failed)
        out->failed = key->failed;
    gt_csv_field_for_people(out, key->data ? key->data : "");
    gt_buffer_char(out, ',');
}

static void end_line(struct gt_buffer *out, const char *unit)
{
    gt_buffer_char(out, ',');
    gt_csv_field_for_people(out, unit);
    gt_buffer_char(out, '\n');
}

static void put_table(struct gt_buffer *out, const struct gt_table *table, struct gt_buffer *key)
{
    struct gt_buffer name = {0};
    bool keyed = table->flags & GT_KEYED;
    for (size_t row = 0; row < gt_table_rows(table); row++) {
        const char *row_name = keyed ? gt_table_cell_text(table, row, 0, &name) : NULL;
        size_t before = keyed ? push(key, row_name ? row_name : "") : push_index(key, row);
        for (size_t column = keyed; column < table->columns; column++) {
            if (!gt_table_has_column_for(table, column, GT_ONLY_DATA))
                continue;
            size_t row_key = push(key, table->column[column].key);
            begin_line(out, key);
            put_cell(out, table, row, column);
            end_line(out, table->column[column].unit);
            pop(key, row_key);
        }
        pop(key, before);
    }
    gt_buffer_release(&name);
}

static void put_coordinate(struct gt_buffer *out, struct gt_buffer *key, const char *name, double value,
                           const char *unit)
{
    size_t before = push(key, name);
    begin_line(out, key);
    put_number(out, value);
    end_line(out, unit);
    pop(key, before);
}

static void put_series(struct gt_buffer *out, const struct gt_node *series, struct gt_buffer *key)
{
    for (size_t line = 0; line < series->series.lines; line++) {
        const struct gt_series_line *of = &series->series.line[line];
        size_t before = push(key, series->series.line[line].key);
        for (size_t i = 0; i < of->points; i++) {
            size_t line_key = push_index(key, i);
            put_coordinate(out, key, "x", of->point[i].x, series->series.x_unit);
            put_coordinate(out, key, "y", of->point[i].y, series->unit);
            pop(key, line_key);
        }
        pop(key, before);
    }
}

static void put_field(struct gt_buffer *out, const struct gt_node *field, struct gt_buffer *key)
{
    begin_line(out, key);
    switch (field->kind) {
    case GT_NODE_NUMBER: put_number(out, gt_node_is_absent(field) ? NAN : gt_node_number(field)); break;
    case GT_NODE_INTEGER: gt_buffer_printf(out, "%lld", (long long)field->integer); break;
    case GT_NODE_TEXT: gt_csv_field_for_people(out, gt_node_text(field) ? gt_node_text(field) : ""); break;
    case GT_NODE_BOOL: gt_buffer_text(out, field->boolean ? "true" : "false"); break;
    default: break;
    }
    end_line(out, field->unit);
}

static void put_section(struct gt_buffer *out, const struct gt_node *section, struct gt_buffer *key)
{
    size_t index = 0;
    for (const struct gt_node *node = section->first; node; node = node->next) {
        if (gt_node_flag_bits(node) & GT_ONLY_PEOPLE)
            continue;
        bool in_list = gt_node_flag_bits(section) & GT_LIST;
        size_t before = in_list ? push_index(key, index++) : push(key, node->key);
        switch (node->kind) {
        case GT_NODE_SECTION: put_section(out, node, key); break;
        case GT_NODE_TABLE: put_table(out, gt_node_table(node), key); break;
        case GT_NODE_SERIES: put_series(out, node, key); break;
        default: put_field(out, node, key);
        }
        pop(key, before);
    }
}

/* The table that is all that the section holds, besides what has the key `besides`, or NULL. */
static const struct gt_table *only_table(const struct gt_node *section, const char *besides)
{
    const struct gt_table *table = NULL;
    for (const struct gt_node *node = section->first; node; node = node->next) {
        if (gt_node_flag_bits(node) & GT_ONLY_PEOPLE || strcmp(node->key, besides) == 0)
            continue;
        if (table || node->kind != GT_NODE_TABLE)
            return NULL;
        table = gt_node_table(node);
    }
    return table;
}

static int write_csv(const struct gt_report *report, struct gt_buffer *out, struct gt_error *error)
{
    (void)error;
    const struct gt_node *root = &report->root;
    const struct gt_table *table = only_table(root, "");
    if (table) {
        put_rows(out, table);
        return 0;
    }
    struct gt_buffer key = {0};
    gt_buffer_text(out, "key,value,unit\n");
    put_section(out, root, &key);
    gt_buffer_release(&key);
    return 0;
}

const struct gt_format gt_format_csv = {
    .name = "csv",
    .help = "For spreadsheets: the table, or one line for each figure",
    .suffix = ".csv",
    .write = write_csv,
};
