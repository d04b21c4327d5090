/* Text for a terminal, in the two layouts of the original gpu_tracker: its tracking report, and its analyses with tables
 * as pandas prints them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "report/brief.h"
#include "report/format.h"
#include "report/human_text.h"
#include "report/screen_table.h"

enum { LEAST_ROOM = 8 }; /* columns for a value behind its title */

struct text {
    const struct gt_report *report;
    struct gt_buffer *out;
    const char *indent;
    bool pandas;       /* the analysis layout */
    bool is_on_screen; /* nothing may be wider than a terminal */
};

static void put_indent(struct text *text, int level)
{
    for (int i = 0; i < level; i++)
        gt_buffer_text(text->out, text->indent);
}

static void put_spaces(struct text *text, size_t count)
{
    while (count--)
        gt_buffer_char(text->out, ' ');
}

static bool is_row_name(const struct gt_grid *grid, size_t column)
{
    return grid->keyed && column == 0;
}

/* pandas reserves a space before the title of a number and before a text. */
static size_t reserved(const struct text *text, const struct gt_grid *grid, size_t row, size_t column)
{
    if (!text->pandas || is_row_name(grid, column))
        return 0;
    return grid->is_text[column] ? row > 0 : row == 0;
}

/* pandas gives every character one. */
static size_t columns_of(const struct text *text, const char *cell)
{
    return text->pandas ? gt_utf8_columns(cell) : gt_utf8_width_of(cell, strlen(cell));
}

static size_t column_width(const struct text *text, const struct gt_grid *grid, size_t column)
{
    size_t width = 0;
    for (size_t row = 0; row < grid->rows; row++) {
        size_t needed = columns_of(text, gt_grid_at(grid, row, column)) + reserved(text, grid, row, column);
        width = needed > width ? needed : width;
    }
    return width;
}

static size_t gap_before(const struct text *text, const struct gt_grid *grid, size_t column)
{
    if (text->pandas)
        return !is_row_name(grid, column);
    return column > 0 ? 2 : 0;
}

static void put_cell(struct text *text, const struct gt_grid *grid, size_t row, size_t column, size_t width)
{
    const char *cell = gt_grid_at(grid, row, column);
    size_t space = width - columns_of(text, cell);
    bool left = is_row_name(grid, column) || (grid->is_text[column] && !text->pandas);
    bool last = column + 1 == grid->columns;
    put_spaces(text, gap_before(text, grid, column) + (left ? 0 : space));
    gt_buffer_text(text->out, cell);
    put_spaces(text, left && !last ? space : 0);
}

static void put_rows(struct text *text, const struct gt_grid *grid, int level, const size_t *width)
{
    for (size_t row = 0; row < grid->rows; row++) {
        put_indent(text, level);
        for (size_t column = 0; column < grid->columns; column++)
            put_cell(text, grid, row, column, width[column]);
        gt_buffer_char(text->out, '\n');
    }
}

/* The lines of a tree before a name, which it has whatever the locale is. */
static void branches_to_ascii(char *text)
{
    static const char *const branch[] = {"│", "├", "└", " "};
    const char *from = text;
    for (size_t which = 0; which < 4;) {
        for (which = 0; which < 4 && strncmp(from, branch[which], strlen(branch[which])) != 0;)
            which++;
        if (which < 4) {
            *text++ = "|+` "[which];
            from += strlen(branch[which]);
        }
    }
    memmove(text, from, strlen(from) + 1);
}

static void grid_to_ascii(const struct gt_grid *grid)
{
    for (size_t i = grid->columns; i < grid->columns * grid->rows; i++)
        if (grid->text[i])
            branches_to_ascii(grid->text[i]);
}

static int put_grid(struct text *text, const struct gt_node *node, int level)
{
    struct gt_grid grid;
    int status = gt_grid_init(&grid, text->report, node, text->is_on_screen ? GT_GRID_BRIEF : GT_GRID_ORIGINAL);
    if (status < 0)
        return status;
    if (text->report->style & GT_STYLE_ASCII)
        grid_to_ascii(&grid);
    size_t *width = text->is_on_screen ? NULL : calloc(grid.columns + 1, sizeof *width);
    for (size_t column = 0; width && column < grid.columns; column++)
        width[column] = column_width(text, &grid, column);
    if (text->is_on_screen)
        status = gt_screen_table(text->out, &grid, gt_node_table(node), (size_t)level * strlen(text->indent));
    else if (width)
        put_rows(text, &grid, level, width);
    else
        status = -ENOMEM;
    gt_grid_release(&grid);
    free(width);
    return status;
}

static void put_series_line(struct text *text, const struct gt_series_line *line, int level)
{
    struct gt_buffer shown = {0};
    size_t indent = (size_t)level * strlen(text->indent);
    gt_utf8_show(&shown, line->title);
    gt_buffer_printf(&shown, ": %zu points", line->points);
    size_t width = text->is_on_screen ? text->report->width : SIZE_MAX;
    put_indent(text, level);
    gt_screen_text(text->out, shown.data ? shown.data : "", indent, indent, width);
    text->out->failed = text->out->failed ? text->out->failed : shown.failed;
    gt_buffer_release(&shown);
}

static int put_series(struct text *text, const struct gt_node *series, int level)
{
    for (size_t line = 0; line < series->series.lines; line++)
        put_series_line(text, &series->series.line[line], level);
    return 0;
}

static int put_nodes(struct text *text, const struct gt_node *section, int level);

/* The line of a section, a table or a list. */
static void put_title(struct text *text, const struct gt_node *node, int level)
{
    if (text->is_on_screen) {
        gt_screen_title(text->out, text->report, node->title, (size_t)level * strlen(text->indent));
        return;
    }
    put_indent(text, level);
    gt_utf8_show(text->out, node->title);
    gt_buffer_text(text->out, ":\n");
}

static int put_list(struct text *text, const struct gt_node *list, int level)
{
    int status = 0;
    for (const struct gt_node *item = gt_node_seen(list->first); item && !status; item = gt_node_seen(item->next)) {
        bool has_title = *item->title && !text->pandas;
        if (has_title)
            put_title(text, item, level);
        status = put_nodes(text, item, level + has_title);
        gt_buffer_char(text->out, '\n');
    }
    return status;
}

static int put_body(struct text *text, const struct gt_node *node, int level)
{
    switch (node->kind) {
    case GT_NODE_TABLE: return put_grid(text, node, level);
    case GT_NODE_SERIES: return put_series(text, node, level);
    default:
        if (gt_node_flag_bits(node) & GT_ROW)
            return put_grid(text, node, level);
        if (gt_node_flag_bits(node) & GT_LIST)
            return put_list(text, node, level);
        return put_nodes(text, node, level);
    }
}

static bool is_left_out(const struct text *text, const struct gt_node *node)
{
    bool is_ours = gt_node_flag_bits(node) & GT_NOT_IN_ORIGINAL && text->report->style & GT_STYLE_ORIGINAL;
    bool is_picture = node->kind == GT_NODE_SERIES && gt_node_flag_bits(node) & GT_ONLY_PEOPLE;
    return is_picture || is_ours || gt_node_flag_bits(node) & GT_NOT_IN_TEXT;
}

static size_t widest_title(const struct text *text, const struct gt_node *section)
{
    size_t widest = 0;
    for (const struct gt_node *node = gt_node_seen(section->first); node; node = gt_node_seen(node->next)) {
        size_t width = is_left_out(text, node) ? 0 : gt_utf8_columns(node->title);
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void put_value(struct text *text, struct gt_buffer *out, const struct gt_node *field)
{
    if (gt_node_is_absent(field) && !(text->is_on_screen && text->report->layout == GT_LAYOUT_ANALYSIS))
        gt_buffer_text(out, "0.0");
    else
        gt_human_text_shown(out, text->report, field);
}

/* A title that leaves no room for its value is broken, too. */
static void put_field_on_screen(struct text *text, const struct gt_node *field, int level)
{
    struct gt_buffer line = {0};
    size_t indent = (size_t)level * strlen(text->indent), width = text->report->width, column = indent;
    put_indent(text, level);
    gt_utf8_show(&line, field->title);
    gt_buffer_text(&line, ": ");
    if (indent + gt_utf8_columns(field->title) + 2 + LEAST_ROOM <= width) {
        column += gt_utf8_columns(field->title) + 2;
        gt_buffer_append(text->out, line.data, line.length);
        gt_buffer_clear(&line);
    }
    put_value(text, &line, field);
    gt_screen_text(text->out, line.data ? line.data : "", column, indent + strlen(text->indent), width);
    text->out->failed = text->out->failed ? text->out->failed : line.failed;
    gt_buffer_release(&line);
}

static void put_field(struct text *text, const struct gt_node *field, int level, size_t widest)
{
    size_t width = gt_utf8_columns(field->title);
    put_indent(text, level);
    gt_utf8_show(text->out, field->title);
    gt_buffer_char(text->out, ':');
    put_spaces(text, 1 + (widest > width ? widest - width : 0));
    put_value(text, text->out, field);
    gt_buffer_char(text->out, '\n');
}

static int put_nodes(struct text *text, const struct gt_node *section, int level)
{
    size_t widest = text->pandas ? widest_title(text, section) : 0;
    int status = 0;
    for (const struct gt_node *node = gt_node_seen(section->first); node && !status; node = gt_node_seen(node->next)) {
        if (is_left_out(text, node))
            continue;
        if (gt_node_is_field(node)) {
            if (text->is_on_screen)
                put_field_on_screen(text, node, level);
            else
                put_field(text, node, level, widest);
        } else {
            put_title(text, node, level);
            status = put_body(text, node, level + 1);
        }
    }
    return status;
}

static int write_text(const struct gt_report *report, struct gt_buffer *out, struct gt_error *error)
{
    bool analysis = report->layout == GT_LAYOUT_ANALYSIS;
    bool is_on_screen = report->width && !(report->style & GT_STYLE_ORIGINAL);
    bool pandas = analysis && !is_on_screen;
    struct text text = {report, out, pandas ? "\t" : "   ", pandas, is_on_screen};
    bool is_list = gt_node_flag_bits(&report->root) & GT_LIST;
    if (report->style & GT_STYLE_SUMMARY_FIRST && (is_list || gt_brief_of(&report->page))) {
        gt_format_find("summary")->write(report, out, error);
        gt_buffer_char(out, '\n');
    }
    int status = put_body(&text, &report->root, 0);
    return status < 0 ? gt_error_system(error, -status, "text") : 0;
}

const struct gt_format gt_format_text = {
    .name = "text",
    .help = "For reading in a terminal",
    .suffix = ".txt",
    .write = write_text,
};
