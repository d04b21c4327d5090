/* One HTML page that loads nothing: tables, and series as pictures that a script makes move. Light and dark as the reader's system. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "report/brief.h"
#include "report/format.h"
#include "report/human_text.h"
#include "report/page/chart.h"
#include "report/page/page.h"

enum { MOST_CHARTS = 200, TITLE_LETTERS = 100, CURVE_WIDTH = 160, CURVE_HEIGHT = 24 };

/* ---- the head of a page: its title, the outcome, a card for each resource, warnings, what to request next time ---- */

/* "resource_usage" as "Resource usage". */
static void put_type(struct gt_buffer *out, const char *type)
{
    gt_buffer_char(out, (char)toupper((unsigned char)*type));
    for (type += *type != '\0'; *type; type++)
        gt_buffer_char(out, *type == '_' ? ' ' : *type);
}

static void put_element(struct gt_buffer *out, const char *element, const char *class, const char *text)
{
    if (!*text)
        return;
    gt_buffer_printf(out, *class ? "<%s class=\"%s\">" : "<%s>", element, class);
    gt_html(out, "%s</%s>", text, element);
}

static void put_page_title(struct gt_buffer *out, const struct gt_report *report)
{
    const struct gt_brief *brief = gt_brief_of_report(report);
    const struct gt_brief_item *first = brief ? brief->lines.first : NULL;
    if (!brief) {
        put_type(out, report->type);
        return;
    }
    gt_html_escape(out, brief->is_alarm || !first || !*first->value ? brief->outcome : first->value);
    gt_buffer_text(out, " \xc2\xb7 ");
    gt_chart_cut(out, brief->title, TITLE_LETTERS);
}

static void put_curve(struct gt_buffer *out, const struct gt_brief_curve *curve)
{
    gt_buffer_printf(out, "<svg viewBox=\"0 0 %d %d\" aria-hidden=\"true\">", CURVE_WIDTH, CURVE_HEIGHT);
    for (int i = 0; i < GT_BRIEF_CELLS; i++) {
        double value = curve->cell[i];
        int height = value >= 0 ? 1 + (int)(value * (CURVE_HEIGHT - 1)) : 0;
        if (height)
            gt_buffer_printf(out, "<rect class=\"bar\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>",
                             i * CURVE_WIDTH / GT_BRIEF_CELLS, CURVE_HEIGHT - height, CURVE_WIDTH / GT_BRIEF_CELLS - 1,
                             height);
    }
    gt_buffer_text(out, "</svg>");
}

/* Lines without a value, like that of blocks, are words. */
static void put_cards(struct gt_buffer *out, const struct gt_brief_item *line)
{
    if (!line)
        return;
    gt_buffer_text(out, "<ul class=\"cards\">\n");
    for (; line; line = line->next) {
        gt_buffer_text(out, *line->value ? "<li>" : "<li class=\"wide\">");
        put_element(out, "span", "name", line->title);
        put_element(out, "b", "", line->value);
        put_element(out, "span", "", line->words);
        if (line->curve)
            put_curve(out, line->curve);
        gt_buffer_text(out, "</li>\n");
    }
    gt_buffer_text(out, "</ul>\n");
}

/* A warning leads to the part of the page that shows it. */
static void put_warnings(struct gt_buffer *out, const struct gt_report *report, const struct gt_brief_item *warning)
{
    if (!warning)
        return;
    gt_buffer_text(out, "<ul class=\"warnings\" aria-label=\"Warnings\">\n");
    for (; warning; warning = warning->next) {
        const struct gt_node *part = *warning->part ? gt_node_find(&report->root, warning->part) : NULL;
        gt_html(out, *warning->detail ? "<li>%s<span>%s" : "<li>%s", warning->words, warning->detail);
        if (*warning->detail && part)
            gt_html(out, "; see <a href=\"#part-%s\">%s</a>", warning->part, part->title);
        gt_buffer_text(out, *warning->detail ? "</span></li>\n" : "</li>\n");
    }
    gt_buffer_text(out, "</ul>\n");
}

/* How it ended, where and when. */
static void put_outcome(struct gt_buffer *out, const struct gt_report *report, const struct gt_brief *brief)
{
    static const char *const keys[] = {"host", "start"};
    const struct gt_node *run = gt_node_find(&report->root, "run");
    gt_html(out, "<p>%s", brief->outcome);
    for (int i = 0; run && i < 2; i++) {
        const struct gt_node *field = gt_node_find(run, keys[i]);
        if (field && gt_node_text(field))
            gt_html(out, " \xc2\xb7 %s", gt_node_text(field));
    }
    gt_buffer_text(out, "</p>");
}

static void put_page_head(struct gt_buffer *out, const struct gt_report *report)
{
    const struct gt_brief *brief = gt_brief_of_report(report);
    if (!brief) {
        gt_buffer_text(out, "<h1>");
        put_type(out, report->type);
        gt_buffer_text(out, "</h1>\n");
        return;
    }
    gt_buffer_text(out, brief->is_alarm ? "<header class=\"alarm\">" : "<header>");
    put_element(out, "h1", "", brief->title);
    put_outcome(out, report, brief);
    gt_buffer_text(out, "</header>\n");
    put_warnings(out, report, brief->warnings.first);
    put_cards(out, brief->lines.first);
    for (const struct gt_brief_item *request = brief->requests.first; request; request = request->next) {
        gt_html(out, "<p class=\"next\">%s ", request->words);
        put_element(out, "code", "request", request->detail);
        gt_buffer_text(out, "</p>\n");
    }
}

/* ---- its parts ---- */

struct page {
    const struct gt_report *report;
    struct gt_buffer *out;
    struct gt_chart_range x; /* of the charts that the page begins with, which share it */
    const struct gt_node *series[MOST_CHARTS];
    size_t charts;    /* also those beyond MOST_CHARTS */
    bool is_analysis; /* of traces */
    bool has_brief;   /* which says the most important, so that what says nothing may go */
};

/* Beyond MOST_CHARTS pictures stay still. */
static void put_chart(struct page *page, const struct gt_node *series, const struct gt_chart_range *shared)
{
    struct gt_chart_range x = {INFINITY, -INFINITY};
    gt_chart_widen(&x, series);
    if (page->charts < MOST_CHARTS)
        page->series[page->charts] = series;
    gt_chart_write(page->out, series, (int)++page->charts, shared ? *shared : x);
}

/* A node, or `count` sections that are alike, as one table. */
static int put_table(struct page *page, const struct gt_node *node, size_t count)
{
    struct gt_grid grid;
    bool is_analysis = page->is_analysis && count == 1;
    unsigned flags = is_analysis ? GT_GRID_ALWAYS_BRIEF : page->is_analysis ? 0 : GT_GRID_AMOUNTS | GT_GRID_BRIEF;
    int status = gt_grid_init(&grid, page->report, node, count, flags);
    if (status == 0)
        gt_page_table(page->out, &grid, gt_node_table(node), is_analysis ? GT_PAGE_TABLE_ANALYSIS : 0);
    return status;
}

static void put_field(struct page *page, const struct gt_node *field)
{
    struct gt_buffer value = {0}, exact = {0};
    gt_human_text_field(&exact, page->report, field);
    bool is_amount = !page->is_analysis && gt_human_text_amount(&value, field);
    if (!is_amount)
        gt_human_text_field(&value, page->report, field);
    gt_html(page->out, "<tr><th scope=\"row\">%s</th><td", field->title);
    gt_buffer_text(page->out, field->kind == GT_NODE_TEXT ? " class=\"t\"" : "");
    if (is_amount)
        gt_page_exact(page->out, exact.data, *gt_node_display_unit(field) ? "" : gt_node_measure_of(field));
    gt_html(page->out, ">%s</td></tr>\n", value.data ? value.data : "");
    gt_buffer_release(&value);
    gt_buffer_release(&exact);
}

static void put_fields(struct page *page, const struct gt_node *section)
{
    bool begun = false;
    for (const struct gt_node *node = gt_node_seen(section->first); node; node = gt_node_seen(node->next)) {
        if (!gt_node_is_field(node) || gt_node_flag_bits(node) & GT_NOT_ON_PAGE)
            continue;
        gt_buffer_text(page->out, begun ? "" : "<table><tbody>\n");
        begun = true;
        put_field(page, node);
    }
    gt_buffer_text(page->out, begun ? "</tbody></table>\n" : "");
}

static int put_section(struct page *page, const struct gt_node *section, int level);
static bool is_silent(const struct page *page, const struct gt_node *node, int level);

/* Items of a list of several, each with tables of its own: the blocks of an analysis. */
static bool is_folded(const struct gt_node *list, const struct gt_node *node)
{
    const struct gt_node *first = gt_node_seen(list->first);
    return gt_node_flag_bits(list) & GT_LIST && node->kind == GT_NODE_SECTION && gt_node_seen(first->next);
}

/* A row of few fields is a table; of more than a screen has room for, each has a line. */
static bool is_row(const struct gt_node *section)
{
    enum { MOST = 8 };
    int fields = 0;
    for (const struct gt_node *field = gt_node_seen(section->first); field; field = gt_node_seen(field->next))
        fields++;
    return gt_node_flag_bits(section) & GT_ROW && fields <= MOST;
}

static int put_part(struct page *page, const struct gt_node *list, const struct gt_node *node, int level)
{
    int status = 0;
    bool folds = level != 2 && is_folded(list, node);
    if (level == 2) /* warnings above lead to parts of an analysis */
        gt_html(page->out, page->is_analysis ? "<section id=\"part-%s\">" : "<section>", node->key);
    gt_buffer_text(page->out, folds ? "<details class=\"fold\"><summary>" : "");
    if (*node->title)
        gt_html(page->out, "<h%d>%s</h%d>\n", level, node->title, level);
    gt_buffer_text(page->out, folds ? "</summary>\n" : "");
    if (node->kind == GT_NODE_TABLE || is_row(node))
        status = put_table(page, node, 1);
    else if (gt_node_flag_bits(node) & (GT_HEAT | GT_STACKS))
        gt_page_rows(page->out, node);
    else if (node->kind == GT_NODE_SERIES)
        put_chart(page, node, NULL);
    else
        status = put_section(page, node, level < 6 ? level + 1 : 6);
    gt_buffer_text(page->out, level == 2 ? "</section>\n" : folds ? "</details>\n" : "");
    return status;
}

/* Where a part of a section stands: what its page begins with, tables and energy, the rest. */
enum place { PLACE_FIRST, PLACE_MIDDLE, PLACE_LAST };

static enum place place_of(const struct gt_node *node)
{
    const struct gt_table *table = gt_node_table(node);
    bool is_in_head = !strcmp(node->key, "warnings") && table && gt_table_rows(table) <= GT_BRIEF_WARNINGS;
    bool is_middle = (table && !is_in_head) || !strcmp(node->key, "energy");
    return gt_node_flag_bits(node) & GT_PAGE_FIRST ? PLACE_FIRST : is_middle ? PLACE_MIDDLE : PLACE_LAST;
}

static int put_parts(struct page *page, const struct gt_node *section, int level, enum place from, enum place to)
{
    int status = 0;
    for (const struct gt_node *node = gt_node_seen(section->first); node && !status; node = gt_node_seen(node->next)) {
        bool is_hidden = gt_node_is_field(node) || gt_node_flag_bits(node) & GT_NOT_ON_PAGE;
        enum place place = place_of(node);
        if (is_hidden || place < from || place > to || is_silent(page, node, level))
            continue;
        size_t alike = gt_human_text_alike(node);
        status = alike > 1 ? put_table(page, node, alike) : put_part(page, section, node, level);
        node = alike > 1 ? gt_human_text_last(node, alike) : node;
    }
    return status;
}

/* Cards and charts said the most important: the other figures are there for who opens them. */
static int put_folded(struct page *page, const struct gt_node *section, int level)
{
    int status = put_parts(page, section, level, PLACE_MIDDLE, PLACE_MIDDLE);
    gt_buffer_text(page->out,
                   "<details class=\"fold all\"><summary><h2>All figures</h2></summary>\n<div class=\"parts\">\n");
    if (status >= 0)
        status = put_parts(page, section, level, PLACE_LAST, PLACE_LAST);
    put_fields(page, section);
    gt_buffer_text(page->out, "</div></details>\n");
    return status;
}

static int put_section(struct page *page, const struct gt_node *section, int level)
{
    bool is_top = level == 2; /* what it says alone comes behind */
    if (!is_top)
        put_fields(page, section);
    int status = put_parts(page, section, level, PLACE_FIRST, PLACE_FIRST);
    if (status >= 0 && is_top && page->has_brief)
        return put_folded(page, section, level);
    if (status >= 0)
        status = put_parts(page, section, level, PLACE_MIDDLE, PLACE_LAST);
    if (is_top)
        put_fields(page, section);
    return status;
}

/* ---- sections in which nothing was measured ---- */

static bool tells_in_table(const struct gt_table *table)
{
    for (size_t column = 0; column < table->columns; column++)
        for (size_t row = 0; row < gt_table_rows(table); row++)
            if (table->column[column].kind == GT_CELL_TEXT ? column > 0 : gt_table_cell_number(table, row, column) > 0)
                return true;
    return false;
}

/* Does a section have anything but missing figures and zeros? Other parts always do. */
static bool tells(const struct gt_node *node)
{
    if (node->kind == GT_NODE_TABLE)
        return tells_in_table(gt_node_table(node));
    if (node->kind == GT_NODE_TEXT)
        return gt_node_text(node) && strcmp(node->key, "unit") != 0;
    if (node->kind != GT_NODE_SECTION)
        return node->kind == GT_NODE_SERIES || gt_node_number(node) > 0;
    for (const struct gt_node *child = gt_node_seen(node->first); child; child = gt_node_seen(child->next))
        if (tells(child))
            return true;
    return false;
}

static bool is_silent(const struct page *page, const struct gt_node *node, int level)
{
    return level == 2 && page->has_brief && node->kind == GT_NODE_SECTION && !tells(node);
}

static void put_silent(struct page *page)
{
    const struct gt_node *node = gt_node_seen(page->report->root.first);
    bool begun = false;
    for (; node; node = gt_node_seen(node->next)) {
        if (gt_node_flag_bits(node) & GT_NOT_ON_PAGE || !is_silent(page, node, 2))
            continue;
        gt_html(page->out, begun ? ", %s" : "<p class=\"silent\">Zero or not measured (in JSON 0 or null): %s",
                node->title);
        begun = true;
    }
    gt_buffer_text(page->out, begun ? "</p>\n" : "");
}

/* ---- what the page begins with ---- */

static void put_charts_of(struct page *page, bool of_begin)
{
    const struct gt_node *node = page->report->page.first;
    for (; node; node = node->next) {
        bool is_first = gt_node_flag_bits(node) & GT_PAGE_FIRST;
        if (node->kind != GT_NODE_SERIES || is_first != of_begin)
            continue;
        if (gt_node_flag_bits(node) & GT_FOREST)
            gt_page_rows(page->out, node);
        else
            put_chart(page, node, &page->x);
    }
}

/* They have one time axis. */
static void put_first_charts(struct page *page)
{
    const struct gt_node *node = page->report->page.first;
    page->x = (struct gt_chart_range){INFINITY, -INFINITY};
    for (; node; node = node->next)
        if (node->kind == GT_NODE_SERIES && !(gt_node_flag_bits(node) & GT_FOREST))
            gt_chart_widen(&page->x, node);
    put_charts_of(page, true);
    put_charts_of(page, false);
}

/* ---- the script ---- */

/* Nothing but it may run, and nothing is loaded but the states of a job that runs. */
static void put_policy(struct gt_buffer *out, bool is_fed)
{
    gt_buffer_printf(
        out,
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'; "
        "script-src 'sha256-zSzOvMxFIH6cmEkGLnsmhAdquUnvRMn6Qi0A/jiPu2I='%s\">\n",
        is_fed ? "; connect-src 'self'" : "");
}

static void put_data(struct page *page)
{
    size_t count = page->charts < MOST_CHARTS ? page->charts : MOST_CHARTS;
    gt_page_data(page->out, page->series, count, page->report->page_size);
}

static void put_script(struct page *page)
{
    gt_buffer_text(page->out, "<script type=\"application/json\" id=\"data\">");
    put_data(page);
    gt_buffer_printf(page->out, "</script>\n<script>%s</script>\n", gt_page_script);
}

/* Who has no scripts loads the page of a job that runs again and again. */
static void put_head(struct page *page)
{
    bool is_fed = page->report->feed;
    gt_buffer_text(page->out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    put_policy(page->out, is_fed);
    if (is_fed)
        gt_buffer_text(page->out, "<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>\n");
    gt_buffer_text(page->out, "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    put_page_title(page->out, page->report);
    gt_buffer_printf(page->out, "</title>\n<style>\n%s</style>\n</head>\n<body", gt_page_style);
    if (is_fed)
        gt_html(page->out, " data-feed=\"%s\"", page->report->feed);
    gt_buffer_text(page->out, ">\n");
}

/* What is below the charts. */
static int put_rest(struct page *page)
{
    gt_buffer_text(page->out, "<div class=\"parts\">\n");
    int status = put_section(page, &page->report->root, 2);
    gt_buffer_text(page->out, "</div>\n");
    put_silent(page);
    return status;
}

static struct page page_of(const struct gt_report *report, struct gt_buffer *out)
{
    static const char traces[] = "profile_";
    return (struct page){.report = report,
                         .out = out,
                         .is_analysis = !strncmp(report->type, traces, strlen(traces)),
                         .has_brief = report->root.brief};
}

static int write_html(const struct gt_report *report, struct gt_buffer *out, struct gt_error *error)
{
    struct page page = page_of(report, out);
    put_head(&page);
    gt_buffer_text(out, "<main>\n<div id=\"head\">\n");
    put_page_head(out, report);
    gt_buffer_text(out, "</div>\n");
    put_first_charts(&page);
    gt_buffer_text(out, "<div id=\"rest\">\n");
    int status = put_rest(&page);
    gt_buffer_text(out, "</div>\n</main>\n");
    put_script(&page);
    gt_buffer_text(out, "</body>\n</html>\n");
    return status < 0 ? gt_error_system(error, -status, "html") : 0;
}

static void put_member(struct gt_buffer *out, const char *name, struct gt_buffer *part)
{
    gt_buffer_printf(out, "\"%s\": ", name);
    gt_json_quote(out, part->data ? part->data : "");
    gt_buffer_text(out, ", ");
    out->failed = out->failed ? out->failed : part->failed;
    gt_buffer_clear(part);
}

int gt_page_state(const struct gt_report *report, struct gt_buffer *out)
{
    struct gt_buffer part = {0};
    struct page page = page_of(report, &part);
    gt_buffer_char(out, '{');
    put_page_title(&part, report);
    put_member(out, "title", &part);
    put_page_head(&part, report);
    put_member(out, "head", &part);
    put_first_charts(&page); /* which counts them; their pictures stay as they are */
    gt_buffer_clear(&part);
    int status = put_rest(&page);
    put_member(out, "rest", &part);
    gt_buffer_release(&part);
    page.out = out;
    gt_buffer_text(out, "\"data\": ");
    put_data(&page);
    gt_buffer_char(out, '}');
    return status < 0 ? status : out->failed;
}

const struct gt_format gt_format_html = {
    .name = "html",
    .help = "One self-contained page with charts",
    .suffix = ".html",
    .write = write_html,
};
