#include "report/brief.h"

#include <math.h>
#include <stdarg.h>

struct gt_brief *gt_brief_add(struct gt_node *node, const char *title, const char *outcome, bool is_alarm)
{
    struct gt_report *report = node->report;
    node->brief = gt_report_memory(report, sizeof *node->brief);
    if (node->brief)
        *node->brief = (struct gt_brief){.report = report,
                                         .title = gt_report_keep(report, title),
                                         .outcome = gt_report_keep(report, outcome),
                                         .more = "",
                                         .is_alarm = is_alarm};
    return node->brief;
}

static struct gt_brief_item *new_item(struct gt_brief *brief, const char *title, const char *value, const char *words)
{
    struct gt_brief_item *item = brief ? gt_report_memory(brief->report, sizeof *item) : NULL;
    if (item)
        *item = (struct gt_brief_item){.title = gt_report_keep(brief->report, title),
                                       .value = gt_report_keep(brief->report, value),
                                       .words = words,
                                       .detail = "",
                                       .part = ""};
    return item;
}

static struct gt_brief_item *append(struct gt_brief_list *list, struct gt_brief_item *item)
{
    if (item) {
        *(list->last ? &list->last->next : &list->first) = item;
        list->last = item;
    }
    return item;
}

void gt_brief_line(struct gt_brief *brief, const char *title, const char *value, const struct gt_brief_curve *curve,
                   const char *words, ...)
{
    va_list arguments;
    if (!brief)
        return;
    va_start(arguments, words);
    const char *text = gt_report_keep_format(brief->report, words, arguments);
    va_end(arguments);
    struct gt_brief_item *item = append(&brief->lines, new_item(brief, title, value, text));
    struct gt_brief_curve *copy = item && curve ? gt_report_memory(brief->report, sizeof *copy) : NULL;
    if (copy) {
        *copy = *curve;
        item->curve = copy;
    }
}

void gt_brief_text_line(struct gt_brief *brief, const char *title, const char *value, const char *words, ...)
{
    va_list arguments;
    if (!brief)
        return;
    va_start(arguments, words);
    append(&brief->text_lines, new_item(brief, title, value, gt_report_keep_format(brief->report, words, arguments)));
    va_end(arguments);
}

void gt_brief_first(struct gt_brief *brief, const char *title, const char *words)
{
    struct gt_brief_item *item = brief ? new_item(brief, title, NULL, gt_report_keep(brief->report, words)) : NULL;
    if (!item)
        return;
    item->next = brief->lines.first;
    brief->lines.first = item;
    brief->lines.last = brief->lines.last ? brief->lines.last : item;
}

struct gt_brief_item *gt_brief_warning(struct gt_brief *brief, const char *detail, const char *part, const char *words,
                                       ...)
{
    va_list arguments;
    if (!brief)
        return NULL;
    va_start(arguments, words);
    const char *text = gt_report_keep_format(brief->report, words, arguments);
    va_end(arguments);
    struct gt_brief_item *item = append(&brief->warnings, new_item(brief, NULL, NULL, text));
    if (item) {
        item->detail = gt_report_keep(brief->report, detail);
        item->part = gt_report_keep(brief->report, part);
    }
    return item;
}

void gt_brief_request(struct gt_brief *brief, const char *heading, const char *request)
{
    struct gt_brief_item *item = brief ? new_item(brief, NULL, NULL, gt_report_keep(brief->report, heading)) : NULL;
    if (append(&brief->requests, item))
        item->detail = gt_report_keep(brief->report, request);
}

void gt_brief_more(struct gt_brief *brief, const char *more)
{
    if (brief)
        brief->more = gt_report_keep(brief->report, more);
}

struct gt_brief *gt_brief_of_report(const struct gt_report *report)
{
    return report->root.brief ? report->root.brief : report->page.brief;
}

void gt_brief_draw(struct gt_buffer *out, const struct gt_brief_curve *curve, bool is_ascii)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const plain[] = {"_", ".", "-", "=", "+", "*", "#", "@"};
    for (int i = 0; i < GT_BRIEF_CELLS; i++) {
        double height = fmin(fmax(curve->cell[i], 0), 1);
        int step = (int)fmin(height * 8, 7);
        gt_buffer_text(out, isnan(curve->cell[i]) ? " " : is_ascii ? plain[step] : bars[step]);
    }
}
