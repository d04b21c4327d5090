/* What a comparison consists of; private to lib/analyse/compare*.c. */
#ifndef GT_ANALYSE_COMPARE_PARTS_H
#define GT_ANALYSE_COMPARE_PARTS_H

#include <jansson.h>

#include "analyse/compare.h"

struct gt_session {
    char *name;
    size_t runs;
};

/* One block as the runs know it. */
struct gt_slot {
    const char *name;     /* in the run that brought it */
    char *label;          /* all its names: "a.py:9 -> a.py:12" */
    const json_t **block; /* [runs], NULL where a run has no such block */
};

struct gt_comparison {
    const struct gt_compare_options *options;
    const char *statistic;
    struct gt_session *session; /* in the order given; the first is the baseline */
    size_t sessions;
    json_t **run;           /* all runs, */
    size_t *session_of_run; /* and whose they are */
    size_t runs;
    struct gt_slot *slot;
    size_t slots;
};

/* What a figure is read from: the tree of a run, or a block in it. */
struct gt_figure {
    const struct gt_slot *slot; /* NULL: the run itself */
    const char *keys[5];        /* NULL-terminated */
    double factor;              /* that values are multiplied with; 0: none */
};

/* Joules of the job (`device` NULL: all), and of a block ("total": all). */
struct gt_figure gt_compare_job_energy(const char *device);
struct gt_figure gt_compare_block_energy(const struct gt_slot *slot, const char *device);

/* Does the energy of some session rest on a model of the user's? */
bool gt_compare_is_estimated(const struct gt_comparison *comparison);
/* The figure's mean over the runs of a session, and how many had it; NaN and 0 when none had. */
double gt_compare_value(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t session,
                        size_t *ret_runs);
/* The 95 % confidence interval of the difference of the means of two sessions; NaN when one has a single run.
 * Bootstrap: both sessions are drawn anew from their own runs, with replacement, 2,000 times; the interval lies between
 * the percentiles 2.5 and 97.5 of the differences (B. Efron, Annals of Statistics 7, 1979). The random numbers are always
 * the same. */
int gt_compare_interval(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t baseline,
                        size_t session, double *ret_low, double *ret_high);

/* Find the slots: which blocks of the runs are the same. */
int gt_compare_match(struct gt_comparison *comparison, struct gt_error *error);
/* Judge options->rules and add a table of them; returns how many are broken. */
int gt_compare_judge(const struct gt_comparison *comparison, struct gt_node *root, struct gt_error *error);
/* Joules of the sessions side by side, where they were measured. 0 or -ENOMEM. */
int gt_compare_energy(struct gt_node *root, const struct gt_comparison *comparison);
/* The sessions beside each other: time, CPU, memory, GPUs and energy, whole and block by block. 0 or -ENOMEM. */
int gt_compare_summary(struct gt_node *root, const struct gt_comparison *comparison, unsigned flags);
/* The sessions' values in one row, ascending; `flags` of report.h. Sessions without the block are left out. */
int gt_compare_row(struct gt_node *parent, const char *key, const char *title, const struct gt_comparison *comparison,
                   const struct gt_figure *figure, unsigned flags);
int gt_compare_difference(struct gt_node *table, const struct gt_comparison *comparison, const struct gt_figure *figure,
                          const char *measurement);
struct gt_node *gt_compare_differences(struct gt_node *root, const char *key, const char *title, bool of_blocks);
int gt_compare_build(struct gt_report *report, const struct gt_comparison *comparison);
void gt_compare_warn(const struct gt_comparison *comparison, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
