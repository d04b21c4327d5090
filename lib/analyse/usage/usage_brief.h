/* The brief of a run: how it ended, a line for each resource that it used, what is remarkable, what to ask for next time. */
#ifndef GT_ANALYSE_USAGE_USAGE_BRIEF_H
#define GT_ANALYSE_USAGE_USAGE_BRIEF_H

#include "analyse/usage/figures.h"

/* Runs that were shorter get one line without any utilisation: the kernel counts in ticks of 10 ms. */
#define GT_BRIEF_SHORTEST 0.05

void gt_usage_brief(const struct gt_usage *usage, struct gt_node *root);

#endif
