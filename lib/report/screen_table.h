/* Tables in a terminal are never wider than it.
 *
 * What says nothing goes first: columns without a value, rows of zeros, columns that say the same in all rows; a line names them. Then
 * titles take several lines, then texts. What is still too wide is shown a row a paragraph. */
#ifndef GT_REPORT_SCREEN_TABLE_H
#define GT_REPORT_SCREEN_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "report/human_text.h"

/* Appends the grid of `table` (NULL: a row of fields), indented, in the width and the style of the report. The grid changes. Returns 0 or
 * -ENOMEM. */
int gt_screen_table(struct gt_buffer *out, struct gt_grid *grid, const struct gt_table *table, size_t indent);

/* Appends what fits of `text`, where the line stands at `column`, and the rest on further lines from `indent` on. */
void gt_screen_text(struct gt_buffer *out, const char *text, size_t column, size_t indent, size_t width);

/* Appends lines with a title and a colon, bold where the report is coloured. */
void gt_screen_title(struct gt_buffer *out, const struct gt_report *report, const char *title, size_t indent);

/* Make the widest of the columns that may give way narrower until all together need no more than `available`, or none is wider
 * than 16, or than 10 where there are less than 60 columns. */
void gt_wrap_fit(size_t *width, const bool *gives_way, size_t columns, size_t available);
/* Returns how many bytes of `text` (UTF-8) fit into `width` columns, one character at least. It is broken between words where there are
 * any, else within names; *ret_next is where the next line begins. */
size_t gt_wrap_piece(const char *text, size_t width, const char **ret_next);

#endif
