#include "report/tree.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/utf8.h"

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
    const struct gt_series_line *of = &series->series.line[line];
    walk->sink->list_begin(walk->context);
    for (size_t i = 0; i < of->points; i++) {
        walk->sink->list_begin(walk->context);
        walk->sink->number(walk->context, of->point[i].x);
        walk->sink->number(walk->context, of->point[i].y);
        walk->sink->list_end(walk->context);
    }
    walk->sink->list_end(walk->context);
}

static void walk_bands(const struct walk *walk, const struct gt_node *series)
{
    walk->sink->list_begin(walk->context);
    for (size_t i = 0; i < series->series.bands; i++) {
        const struct gt_band *band = &series->series.band[i];
        walk->sink->object_begin(walk->context);
        walk->sink->key(walk->context, "name");
        walk->sink->text(walk->context, band->title);
        walk->sink->key(walk->context, "start");
        walk->sink->number(walk->context, band->from);
        walk->sink->key(walk->context, "stop");
        walk->sink->number(walk->context, band->to);
        walk->sink->object_end(walk->context);
    }
    walk->sink->list_end(walk->context);
}

static void walk_series(const struct walk *walk, const struct gt_node *series)
{
    walk->sink->object_begin(walk->context);
    walk->sink->key(walk->context, "x_unit");
    walk->sink->text(walk->context, series->series.x_unit);
    walk->sink->key(walk->context, "unit");
    walk->sink->text(walk->context, series->unit);
    walk->sink->key(walk->context, "lines");
    walk->sink->object_begin(walk->context);
    for (size_t line = 0; line < series->series.lines; line++) {
        walk->sink->key(walk->context, series->series.line[line].key);
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
    for (const struct gt_node *node = gt_node_visible(section->first, HIDDEN); node;
         node = gt_node_visible(node->next, HIDDEN)) {
        if (!is_list)
            walk->sink->key(walk->context, node->key);
        walk_node(walk, node);
    }
    (is_list ? walk->sink->list_end : walk->sink->object_end)(walk->context);
}

static void walk_node(const struct walk *walk, const struct gt_node *node)
{
    switch (node->kind) {
    case GT_NODE_SECTION: walk_section(walk, node); break;
    case GT_NODE_TABLE: walk_table(walk, gt_node_table(node)); break;
    case GT_NODE_SERIES: walk_series(walk, node); break;
    case GT_NODE_NUMBER: walk->sink->number(walk->context, gt_node_number(node)); break;
    case GT_NODE_INTEGER: walk->sink->integer(walk->context, node->integer); break;
    case GT_NODE_TEXT: walk->sink->text(walk->context, gt_node_text(node)); break;
    case GT_NODE_BOOL: walk->sink->boolean(walk->context, node->boolean); break;
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

/* ---- reports made of what a sink is told ---- */

/* A section for each object and list, and fields. The first object is the report's root. */
struct builder {
    struct gt_report *report;
    struct gt_node **open; /* sections, the innermost last */
    size_t count, capacity;
    struct gt_buffer key, text;
    int failed;
};

static const char *key_of(const struct builder *builder)
{
    return builder->key.data ? builder->key.data : "";
}

static struct gt_node *parent_of(const struct builder *builder)
{
    return builder->count ? builder->open[builder->count - 1] : NULL;
}

static void begin_section(struct builder *builder, unsigned flags)
{
    struct gt_node *node = gt_report_root(builder->report), **place = GT_GROW_LIST(builder, open);
    if (!place) {
        builder->failed = -ENOMEM;
        return;
    }
    *place = node;
    if (builder->count > 1)
        *place = gt_report_section(builder->open[builder->count - 2], key_of(builder), key_of(builder));
    gt_node_flags(*place, flags);
}

static void build_object(void *builder)
{
    begin_section(builder, 0);
}

static void build_list(void *builder)
{
    begin_section(builder, GT_LIST);
}

static void build_end(void *context)
{
    struct builder *builder = context;
    builder->count -= builder->count > 0;
}

static void keep_text(struct builder *builder, struct gt_buffer *buffer, const char *text)
{
    gt_buffer_clear(buffer);
    if (gt_buffer_text(buffer, "") < 0 || gt_utf8_valid(buffer, text) < 0)
        builder->failed = -ENOMEM;
}

static void build_key(void *context, const char *key)
{
    struct builder *builder = context;
    keep_text(builder, &builder->key, key);
}

static void build_number(void *builder, double value)
{
    gt_report_number(parent_of(builder), key_of(builder), key_of(builder), isfinite(value) ? value : NAN, NULL);
}

static void build_integer(void *builder, int64_t value)
{
    gt_report_integer(parent_of(builder), key_of(builder), key_of(builder), value, NULL);
}

static void build_text(void *context, const char *value)
{
    struct builder *builder = context;
    if (value)
        keep_text(builder, &builder->text, value);
    gt_report_text(parent_of(builder), key_of(builder), key_of(builder), value ? builder->text.data : NULL);
}

static void build_bool(void *builder, bool value)
{
    gt_report_bool(parent_of(builder), key_of(builder), key_of(builder), value);
}

static const struct gt_tree_sink builder_sink = {
    .object_begin = build_object,
    .object_end = build_end,
    .list_begin = build_list,
    .list_end = build_end,
    .key = build_key,
    .number = build_number,
    .integer = build_integer,
    .text = build_text,
    .boolean = build_bool,
};

static int open_builder(struct builder *builder, const char *type, struct gt_error *error)
{
    *builder = (struct builder){0};
    return gt_report_new(&builder->report, type, error);
}

static int close_builder(struct builder *builder, struct gt_report **ret, struct gt_error *error)
{
    bool has_failed = builder->failed || gt_report_failed(builder->report);
    free(builder->open);
    gt_buffer_release(&builder->key);
    gt_buffer_release(&builder->text);
    if (has_failed) {
        gt_report_free(builder->report);
        return gt_error_system(error, ENOMEM, "results");
    }
    *ret = builder->report;
    return 0;
}

int gt_report_copy(struct gt_report **ret, const struct gt_report *report, struct gt_error *error)
{
    struct builder builder;
    int status = open_builder(&builder, report->type, error);
    if (status < 0)
        return status;
    if (gt_report_failed(report) || gt_tree_walk(&report->root, &builder_sink, &builder) < 0)
        builder.failed = -ENOMEM;
    return close_builder(&builder, ret, error);
}

static void tell(const struct gt_json_value *value, const struct gt_tree_sink *sink, void *context)
{
    const char *name;
    struct gt_json_value *part;
    size_t i;
    if (gt_json_is_object(value)) {
        sink->object_begin(context);
        gt_json_foreach_member (value, name, part) {
            sink->key(context, name);
            tell(part, sink, context);
        }
        sink->object_end(context);
    } else if (gt_json_is_array(value)) {
        sink->list_begin(context);
        gt_json_foreach_item (value, i, part)
            tell(part, sink, context);
        sink->list_end(context);
    } else if (gt_json_is_text(value)) {
        sink->text(context, gt_json_text_of(value));
    } else if (gt_json_is_integer(value)) {
        sink->integer(context, gt_json_integer_of(value));
    } else if (gt_json_is_bool(value)) {
        sink->boolean(context, gt_json_is_true(value));
    } else {
        sink->number(context, gt_json_number_or_nan(value));
    }
}

int gt_report_of_json(struct gt_report **ret, const char *type, const struct gt_json_value *object,
                      struct gt_error *error)
{
    struct builder builder;
    int status = open_builder(&builder, type, error);
    if (status < 0)
        return status;
    tell(object, &builder_sink, &builder);
    return close_builder(&builder, ret, error);
}
