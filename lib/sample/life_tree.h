/* Processes as a tree: each below the one that started it. */
#ifndef GT_SAMPLE_LIFE_TREE_H
#define GT_SAMPLE_LIFE_TREE_H

#include "sample/life.h"

struct gt_life_place {
    size_t life;    /* index into the list */
    unsigned depth; /* 0: its parent is none of the list */
    uint64_t open;  /* bit d: what stands at depth d above it, or itself, has a sibling further down */
};

/* The lives in the order of a drawn tree: those that begin earlier before later ones, and each before its children. `sorted` is as
 * gt_lives_sort leaves it. A parent is the last process of that number that began before. *ret has one place for each, free with free().
 * Returns 0 or -ENOMEM. */
int gt_life_tree(struct gt_life_place **ret, const struct gt_lives *sorted);

enum { GT_LIFE_BRANCH_DEPTH = 12, GT_LIFE_BRANCH_SIZE = GT_LIFE_BRANCH_DEPTH * 4 + 1 };
/* Draw the lines before its name: "│ ├ ". Deeper ones are drawn as if at GT_LIFE_BRANCH_DEPTH. */
void gt_life_branch(char ret[GT_LIFE_BRANCH_SIZE], const struct gt_life_place *place);

#endif
