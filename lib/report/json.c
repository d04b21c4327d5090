/* JSON as Python's json.dumps(value, indent=1) writes it, at full precision. Missing values are null. */
#include <math.h>

#include "base/json_write.h"
#include "report/format.h"

static void put_cell(struct gt_json *json, const struct gt_node *table, size_t row, size_t column)
{
    if (gt_table_cell_missing(table, row, column)) {
        gt_json_null(json);
        return;
    }
    switch (gt_table_column_kind(table, column)) {
    case GT_CELL_NUMBER: gt_json_double(json, gt_table_cell_number(table, row, column)); break;
    case GT_CELL_INTEGER: gt_json_integer(json, gt_table_cell_integer(table, row, column)); break;
    case GT_CELL_TEXT: gt_json_text(json, gt_table_cell_text(table, row, column)); break;
    }
}

static void put_row(struct gt_json *json, const struct gt_node *table, size_t row, size_t first_column)
{
    gt_json_object_begin(json);
    for (size_t column = first_column; column < gt_table_columns(table); column++) {
        gt_json_key(json, gt_table_column_key(table, column));
        put_cell(json, table, row, column);
    }
    gt_json_object_end(json);
}

static void put_keyed_table(struct gt_json *json, const struct gt_node *table)
{
    gt_json_object_begin(json);
    for (size_t row = 0; row < gt_table_rows(table); row++) {
        const char *key = gt_table_cell_text(table, row, 0);
        gt_json_key(json, key ? key : "");
        put_row(json, table, row, 1);
    }
    gt_json_object_end(json);
}

static void put_table(struct gt_json *json, const struct gt_node *table)
{
    if (gt_node_flag_bits(table) & GT_KEYED) {
        put_keyed_table(json, table);
        return;
    }
    gt_json_array_begin(json);
    for (size_t row = 0; row < gt_table_rows(table); row++)
        put_row(json, table, row, 0);
    gt_json_array_end(json);
}

static void put_points(struct gt_json *json, const struct gt_node *series, size_t line)
{
    const struct gt_point *point;
    size_t count = gt_series_points(series, line, &point);
    gt_json_array_begin(json);
    for (size_t i = 0; i < count; i++) {
        gt_json_array_begin(json);
        gt_json_double(json, point[i].x);
        gt_json_double(json, point[i].y);
        gt_json_array_end(json);
    }
    gt_json_array_end(json);
}

static void put_bands(struct gt_json *json, const struct gt_node *series)
{
    const struct gt_band *band;
    size_t count = gt_series_bands(series, &band);
    gt_json_array_begin(json);
    for (size_t i = 0; i < count; i++) {
        gt_json_object_begin(json);
        gt_json_key(json, "name");
        gt_json_text(json, band[i].title);
        gt_json_key(json, "start");
        gt_json_double(json, band[i].from);
        gt_json_key(json, "stop");
        gt_json_double(json, band[i].to);
        gt_json_object_end(json);
    }
    gt_json_array_end(json);
}

static void put_series(struct gt_json *json, const struct gt_node *series)
{
    gt_json_object_begin(json);
    gt_json_key(json, "x_unit");
    gt_json_text(json, gt_series_x_unit(series));
    gt_json_key(json, "unit");
    gt_json_text(json, gt_node_unit(series));
    gt_json_key(json, "lines");
    gt_json_object_begin(json);
    for (size_t line = 0; line < gt_series_lines(series); line++) {
        gt_json_key(json, gt_series_line_key(series, line));
        put_points(json, series, line);
    }
    gt_json_object_end(json);
    gt_json_key(json, "bands");
    put_bands(json, series);
    gt_json_object_end(json);
}

static void put_value(struct gt_json *json, const struct gt_node *node);

static void put_section(struct gt_json *json, const struct gt_node *section)
{
    bool is_list = gt_node_flag_bits(section) & GT_LIST;
    if (is_list)
        gt_json_array_begin(json);
    else
        gt_json_object_begin(json);
    for (const struct gt_node *node = gt_node_child(section); node; node = gt_node_next(node)) {
        if (gt_node_flag_bits(node) & GT_ONLY_PEOPLE)
            continue;
        if (!is_list)
            gt_json_key(json, gt_node_key(node));
        put_value(json, node);
    }
    if (is_list)
        gt_json_array_end(json);
    else
        gt_json_object_end(json);
}

static void put_value(struct gt_json *json, const struct gt_node *node)
{
    switch (gt_node_kind(node)) {
    case GT_NODE_SECTION: put_section(json, node); break;
    case GT_NODE_NUMBER: gt_json_double(json, gt_node_number(node)); break;
    case GT_NODE_INTEGER: gt_json_integer(json, gt_node_integer(node)); break;
    case GT_NODE_TEXT: gt_json_text(json, gt_node_text(node)); break;
    case GT_NODE_BOOL: gt_json_bool(json, gt_node_bool(node)); break;
    case GT_NODE_TABLE: put_table(json, node); break;
    case GT_NODE_SERIES: put_series(json, node); break;
    }
}

static int write_json(const struct gt_report *report, struct gt_buffer *out, struct gt_error *error)
{
    (void)error;
    struct gt_json json;
    gt_json_init(&json, out, 1);
    put_value(&json, gt_report_top(report));
    gt_buffer_char(out, '\n');
    return 0;
}

const struct gt_format gt_format_json = {
    .name = "json",
    .help = "For programs: nested keys, full precision, every figure's provenance",
    .suffix = ".json",
    .write = write_json,
};
