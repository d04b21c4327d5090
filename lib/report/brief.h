/* The brief is a section of a report that says the most important in a few lines: what ran and how it ended, a line for each resource
 * with its course, what is remarkable, what to ask for next time. The format "summary" shows nothing else, and Markdown begins
 * with it; data formats, text and pages have the same figures elsewhere. Texts are whole: whoever shows them escapes them. */
#ifndef GT_REPORT_BRIEF_H
#define GT_REPORT_BRIEF_H

#include "report/report.h"

#define GT_BRIEF_KEY "summary"

enum { GT_BRIEF_CELLS = 20, GT_BRIEF_WARNINGS = 3 };

/* The course of a figure: each cell from 0 to 1, NaN where nothing is known. */
struct gt_brief_curve {
    double cell[GT_BRIEF_CELLS];
};

/* A line: "memory    13.9 GB   <curve>   peak". Words in brackets go first where it is too long. */
struct gt_brief_line {
    const char *title;
    const char *value;                  /* NULL: the words stand in its place */
    const struct gt_brief_curve *curve; /* NULL: there is none */
    const char *words;
};

/* `is_alarm`: how it ended is to be seen before anything else. */
struct gt_node *gt_brief_add(struct gt_node *root, const char *title, const char *outcome, bool is_alarm);
void gt_brief_line(struct gt_node *brief, const struct gt_brief_line *line);
/* Adds a line before all others: the last lines go first where there is no room. */
void gt_brief_first(struct gt_node *brief, const struct gt_brief_line *line);
/* Adds a line after all others for the format "summary". Pages and Markdown have a table with the same values. */
void gt_brief_text_line(struct gt_node *brief, const struct gt_brief_line *line);
/* A sentence, and a further one or NULL. */
void gt_brief_warning(struct gt_node *brief, const char *sentence, const char *detail);
/* The same about other programs than the job: GT_STYLE_ONLY_WARNINGS leaves it out. */
void gt_brief_remark(struct gt_node *brief, const char *sentence, const char *detail);
/* It does the same, and pages show the part with this key; NULL: none. */
void gt_brief_finding(struct gt_node *brief, const char *sentence, const char *detail, const char *part);
/* A request says what to ask for next time: a heading and what is to be pasted, or NULL. */
void gt_brief_request(struct gt_node *brief, const char *heading, const char *request);
/* Where the rest is. */
void gt_brief_more(struct gt_node *brief, const char *more);

/* Reading. The brief of a report may lie in its page. Lines, warnings and requests are the children of sections. */
const struct gt_node *gt_brief_of(const struct gt_node *root); /* NULL: there is none */
const struct gt_node *gt_brief_of_report(const struct gt_report *report);
/* Returns the first item of a list ("lines", "text_lines", "warnings" or "requests"); NULL: it is empty. */
const struct gt_node *gt_brief_first_of(const struct gt_node *brief, const char *list);
/* Returns a text of the brief ("title", "outcome", "more": where the rest is), or of an item: "value" of a line; "words" of a line, a
 * sentence or a request; "detail", a further sentence or what is to be pasted; "part", key of the part that shows it. "": none. */
const char *gt_brief_text(const struct gt_node *node, const char *key);
/* Returns true if a brief is an "alarm", or a warning a "remark". */
bool gt_brief_is(const struct gt_node *node, const char *key);
bool gt_brief_curve(const struct gt_node *item, struct gt_brief_curve *ret);

/* One character for each cell: bars in UTF-8, or their like in ASCII. */
void gt_brief_draw(struct gt_buffer *out, const struct gt_brief_curve *curve, bool is_ascii);

#endif
