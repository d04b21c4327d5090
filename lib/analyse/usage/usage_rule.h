/* A rule says when a run fails: "memory>2GB", "time<10min". Figures are named as the summary has them, and a limit has a unit. */
#ifndef GT_ANALYSE_USAGE_USAGE_RULE_H
#define GT_ANALYSE_USAGE_USAGE_RULE_H

#include "analyse/usage/figures.h"

struct gt_usage_rule {
    const char *text;
    int figure;
    bool above;           /* broken by what lies above the limit, else below */
    double limit, factor; /* in base units; and how many of them the unit is */
    char written[64];     /* "2 GB" */
};

/* Returns name `index` of the figures; NULL past the end. */
const char *gt_usage_rule_figure(size_t index);
/* Returns a limit as people write it for a figure, "2GB"; NULL: there is no such figure. */
const char *gt_usage_rule_example(const char *name);
/* Returns the figure whose name is nearly this one, or NULL. */
const char *gt_usage_rule_near(const char *name);
/* Reads FIGURE>LIMIT or FIGURE<LIMIT. -EINVAL tells what is wrong with it. */
int gt_usage_rule_read(struct gt_usage_rule *ret, const char *text, struct gt_error *error);
/* Returns true when the run breaks the rule, also by not having the figure, and says so: "memory 144.7 MB is above 100 MB". */
bool gt_usage_rule_is_broken(const struct gt_usage_rule *rule, const struct gt_usage *usage, char *sentence,
                             size_t size);

/* For names that were mistyped: returns how many letters have to be added, removed or replaced; beyond `most`, which is small, some greater
 * number. */
size_t gt_letters_between(const char *one, const char *other, size_t most);

#endif
