#include "report/page/page.h"

#include <ctype.h>
#include <string.h>

#include "report/brief.h"
#include "report/page/chart.h"

enum { TITLE_LETTERS = 100, CURVE_WIDTH = 160, CURVE_HEIGHT = 24 };

/* "resource_usage" as "Resource usage". */
static void put_type(struct gt_buffer *out, const char *type)
{
    gt_buffer_char(out, (char)toupper((unsigned char)*type));
    for (type += *type != '\0'; *type; type++)
        gt_buffer_char(out, *type == '_' ? ' ' : *type);
}

static void put_element(struct gt_buffer *out, const char *element, const char *class, const char *text)
{
    if (!text || !*text)
        return;
    gt_buffer_printf(out, *class ? "<%s class=\"%s\">" : "<%s>", element, class);
    gt_html_escape(out, text);
    gt_buffer_printf(out, "</%s>", element);
}

void gt_page_title(struct gt_buffer *out, const struct gt_report *report)
{
    const struct gt_node *brief = gt_brief_of_report(report);
    const struct gt_node *first = brief ? gt_brief_first_line(brief) : NULL;
    if (!brief) {
        put_type(out, report->type);
        return;
    }
    if (gt_brief_is_alarm(brief) || !first || !gt_brief_value(first))
        gt_html_escape(out, gt_brief_outcome(brief));
    else
        gt_html_escape(out, gt_brief_value(first));
    gt_buffer_text(out, " \xc2\xb7 ");
    gt_chart_cut(out, gt_brief_title(brief), TITLE_LETTERS);
}

/* ---- cards ---- */

/* Lines without a value, like that of blocks, are words. */
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

static void put_card(struct gt_buffer *out, const struct gt_node *line)
{
    struct gt_brief_curve curve;
    const char *value = gt_brief_value(line);
    gt_buffer_text(out, value ? "<li>" : "<li class=\"wide\">");
    put_element(out, "span", "name", line->title);
    put_element(out, "b", "", value);
    put_element(out, "span", "", gt_brief_words(line));
    if (gt_brief_curve(line, &curve))
        put_curve(out, &curve);
    gt_buffer_text(out, "</li>\n");
}

static void put_cards(struct gt_buffer *out, const struct gt_node *brief)
{
    const struct gt_node *line = gt_brief_first_line(brief);
    if (!line)
        return;
    gt_buffer_text(out, "<ul class=\"cards\">\n");
    for (; line; line = line->next)
        put_card(out, line);
    gt_buffer_text(out, "</ul>\n");
}

/* ---- sentences ---- */

/* Leads to the part of the page with a key. */
static void put_link(struct gt_buffer *out, const struct gt_report *report, const char *part)
{
    const struct gt_node *node = part ? gt_node_find(&report->root, part) : NULL;
    if (!node)
        return;
    gt_buffer_text(out, "; see <a href=\"#part-");
    gt_html_escape(out, part);
    gt_buffer_text(out, "\">");
    gt_html_escape(out, node->title);
    gt_buffer_text(out, "</a>");
}

static void put_detail(struct gt_buffer *out, const struct gt_report *report, const struct gt_node *warning)
{
    const char *detail = gt_brief_detail(warning);
    if (!detail)
        return;
    gt_buffer_text(out, "<span>");
    gt_html_escape(out, detail);
    put_link(out, report, gt_brief_part(warning));
    gt_buffer_text(out, "</span>");
}

static void put_warnings(struct gt_buffer *out, const struct gt_report *report, const struct gt_node *brief)
{
    const struct gt_node *warning = gt_brief_first_warning(brief);
    if (!warning)
        return;
    gt_buffer_text(out, "<ul class=\"warnings\" aria-label=\"Warnings\">\n");
    for (; warning; warning = warning->next) {
        gt_buffer_text(out, "<li>");
        gt_html_escape(out, gt_brief_words(warning));
        put_detail(out, report, warning);
        gt_buffer_text(out, "</li>\n");
    }
    gt_buffer_text(out, "</ul>\n");
}

static void put_requests(struct gt_buffer *out, const struct gt_node *brief)
{
    const struct gt_node *request = gt_brief_first_request(brief);
    for (; request; request = request->next) {
        gt_buffer_text(out, "<p class=\"next\">");
        gt_html_escape(out, gt_brief_words(request));
        gt_buffer_char(out, ' ');
        put_element(out, "code", "request", gt_brief_detail(request));
        gt_buffer_text(out, "</p>\n");
    }
}

/* How it ended, where and when. */
static void put_outcome(struct gt_buffer *out, const struct gt_report *report, const struct gt_node *brief)
{
    static const char *const keys[] = {"host", "start"};
    const struct gt_node *run = gt_node_find(&report->root, "run");
    gt_buffer_text(out, "<p>");
    gt_html_escape(out, gt_brief_outcome(brief));
    for (int i = 0; run && i < 2; i++) {
        const struct gt_node *field = gt_node_find(run, keys[i]);
        if (!field || !gt_node_text(field))
            continue;
        gt_buffer_text(out, " \xc2\xb7 ");
        gt_html_escape(out, gt_node_text(field));
    }
    gt_buffer_text(out, "</p>");
}

void gt_page_head(struct gt_buffer *out, const struct gt_report *report)
{
    const struct gt_node *brief = gt_brief_of_report(report);
    if (!brief) {
        gt_buffer_text(out, "<h1>");
        put_type(out, report->type);
        gt_buffer_text(out, "</h1>\n");
        return;
    }
    gt_buffer_text(out, gt_brief_is_alarm(brief) ? "<header class=\"alarm\">" : "<header>");
    put_element(out, "h1", "", gt_brief_title(brief));
    put_outcome(out, report, brief);
    gt_buffer_text(out, "</header>\n");
    put_warnings(out, report, brief);
    put_cards(out, brief);
    put_requests(out, brief);
}
