/* The brief of a report says the most important in a few lines: what ran and how it ended, a line for each resource
 * with its course, what is remarkable, what to ask for next time. The format "summary" shows nothing else, Markdown and
 * pages begin with it, and data formats have the same values elsewhere. Texts are whole: formats escape them. */
#ifndef GT_REPORT_BRIEF_H
#define GT_REPORT_BRIEF_H

#include "report/report.h"

enum { GT_BRIEF_CELLS = 20, GT_BRIEF_WARNINGS = 3 };

/* The course of a value: each cell from 0 to 1, NaN where nothing is known. */
struct gt_brief_curve {
    double cell[GT_BRIEF_CELLS];
};

/* A line, "memory    13.9 GB   <curve>   peak", a warning or a request. If a line is too long, words in brackets go
 * first. Texts that are missing are "". */
struct gt_brief_item {
    struct gt_brief_item *next;
    const char *title, *value, *words; /* of lines: without a value the words stand in its place */
    const char *detail;                /* of warnings a further sentence; of requests the text to paste */
    const char *part;                  /* of warnings: the key of the part of the report that shows it */
    const struct gt_brief_curve *curve;
    bool is_remark; /* about other programs than the job: GT_STYLE_ONLY_WARNINGS leaves it out */
};

struct gt_brief_list {
    struct gt_brief_item *first, *last;
};

/* It belongs to a node: of a report, of its page, or of a part of joined reports. */
struct gt_brief {
    struct gt_report *report;
    const char *title, *outcome, *more; /* more: how to see the rest */
    bool is_alarm;                      /* the outcome is to be seen before anything else */
    bool is_verdict;                    /* Markdown begins with it, although it is of the page alone */
    struct gt_brief_list lines, warnings, requests;
    struct gt_brief_list text_lines; /* for the format "summary": others have a table with the same values */
};

/* Building. Texts are copied and may be NULL, and so may the brief. */
struct gt_brief *gt_brief_add(struct gt_node *node, const char *title, const char *outcome, bool is_alarm);
__attribute__((format(printf, 5, 6))) void gt_brief_line(struct gt_brief *brief, const char *title, const char *value,
                                                         const struct gt_brief_curve *curve, const char *words, ...);
__attribute__((format(printf, 4, 5))) void gt_brief_text_line(struct gt_brief *brief, const char *title,
                                                              const char *value, const char *words, ...);
/* Adds a line before the others: if there is no room, the last lines are left out. */
void gt_brief_first(struct gt_brief *brief, const char *title, const char *words);
/* Returns the warning, or NULL without memory. */
__attribute__((format(printf, 4, 5))) struct gt_brief_item *gt_brief_warning(struct gt_brief *brief, const char *detail,
                                                                             const char *part, const char *words, ...);
void gt_brief_request(struct gt_brief *brief, const char *heading, const char *request);
void gt_brief_more(struct gt_brief *brief, const char *more);

/* Returns the brief of a report, which may lie in its page; NULL: none. */
struct gt_brief *gt_brief_of_report(const struct gt_report *report);

/* One character for each cell: bars in UTF-8, or similar ones in ASCII. */
void gt_brief_draw(struct gt_buffer *out, const struct gt_brief_curve *curve, bool is_ascii);

#endif
