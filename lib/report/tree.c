#include "report/tree.h"

#include <math.h>

static const unsigned HIDDEN = GT_ONLY_PEOPLE;

struct walk {
    const struct gt_tree_sink *sink;
    void *context;
    struct gt_buffer *text; /* of a cell */
};

static void walk_node(const struct walk *walk, const struct gt_node *node);

static void walk_cell(const struct walk *walk, const struct gt_table *table, size_t row, size_t column)
{
    enum gt_cell_kind kind = table->column[column].kind;
    if (kind == GT_CELL_TEXT)
        walk->sink->text(walk->context, gt_table_cell_text(table, row, column, walk->text));
    else if (kind == GT_CELL_INTEGER && !gt_table_is_missing(table, row, column))
        walk->sink->integer(walk->context, gt_table_cell_integer(table, row, column));
    else
        walk->sink->number(walk->context, gt_table_cell_number(table, row, column));
}

static void walk_row(const struct walk *walk, const struct gt_table *table, size_t row, size_t first_column)
{
    walk->sink->object_begin(walk->context);
    for (size_t column = first_column; column < table->columns; column++) {
        if (!gt_table_has_column_for(table, column, GT_ONLY_DATA))
            continue;
        walk->sink->key(walk->context, table->column[column].key);
        walk_cell(walk, table, row, column);
    }
    walk->sink->object_end(walk->context);
}

static void walk_keyed_table(const struct walk *walk, const struct gt_table *table)
{
    walk->sink->object_begin(walk->context);
    for (size_t row = 0; row < gt_table_rows(table); row++) {
        const char *key = gt_table_cell_text(table, row, 0, walk->text);
        walk->sink->key(walk->context, key ? key : "");
        walk_row(walk, table, row, 1);
    }
    walk->sink->object_end(walk->context);
}

static void walk_table(const struct walk *walk, const struct gt_table *table)
{
    if (table->flags & GT_KEYED) {
        walk_keyed_table(walk, table);
        return;
    }
    walk->sink->list_begin(walk->context);
    for (size_t row = 0; row < gt_table_rows(table); row++)
        walk_row(walk, table, row, 0);
    walk->sink->list_end(walk->context);
}

static void walk_points(const struct walk *walk, const struct gt_node *series, size_t line)
{
    const struct gt_point *point;
    size_t count = gt_series_points(series, line, &point);
    walk->sink->list_begin(walk->context);
    for (size_t i = 0; i < count; i++) {
        walk->sink->list_begin(walk->context);
        walk->sink->number(walk->context, point[i].x);
        walk->sink->number(walk->context, point[i].y);
        walk->sink->list_end(walk->context);
    }
    walk->sink->list_end(walk->context);
}

static void walk_bands(const struct walk *walk, const struct gt_node *series)
{
    const struct gt_band *band;
    size_t count = gt_series_bands(series, &band);
    walk->sink->list_begin(walk->context);
    for (size_t i = 0; i < count; i++) {
        walk->sink->object_begin(walk->context);
        walk->sink->key(walk->context, "name");
        walk->sink->text(walk->context, band[i].title);
        walk->sink->key(walk->context, "start");
        walk->sink->number(walk->context, band[i].from);
        walk->sink->key(walk->context, "stop");
        walk->sink->number(walk->context, band[i].to);
        walk->sink->object_end(walk->context);
    }
    walk->sink->list_end(walk->context);
}

static void walk_series(const struct walk *walk, const struct gt_node *series)
{
    walk->sink->object_begin(walk->context);
    walk->sink->key(walk->context, "x_unit");
    walk->sink->text(walk->context, gt_series_x_unit(series));
    walk->sink->key(walk->context, "unit");
    walk->sink->text(walk->context, gt_node_unit(series));
    walk->sink->key(walk->context, "lines");
    walk->sink->object_begin(walk->context);
    for (size_t line = 0; line < gt_series_lines(series); line++) {
        walk->sink->key(walk->context, gt_series_line_key(series, line));
        walk_points(walk, series, line);
    }
    walk->sink->object_end(walk->context);
    walk->sink->key(walk->context, "bands");
    walk_bands(walk, series);
    walk->sink->object_end(walk->context);
}

static void walk_section(const struct walk *walk, const struct gt_node *section)
{
    bool is_list = gt_node_flag_bits(section) & GT_LIST;
    (is_list ? walk->sink->list_begin : walk->sink->object_begin)(walk->context);
    for (const struct gt_node *node = gt_node_visible(gt_node_child(section), HIDDEN); node;
         node = gt_node_visible(gt_node_next(node), HIDDEN)) {
        if (!is_list)
            walk->sink->key(walk->context, gt_node_key(node));
        walk_node(walk, node);
    }
    (is_list ? walk->sink->list_end : walk->sink->object_end)(walk->context);
}

static void walk_node(const struct walk *walk, const struct gt_node *node)
{
    switch (gt_node_kind(node)) {
    case GT_NODE_SECTION: walk_section(walk, node); break;
    case GT_NODE_TABLE: walk_table(walk, gt_node_table(node)); break;
    case GT_NODE_SERIES: walk_series(walk, node); break;
    case GT_NODE_NUMBER: walk->sink->number(walk->context, gt_node_number(node)); break;
    case GT_NODE_INTEGER: walk->sink->integer(walk->context, gt_node_integer(node)); break;
    case GT_NODE_TEXT: walk->sink->text(walk->context, gt_node_text(node)); break;
    case GT_NODE_BOOL: walk->sink->boolean(walk->context, gt_node_bool(node)); break;
    }
}

int gt_tree_walk(const struct gt_node *node, const struct gt_tree_sink *sink, void *context)
{
    struct gt_buffer text = {0};
    walk_node(&(struct walk){sink, context, &text}, node);
    int status = text.failed;
    gt_buffer_release(&text);
    return status;
}
