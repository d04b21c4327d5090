/* One HTML page without anything from elsewhere: tables, and series as pictures. Light and dark as the reader's system. */
#include <ctype.h>

#include "report/chart.h"
#include "report/format.h"
#include "report/human_text.h"

static const char style[] =
    ":root{color-scheme:light dark;--back:#fff;--text:#1b1f24;--faint:#59636e;--rule:#d1d9e0;--zebra:#f6f8fa;"
    "--c0:#0060a8;--c1:#b84300;--c2:#00735a;--c3:#8a3fa0;--c4:#6f5a00;--c5:#a3123f}\n"
    "@media(prefers-color-scheme:dark){:root{--back:#0d1117;--text:#e6edf3;--faint:#9aa4af;--rule:#3a424b;"
    "--zebra:#161b22;--c0:#6cb6ff;--c1:#ffa657;--c2:#56d6a8;--c3:#d2a8ff;--c4:#e3c85a;--c5:#ff8fab}}\n"
    "body{background:var(--back);color:var(--text);font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;"
    "padding:0 1rem}\n"
    "h1{font-size:1.6rem}h2{font-size:1.25rem;margin:2rem 0 .5rem}h3,h4,h5,h6{font-size:1rem;margin:1rem 0 .25rem}\n"
    ".scroll{overflow-x:auto}\n"
    "table{border-collapse:collapse;margin:.25rem 0 1rem;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.2rem .6rem;border-bottom:1px solid var(--rule);text-align:right;white-space:nowrap}\n"
    "th[scope=row],.t{text-align:left}th[scope=row]{font-weight:normal}thead th{font-weight:600}\n"
    "tbody tr:nth-child(even){background:var(--zebra)}\n"
    "figure{margin:1rem 0}figcaption{color:var(--faint)}\n"
    ".chart{width:100%;height:auto}.chart text{font-size:12px;fill:var(--faint)}.grid{stroke:var(--rule)}\n"
    ".legend{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin:0;padding:0;font-size:.9rem}\n"
    ".key{width:28px;height:12px;vertical-align:middle}\n"
    "path[class^=line]{fill:none;stroke-width:2;stroke-linejoin:round}path[class^=band]{stroke-width:12;opacity:.3}\n"
    "rect[class^=fill]{opacity:.18}\n";

static const char *const dashes[GT_CHART_COLOURS] = {"none", "6 3", "2 3", "10 3 2 3", "12 4", "4 2 1 2"};

struct page {
    const struct gt_report *report;
    struct gt_buffer *out;
    int charts;
};

static void put_style(struct gt_buffer *out)
{
    gt_buffer_text(out, "<style>\n");
    gt_buffer_text(out, style);
    for (int i = 0; i < GT_CHART_COLOURS; i++)
        gt_buffer_printf(out,
                         ".line%d{stroke:var(--c%d);stroke-dasharray:%s}.band%d{stroke:var(--c%d)}"
                         ".fill%d{fill:var(--c%d)}\n",
                         i, i, dashes[i], i, i, i, i);
    gt_buffer_text(out, "</style>\n");
}

static void put_cell(struct page *page, const struct gt_grid *grid, size_t row, size_t column)
{
    const char *text = gt_grid_at(grid, row, column);
    bool names_row = grid->keyed && column == 0;
    const char *class = grid->is_text[column] ? " class=\"t\"" : "";
    if (row == 0 && !*text)
        gt_buffer_text(page->out, "<td>");
    else if (row == 0)
        gt_buffer_printf(page->out, "<th scope=\"col\"%s>", class);
    else
        gt_buffer_printf(page->out, names_row ? "<th scope=\"row\"%s>" : "<td%s>", names_row ? "" : class);
    gt_html_escape(page->out, text);
    gt_buffer_text(page->out, (row == 0 && *text) || (row > 0 && names_row) ? "</th>" : "</td>");
}

static void put_grid(struct page *page, struct gt_grid *grid)
{
    gt_buffer_text(page->out, "<div class=\"scroll\" tabindex=\"0\"><table>\n");
    for (size_t row = 0; row < grid->rows; row++) {
        gt_buffer_text(page->out, row == 0 ? "<thead><tr>" : row == 1 ? "<tbody>\n<tr>" : "<tr>");
        for (size_t column = 0; column < grid->columns; column++)
            put_cell(page, grid, row, column);
        gt_buffer_text(page->out, row == 0 ? "</tr></thead>\n" : "</tr>\n");
    }
    gt_buffer_text(page->out, grid->rows > 1 ? "</tbody></table></div>\n" : "</table></div>\n");
    gt_grid_release(grid);
}

static int put_table(struct page *page, const struct gt_node *node)
{
    struct gt_grid grid;
    int status = gt_grid_init(&grid, page->report, node, false);
    if (status == 0)
        put_grid(page, &grid);
    return status;
}

/* Sections that are alike, as one table; `*node` becomes the last of them. */
static int put_alike(struct page *page, const struct gt_node **node, size_t count)
{
    struct gt_grid grid;
    int status = gt_grid_init_alike(&grid, page->report, *node, count);
    if (status == 0)
        put_grid(page, &grid);
    while (--count)
        *node = gt_human_text_next(*node);
    return status;
}

static void put_fact(struct page *page, const struct gt_node *fact)
{
    struct gt_buffer value = {0};
    gt_human_text_fact(&value, page->report, fact);
    gt_buffer_text(page->out, "<tr><th scope=\"row\">");
    gt_html_escape(page->out, gt_node_title(fact));
    gt_buffer_printf(page->out, "</th><td%s>", gt_node_kind(fact) == GT_NODE_TEXT ? " class=\"t\"" : "");
    gt_html_escape(page->out, value.data ? value.data : "");
    gt_buffer_text(page->out, "</td></tr>\n");
    gt_buffer_release(&value);
}

static void put_facts(struct page *page, const struct gt_node *section)
{
    bool begun = false;
    for (const struct gt_node *node = gt_human_text_child(section); node; node = gt_human_text_next(node)) {
        if (!gt_node_is_fact(node))
            continue;
        gt_buffer_text(page->out, begun ? "" : "<table><tbody>\n");
        begun = true;
        put_fact(page, node);
    }
    gt_buffer_text(page->out, begun ? "</tbody></table>\n" : "");
}

static int put_section(struct page *page, const struct gt_node *section, int level);

static int put_part(struct page *page, const struct gt_node *node, int level)
{
    int status = 0;
    if (*gt_node_title(node)) {
        gt_buffer_printf(page->out, "<h%d>", level);
        gt_html_escape(page->out, gt_node_title(node));
        gt_buffer_printf(page->out, "</h%d>\n", level);
    }
    if (gt_node_kind(node) == GT_NODE_TABLE || gt_node_flag_bits(node) & GT_ROW)
        status = put_table(page, node);
    else if (gt_node_kind(node) == GT_NODE_SERIES)
        gt_chart_write(page->out, node, ++page->charts);
    else
        status = put_section(page, node, level < 6 ? level + 1 : 6);
    return status;
}

/* The parts that the page begins with, or the others. */
static int put_parts(struct page *page, const struct gt_node *section, int level, bool of_begin)
{
    int status = 0;
    for (const struct gt_node *node = gt_human_text_child(section); node && !status; node = gt_human_text_next(node)) {
        unsigned flags = gt_node_flag_bits(node);
        bool is_first = flags & GT_PAGE_FIRST;
        if (gt_node_is_fact(node) || flags & GT_NOT_ON_PAGE || is_first != of_begin)
            continue;
        size_t alike = gt_human_text_alike(node);
        status = alike > 1 ? put_alike(page, &node, alike) : put_part(page, node, level);
    }
    return status;
}

static int put_section(struct page *page, const struct gt_node *section, int level)
{
    put_facts(page, section);
    int status = put_parts(page, section, level, true);
    return status < 0 ? status : put_parts(page, section, level, false);
}

/* "resource_usage" as "Resource usage". */
static void put_title(struct gt_buffer *out, const char *type)
{
    gt_buffer_char(out, (char)toupper((unsigned char)*type));
    for (type += *type != '\0'; *type; type++)
        gt_buffer_char(out, *type == '_' ? ' ' : *type);
}

static int write_html(const struct gt_report *report, struct gt_buffer *out, struct gt_error *error)
{
    struct page page = {.report = report, .out = out};
    gt_buffer_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    put_title(out, gt_report_type(report));
    gt_buffer_text(out, "</title>\n");
    put_style(out);
    gt_buffer_text(out, "</head>\n<body>\n<main>\n<h1>");
    put_title(out, gt_report_type(report));
    gt_buffer_text(out, "</h1>\n");
    int status = put_section(&page, gt_report_top(report), 2);
    gt_buffer_text(out, "</main>\n</body>\n</html>\n");
    return status < 0 ? gt_error_system(error, -status, "html") : 0;
}

const struct gt_format gt_format_html = {
    .name = "html",
    .help = "One self-contained page with charts",
    .suffix = ".html",
    .write = write_html,
};
