/* The set holds page frames, each with two marks, one for each side of the job. It is a hash of blocks of 512 frames. Memory is taken only where
 * frames are: 0.1 to 0.2 MB for each GiB of physical memory (with pages of 4 KiB) that is full of members. */
#ifndef GT_COLLECT_PAGE_SET_H
#define GT_COLLECT_PAGE_SET_H

#include <stddef.h>
#include <stdint.h>

struct gt_page_block;

/* All zero is an empty set. */
struct gt_page_set {
    struct gt_page_block *block;
    size_t size, count; /* of blocks: a power of two, or 0; used */
};

enum gt_page_mark { GT_PAGE_MAIN = 1, GT_PAGE_DESCENDANT = 2 };

/* Add `mark` to `frame`; returns the marks it had before, -ENOMEM, or -ERANGE for a number no machine can have. */
int gt_page_set_add(struct gt_page_set *set, uint64_t frame, enum gt_page_mark mark);
/* Forget everything and give the memory back. */
void gt_page_set_clear(struct gt_page_set *set);

#endif
