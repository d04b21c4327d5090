/* Others read a file of rows while it grows.
 *
 * The kernel takes a write that crosses a page in parts: a reader may find the first part alone, and a kill may leave it.
 * So no row crosses the end of a page. The row before it is made longer instead, by zeros behind a decimal point. 4096
 * divides every size of page. */
#ifndef GT_BASE_PAGE_H
#define GT_BASE_PAGE_H

#include <stddef.h>
#include <sys/types.h>

enum { GT_PAGE = 4096 };

/* Returns how many bytes longer a row that ends at `end` must be, so that the next row, of at most `next` bytes, crosses no
 * page. */
static inline size_t gt_page_rest(off_t end, size_t next)
{
    size_t left = GT_PAGE - (size_t)end % GT_PAGE;
    return left < next && next <= GT_PAGE ? left : 0;
}

#endif
