/* Markdown with GitHub's tables, for a pull request or a wiki. */
#include <string.h>

#include "base/utf8.h"
#include "report/brief.h"
#include "report/format.h"
#include "report/human_text.h"

static void put_character(struct gt_buffer *out, char c)
{
    if (c == '&' || c == '<') {
        gt_buffer_text(out, c == '&' ? "&amp;" : "&lt;");
        return;
    }
    if (strchr("\\`*_[]|~#", c))
        gt_buffer_char(out, '\\');
    gt_buffer_char(out, c);
}

/* Texts may hold anything; what Markdown or HTML would take as markup is escaped, too. */
static void put_escaped(struct gt_buffer *out, const char *text)
{
    char piece[GT_UTF8_SHOWN];
    while (*text) {
        gt_utf8_show_next(&text, piece);
        for (const char *c = piece; *c; c++)
            put_character(out, *c);
    }
}

static void put_cells(struct gt_buffer *out, const char *const cell[], size_t cells)
{
    for (size_t i = 0; i < cells; i++) {
        gt_buffer_text(out, "| ");
        put_escaped(out, cell[i] ? cell[i] : "");
        gt_buffer_char(out, ' ');
    }
    gt_buffer_text(out, "|\n");
}

static void put_grid(struct gt_buffer *out, struct gt_grid *grid)
{
    const char *const *cell = (const char *const *)grid->text;
    put_cells(out, cell, grid->columns);
    for (size_t column = 0; column < grid->columns; column++)
        gt_buffer_text(out, grid->is_text[column] ? "| --- " : "| ---: ");
    gt_buffer_text(out, "|\n");
    for (size_t row = 1; row < grid->rows; row++)
        put_cells(out, cell + row * grid->columns, grid->columns);
    gt_buffer_char(out, '\n');
    gt_grid_release(grid);
}

/* A node, or `count` sections that are alike, as one table. */
static int put_table(struct gt_buffer *out, const struct gt_report *report, const struct gt_node *node, size_t count)
{
    struct gt_grid grid;
    int status = gt_grid_init(&grid, report, node, count, 0);
    if (status == 0)
        put_grid(out, &grid);
    return status;
}

static void put_heading(struct gt_buffer *out, const char *title, int level)
{
    if (!*title) /* an item of a list */
        return;
    for (int i = 0; i < level && i < 6; i++)
        gt_buffer_char(out, '#');
    gt_buffer_char(out, ' ');
    put_escaped(out, title);
    gt_buffer_text(out, "\n\n");
}

static void put_series(struct gt_buffer *out, const struct gt_node *series)
{
    for (size_t line = 0; line < series->series.lines; line++) {
        const struct gt_series_line *of = &series->series.line[line];
        gt_buffer_text(out, "- ");
        put_escaped(out, series->series.line[line].title);
        gt_buffer_printf(out, ": %zu points\n", of->points);
    }
    gt_buffer_char(out, '\n');
}

/* The fields of a section as one table, whatever stands between them. */
static void put_fields(struct gt_buffer *out, const struct gt_report *report, const struct gt_node *section)
{
    struct gt_buffer value = {0};
    bool begun = false;
    for (const struct gt_node *node = gt_node_seen(section->first); node; node = gt_node_seen(node->next)) {
        if (!gt_node_is_field(node))
            continue;
        if (!begun)
            gt_buffer_text(out, "| | |\n| --- | ---: |\n");
        begun = true;
        gt_buffer_clear(&value);
        gt_human_text_shown(&value, report, node);
        put_cells(out, (const char *const[]){node->title, value.data}, 2);
    }
    if (begun)
        gt_buffer_char(out, '\n');
    gt_buffer_release(&value);
}

static int put_nodes(struct gt_buffer *out, const struct gt_report *report, const struct gt_node *section, int level);

static int put_part(struct gt_buffer *out, const struct gt_report *report, const struct gt_node *node, int level)
{
    put_heading(out, node->title, level);
    if (node->kind == GT_NODE_TABLE || gt_node_flag_bits(node) & GT_ROW)
        return put_table(out, report, node, 1);
    if (node->kind != GT_NODE_SERIES)
        return put_nodes(out, report, node, level + 1);
    put_series(out, node);
    return 0;
}

/* The parts that pages begin with, or the others. */
static int put_parts(struct gt_buffer *out, const struct gt_report *report, const struct gt_node *section, int level,
                     bool of_begin)
{
    int status = 0;
    for (const struct gt_node *node = gt_node_seen(section->first); node && !status; node = gt_node_seen(node->next)) {
        unsigned flags = gt_node_flag_bits(node);
        bool is_first = flags & GT_PAGE_FIRST, is_picture = node->kind == GT_NODE_SERIES && flags & GT_ONLY_PEOPLE;
        if (gt_node_is_field(node) || is_picture || flags & GT_NOT_ON_PAGE || is_first != of_begin)
            continue;
        size_t alike = gt_human_text_alike(node);
        status = alike > 1 ? put_table(out, report, node, alike) : put_part(out, report, node, level);
        node = alike > 1 ? gt_human_text_last(node, alike) : node;
    }
    return status;
}

/* ---- the brief, behind which the rest is folded ---- */

enum { BRIEF_ROWS = 12 };

#define FOLDED "<details>\n<summary>All figures</summary>\n\n"

static void put_brief_items(struct gt_buffer *out, const struct gt_brief_item *item)
{
    if (item)
        gt_buffer_char(out, '\n');
    for (; item; item = item->next) {
        gt_buffer_text(out, "- ");
        put_escaped(out, item->words);
        if (*item->detail) {
            gt_buffer_text(out, " ");
            put_escaped(out, item->detail);
        }
        gt_buffer_char(out, '\n');
    }
}

static void put_brief(struct gt_buffer *out, const struct gt_brief *brief)
{
    int rows = BRIEF_ROWS - 1;
    gt_buffer_text(out, "| | | |\n| --- | ---: | --- |\n");
    put_cells(out, (const char *const[]){brief->title, NULL, brief->outcome}, 3);
    for (const struct gt_brief_item *line = brief->lines.first; line && rows; line = line->next, rows--)
        put_cells(out, (const char *const[]){line->title, line->value, line->words}, 3);
    put_brief_items(out, brief->warnings.first);
    put_brief_items(out, brief->requests.first);
    gt_buffer_text(out, "\n" FOLDED);
}

static int put_nodes(struct gt_buffer *out, const struct gt_report *report, const struct gt_node *section, int level)
{
    const struct gt_brief *brief = section->brief;
    if (brief)
        put_brief(out, brief);
    put_fields(out, report, section);
    int status = put_parts(out, report, section, level, true);
    if (status >= 0)
        status = put_parts(out, report, section, level, false);
    if (brief)
        gt_buffer_text(out, "</details>\n");
    return status;
}

/* What pages alone begin with: a verdict, and what bears it. The rest is folded. */
static int put_verdict(struct gt_buffer *out, const struct gt_report *report, const struct gt_brief *brief)
{
    const struct gt_node *top = &report->root;
    gt_buffer_text(out, "**");
    put_escaped(out, brief->title);
    gt_buffer_text(out, "**: ");
    put_escaped(out, brief->outcome);
    gt_buffer_char(out, '\n');
    put_brief_items(out, brief->warnings.first);
    gt_buffer_char(out, '\n');
    put_fields(out, report, top);
    int status = put_parts(out, report, top, 2, true);
    gt_buffer_text(out, FOLDED);
    if (status >= 0)
        status = put_parts(out, report, top, 2, false);
    gt_buffer_text(out, "</details>\n");
    return status;
}

static int write_markdown(const struct gt_report *report, struct gt_buffer *out, struct gt_error *error)
{
    const struct gt_brief *brief = gt_brief_of_report(report);
    int status = brief && brief->is_verdict ? put_verdict(out, report, brief)
                                            : put_nodes(out, report, &report->root, 2);
    return status < 0 ? gt_error_system(error, -status, "markdown") : 0;
}

const struct gt_format gt_format_markdown = {
    .name = "markdown",
    .help = "For pull requests and wikis",
    .suffix = ".md",
    .write = write_markdown,
};
