#include "report/brief.h"

#include <math.h>

/* ---- Building ---------------------------------------------------------------------------------------------------- */

struct gt_node *gt_brief_add(struct gt_node *root, const char *title, const char *outcome, bool is_alarm)
{
    struct gt_node *brief = gt_report_section(root, GT_BRIEF_KEY, "Summary");
    gt_node_flags(brief, GT_ONLY_PEOPLE | GT_NOT_IN_TEXT | GT_NOT_ON_PAGE);
    gt_report_text(brief, "title", "Title", title);
    gt_report_text(brief, "outcome", "Outcome", outcome);
    gt_report_bool(brief, "alarm", "Alarm", is_alarm);
    gt_report_section(brief, "lines", "Figures");
    gt_report_section(brief, "text_lines", "Figures");
    gt_report_section(brief, "warnings", "Warnings");
    gt_report_section(brief, "requests", "Next time");
    return brief;
}

/* A node that is being built is found like one that is read. */
static struct gt_node *part(struct gt_node *brief, const char *key)
{
    return brief ? (struct gt_node *)gt_node_find(brief, key) : NULL;
}

static void add_curve(struct gt_node *item, const struct gt_brief_curve *curve)
{
    struct gt_node *series = gt_report_series(item, "curve", "Course", "", "");
    int line = gt_series_line(series, "curve", "Course");
    for (int i = 0; i < GT_BRIEF_CELLS; i++)
        if (!isnan(curve->cell[i]))
            gt_series_point(series, line, i, curve->cell[i]);
}

static void add_line(struct gt_node *lines, const struct gt_brief_line *line)
{
    struct gt_node *item = gt_report_section(lines, "line", line->title);
    gt_report_text(item, "value", "Value", line->value);
    gt_report_text(item, "words", "Words", line->words);
    if (line->curve)
        add_curve(item, line->curve);
}

void gt_brief_line(struct gt_node *brief, const struct gt_brief_line *line)
{
    add_line(part(brief, "lines"), line);
}

void gt_brief_first(struct gt_node *brief, const struct gt_brief_line *line)
{
    struct gt_node *lines = part(brief, "lines"), *before = lines ? lines->first : NULL;
    add_line(lines, line);
    while (before && before->next && before->next != lines->last)
        before = before->next;
    if (!before || before == lines->last)
        return;
    lines->last->next = lines->first;
    lines->first = lines->last;
    lines->last = before;
    before->next = NULL;
}

void gt_brief_text_line(struct gt_node *brief, const struct gt_brief_line *line)
{
    add_line(part(brief, "text_lines"), line);
}

static struct gt_node *add_pair(struct gt_node *list, const char *words, const char *detail)
{
    struct gt_node *item = gt_report_section(list, "item", "");
    gt_report_text(item, "words", "Words", words);
    gt_report_text(item, "detail", "Detail", detail);
    return item;
}

void gt_brief_warning(struct gt_node *brief, const char *sentence, const char *detail)
{
    add_pair(part(brief, "warnings"), sentence, detail);
}

void gt_brief_remark(struct gt_node *brief, const char *sentence, const char *detail)
{
    gt_report_bool(add_pair(part(brief, "warnings"), sentence, detail), "remark", "Remark", true);
}

void gt_brief_finding(struct gt_node *brief, const char *sentence, const char *detail, const char *shown)
{
    struct gt_node *item = add_pair(part(brief, "warnings"), sentence, detail);
    if (shown)
        gt_report_text(item, "part", "Part", shown);
}

void gt_brief_request(struct gt_node *brief, const char *heading, const char *request)
{
    add_pair(part(brief, "requests"), heading, request);
}

void gt_brief_more(struct gt_node *brief, const char *more)
{
    gt_report_text(brief, "more", "More", more);
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

const struct gt_node *gt_brief_of(const struct gt_node *root)
{
    const struct gt_node *brief = gt_node_find(root, GT_BRIEF_KEY);
    return brief && brief->kind == GT_NODE_SECTION && gt_node_find(brief, "outcome") ? brief : NULL;
}

const struct gt_node *gt_brief_of_report(const struct gt_report *report)
{
    const struct gt_node *brief = gt_brief_of(&report->root);
    return brief ? brief : gt_brief_of(&report->page);
}

const struct gt_node *gt_brief_first_of(const struct gt_node *brief, const char *key)
{
    const struct gt_node *list = gt_node_find(brief, key);
    return list ? list->first : NULL;
}

const char *gt_brief_text(const struct gt_node *node, const char *key)
{
    const struct gt_node *found = gt_node_find(node, key);
    const char *text = found ? gt_node_text(found) : NULL;
    return text ? text : "";
}

bool gt_brief_is(const struct gt_node *node, const char *key)
{
    const struct gt_node *member = gt_node_find(node, key);
    return member && member->kind == GT_NODE_BOOL && member->boolean;
}

bool gt_brief_curve(const struct gt_node *item, struct gt_brief_curve *ret)
{
    const struct gt_node *series = gt_node_find(item, "curve");
    const struct gt_series_line *of = series ? series->series.line : NULL;
    for (int i = 0; i < GT_BRIEF_CELLS; i++)
        ret->cell[i] = NAN;
    for (size_t i = 0; of && i < of->points; i++)
        if (of->point[i].x >= 0 && of->point[i].x < GT_BRIEF_CELLS)
            ret->cell[(int)of->point[i].x] = of->point[i].y;
    return of && of->points > 0;
}

/* ---- Drawing ----------------------------------------------------------------------------------------------------- */

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
