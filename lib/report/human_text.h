/* Text, Markdown and HTML show values as people read them, and tables as grids of such texts. In all of them texts from outside
 * that could act on a terminal are escaped (base/utf8.h). */
#ifndef GT_REPORT_HUMAN_TEXT_H
#define GT_REPORT_HUMAN_TEXT_H

#include "report/report.h"

/* Returns the first node from `node` on, itself included, that people see; NULL at the end. */
const struct gt_node *gt_node_seen(const struct gt_node *node);

/* Appends a field's value and unit: "67.254", "12 seconds", "yes", "n/a". Numbers have the decimals of the report's layout. */
void gt_human_text_field(struct gt_buffer *out, const struct gt_report *report, const struct gt_node *field);
/* Appends it as the report's layout has it. */
void gt_human_text_shown(struct gt_buffer *out, const struct gt_report *report, const struct gt_node *field);
/* Appends it in a unit chosen by its size. Returns false, and appends nothing, where it has none to choose. */
bool gt_human_text_amount(struct gt_buffer *out, const struct gt_node *field);

/* A grid holds the texts of a table or of a GT_ROW section. Row 0 holds the titles. Columns of a table without keys
 * in which every value is missing are left out. */
struct gt_grid {
    const struct gt_report *report;
    size_t columns, rows;
    char **text;    /* row by row */
    char **exact;   /* what `text` is in other words, with GT_GRID_AMOUNTS; each may be NULL */
    bool *is_text;  /* of each column: not a number */
    size_t *of;     /* each column's number in the table */
    bool keyed;     /* the first column names the rows */
    unsigned flags; /* GT_GRID_... */
    int failed;     /* 0 or -ENOMEM */
};

enum {
    GT_GRID_ORIGINAL = 1,     /* with 0.0 where the original has that for what was not measured */
    GT_GRID_BRIEF = 2,        /* with four significant digits in analyses of blocks */
    GT_GRID_ALWAYS_BRIEF = 4, /* in whatever it is */
    GT_GRID_AMOUNTS = 8,      /* each amount in a unit chosen by its size, instead of the unit of its column or title */
};

/* Returns how many sections from `first` on hold the same fields and nothing else: "Main", "Descendants", "Combined"; 0 when `first`
 * is not such a section. Two and more make one table, a row each. */
size_t gt_human_text_alike(const struct gt_node *first);
/* Returns section number `count`, from 1, of those that gt_human_text_alike counts. */
const struct gt_node *gt_human_text_last(const struct gt_node *first, size_t count);
/* Fills the grid of a node, or of `count` sections that are alike. */
int gt_grid_init(struct gt_grid *grid, const struct gt_report *report, const struct gt_node *node, size_t count,
                 unsigned flags);
void gt_grid_release(struct gt_grid *grid);
const char *gt_grid_exact(const struct gt_grid *grid, size_t row, size_t column); /* NULL: the text is exact */
const char *gt_grid_at(const struct gt_grid *grid, size_t row, size_t column);
/* Returns true for a column that has the same text in all of several rows. */
bool gt_grid_is_same(const struct gt_grid *grid, size_t column);

/* Terminals. */
void gt_put_spaces(struct gt_buffer *out, size_t count);
size_t gt_text_columns(const char *text); /* that a terminal needs for it */
/* Returns how many bytes of `text` (UTF-8) fit into `width` columns, one character at least. It is broken between words
 * where there are any, else within names; *ret_next is where the next line begins. */
size_t gt_wrap_piece(const char *text, size_t width, const char **ret_next);
/* Appends what fits of `text` behind `column` of a line, and the rest on further lines from `indent` on. */
void gt_put_wrapped(struct gt_buffer *out, const char *text, size_t column, size_t indent, size_t width);

#endif
