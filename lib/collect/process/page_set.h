/* A set of page frames, each with two marks, one for each side of the job. Memory is taken only where frames are:
 * 64 KiB for each GiB of physical memory (with pages of 4 KiB) that holds a member. */
#ifndef GT_COLLECT_PAGE_SET_H
#define GT_COLLECT_PAGE_SET_H

#include <stdint.h>

struct gt_page_chunk;

struct gt_page_set {
    struct gt_page_chunk **directory; /* by the upper bits of the frame number; mapped at the first member */
    struct gt_page_chunk *first;      /* all chunks, linked */
};

enum gt_page_mark { GT_PAGE_MAIN = 1, GT_PAGE_DESCENDANT = 2 };

/* Add `mark` to `frame`; returns the marks it had before, -ENOMEM, or -ERANGE for a number no machine can have. */
int gt_page_set_add(struct gt_page_set *set, uint64_t frame, enum gt_page_mark mark);
/* Forget everything and give the memory back. */
void gt_page_set_clear(struct gt_page_set *set);

#endif
