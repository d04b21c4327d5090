/* Rows of a file that others read while it grows.
 *
 * The kernel takes a write that crosses a page in parts: a reader may find the first part alone, and a kill may leave it.
 * So no row crosses the end of a page: the row before it is made longer, by zeros behind a decimal point. 4096 divides
 * every size of page. */
#ifndef GT_BASE_PAGE_H
#define GT_BASE_PAGE_H

#include <stddef.h>
#include <sys/types.h>

enum { GT_PAGE = 4096 };

/* By how much a row that ends at `end` has to be longer so that the next, of at most `next` bytes, does not cross. */
static inline size_t gt_page_rest(off_t end, size_t next)
{
    size_t left = GT_PAGE - (size_t)end % GT_PAGE;
    return left < next && next <= GT_PAGE ? left : 0;
}

#endif
