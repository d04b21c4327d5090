/* A rule says when a run fails: "memory>2GB", "gpu<50%". The words for figures are the same for runs, recordings, comparisons and tests. */
#ifndef GT_ANALYSE_USAGE_USAGE_RULE_H
#define GT_ANALYSE_USAGE_USAGE_RULE_H

#include "analyse/usage/usage.h"

/* Begins the name of a code block in rules of comparisons: "block:sort.time>10s". */
#define GT_RULE_BLOCK "block:"

/* A word for a figure. "_" and "-" are the same in it. */
struct gt_rule_word {
    const char *name, *other; /* `other`: in results; "": no further spelling */
    enum gt_unit unit;
    double (*of)(const struct gt_usage *usage);
    const char *example; /* of a limit */
    const char *job[4],
        *block[4];          /* its keys in results of a job and of a code block; see analyse/compare/comparison.h */
    const char *sampled[4]; /* of a job whose results have samples alone */
    bool is_rate;           /* of a job in results: divided by the duration */
};

/* Returns word `index`; NULL past the end. */
const struct gt_rule_word *gt_rule_word(size_t index);
const struct gt_rule_word *gt_rule_word_find(const char *name);
/* Returns the word that is nearly this name, or NULL. */
const char *gt_rule_word_near(const char *name);
/* Appends all words as a list: "memory, time and cpu". */
void gt_rule_words(struct gt_buffer *out);

/* FIGURE>LIMIT or FIGURE<LIMIT. Names may hold < and > themselves: the last one counts. */
struct gt_rule_parts {
    size_t name_length;
    bool above; /* broken by a value above the limit, else below */
    const char *limit;
};
/* Returns 0, or -EINVAL for a text without > and <, or with = behind them. */
int gt_rule_split(struct gt_rule_parts *ret, const char *text, struct gt_error *error);

/* Sets the error of a limit in a unit that the value of `word` is not measured in. Returns -EINVAL. */
int gt_rule_wrong_unit(const char *rule, const struct gt_rule_word *word, const char *symbol, struct gt_error *error);

struct gt_usage_rule {
    const char *text;
    const struct gt_rule_word *word;
    bool above;
    double limit, factor; /* in base units; and how many of them the unit is */
    char written[64];     /* "2 GB" */
};

/* Reads a rule with an absolute limit. -EINVAL tells what is wrong with it. */
int gt_usage_rule_read(struct gt_usage_rule *ret, const char *text, struct gt_error *error);
/* Returns true when the run breaks the rule, also by not having the figure, and says so: "memory 144.7 MB is above 100 MB". */
bool gt_usage_rule_is_broken(const struct gt_usage_rule *rule, const struct gt_usage *usage, char *sentence,
                             size_t size);

/* For mistyped names: returns how many letters have to be added, removed, replaced, or swapped with the next one; more than `most` for
 * long names. */
size_t gt_letters_between(const char *one, const char *other, size_t most);

#endif
