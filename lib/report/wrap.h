/* In tables that are wider than a terminal the columns of text give way, and their cells go on in further lines. */
#ifndef GT_REPORT_WRAP_H
#define GT_REPORT_WRAP_H

#include <stdbool.h>
#include <stddef.h>

/* Make the widest of the columns that may give way narrower until all together need no more than `available`, or none is wider
 * than 16, or than 10 where there are less than 60 columns. */
void gt_wrap_fit(size_t *width, const bool *gives_way, size_t columns, size_t available);
/* Returns how many bytes of `text` (UTF-8) fit into `width` columns, one character at least. It is broken between words where there are
 * any, else within names; *ret_next is where the next line begins. */
size_t gt_wrap_piece(const char *text, size_t width, const char **ret_next);

#endif
