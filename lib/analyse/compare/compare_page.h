/* The page of a comparison begins with the verdict, a forest plot of what changed, and the curves of the sessions on top of each other. */
#ifndef GT_ANALYSE_COMPARE_PAGE_H
#define GT_ANALYSE_COMPARE_PAGE_H

#include "analyse/compare/comparison.h"

/* Adds the forest plot, and returns how many figures differ for certain; -1: there are too few runs to tell. */
int gt_compare_forest(struct gt_node *page, const struct gt_comparison *comparison,
                      const struct gt_compare_lines *lines);
/* Adds the curves of the first run of each session that is a recording, from its begin on. Returns 0 or -ENOMEM. */
int gt_compare_curves(struct gt_node *page, const struct gt_comparison *comparison);
/* Adds what is said first. The rules are those of the report's table. */
void gt_compare_verdict_first(struct gt_report *report, const struct gt_comparison *comparison, int certain);

#endif
