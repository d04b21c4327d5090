/* What a comparison consists of; private to lib/analyse/compare*.c. */
#ifndef GT_ANALYSE_COMPARE_PARTS_H
#define GT_ANALYSE_COMPARE_PARTS_H

#include "analyse/compare/compare.h"
#include "base/json_tree.h"

struct gt_session {
    char *name;
    size_t runs;
};

/* One block as the runs know it. */
struct gt_slot {
    const char *name;                   /* in the run that brought it */
    char *label;                        /* all its names: "a.py:9 -> a.py:12" */
    const struct gt_json_value **block; /* [runs], NULL where a run has no such block */
};

struct gt_comparison {
    const struct gt_compare_options *options;
    const char *statistic;
    struct gt_session *session; /* in the order given; the first is the baseline */
    size_t sessions;
    struct gt_json_value **run; /* all runs, */
    size_t *session_of_run;     /* and whose they are */
    size_t runs;
    struct gt_slot *slot;
    size_t slots;
};

/* What a figure is read from: the tree of a run, or a block in it. */
struct gt_figure {
    const struct gt_slot *slot; /* NULL: the run itself */
    const char *keys[5];        /* NULL-terminated */
    double factor;              /* that values are multiplied with; 0: none */
    bool as_original; /* with the 0 that the original has about GPUs where there is none; else that is missing */
};

/* Joules of the job (`device` NULL: all), and of a block ("total": all). */
struct gt_figure gt_compare_job_energy(const char *device);
struct gt_figure gt_compare_block_energy(const struct gt_slot *slot, const char *device);

/* Does the energy of some session rest on a model of the user's? */
bool gt_compare_is_estimated(const struct gt_comparison *comparison);
/* The figure in one run, NaN where that has none. */
double gt_compare_run(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t run);
/* The least part of the time, in percent, for which a figure of energy was measured in a run; 100 for other figures. */
double gt_compare_covered(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t run);
/* The same of a session's runs. */
double gt_compare_session_covered(const struct gt_comparison *comparison, const struct gt_figure *figure,
                                  size_t session);
/* The figure's mean over the runs of a session, and how many had it; NaN and 0 when none had. */
double gt_compare_value(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t session,
                        size_t *ret_runs);
/* The values of a session's runs that have the figure; returns how many there are. */
size_t gt_compare_values(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t session,
                         double *ret);
/* The 95 % confidence interval of the difference of the means of two sessions, see gt_welch_interval; NaN when one of them has a
 * single run. */
int gt_compare_interval(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t baseline,
                        size_t session, double *ret_low, double *ret_high);

/* Find the slots: which blocks of the runs are the same. */
int gt_compare_match(struct gt_comparison *comparison, struct gt_error *error);
/* Judge options->rules and add a table of them; returns how many are broken. */
int gt_compare_judge(const struct gt_comparison *comparison, struct gt_node *root, struct gt_error *error);
/* Joules of the sessions side by side, where they were measured. 0 or -ENOMEM. */
int gt_compare_energy(struct gt_node *root, const struct gt_comparison *comparison);

/* What the runs of a session say against those of the baseline. */
struct gt_judgement {
    double low, high;       /* of the difference, see gt_compare_interval */
    double p;               /* see gt_permutation_test; NaN with too few runs */
    size_t baselines, runs; /* that have the figure */
};

/* A line of the summary: a figure of the job or of a block, in base units. */
struct gt_compare_line {
    const struct gt_slot *slot; /* NULL: the whole job */
    const char *title;          /* "Peak RAM" */
    const char *name;           /* as rules have it: "combined_ram_peak" */
    struct gt_figure figure;
    const char *unit, *shown_unit;  /* of the figure, and what people see it in */
    double shown;                   /* from the one to the other */
    struct gt_judgement *judgement; /* [sessions], the baseline's is empty */
};

struct gt_compare_lines {
    struct gt_compare_line *line;
    size_t count;
};

/* Time, CPU, memory, GPUs and energy, of the whole and of each block, where they are not nothing in every session; and which
 * of them differ. 0 or -ENOMEM. */
int gt_compare_lines(struct gt_compare_lines *ret, const struct gt_comparison *comparison);
void gt_compare_lines_release(struct gt_compare_lines *lines);
/* "yes", "no", "too few runs"; NULL where a side has no value at all. */
const char *gt_compare_verdict(const struct gt_judgement *judgement);
/* The lines for people, and for programs. */
void gt_compare_summary(struct gt_node *root, const struct gt_comparison *comparison,
                        const struct gt_compare_lines *lines, unsigned flags);
void gt_compare_significance(struct gt_node *root, const struct gt_comparison *comparison,
                             const struct gt_compare_lines *lines);

/* The sessions' values in one row, ascending, and then those that have none; `flags` of report.h. */
int gt_compare_row(struct gt_node *parent, const char *key, const char *title, const struct gt_comparison *comparison,
                   const struct gt_figure *figure, unsigned flags);
/* A row for each session but the baseline. `unit` may be NULL. */
int gt_compare_difference(struct gt_node *table, const struct gt_comparison *comparison, const struct gt_figure *figure,
                          const char *measurement, const char *unit);
struct gt_node *gt_compare_differences(struct gt_node *root, const char *key, const char *title, bool of_blocks);
int gt_compare_build(struct gt_report *report, const struct gt_comparison *comparison);
void gt_compare_warn(const struct gt_comparison *comparison, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
