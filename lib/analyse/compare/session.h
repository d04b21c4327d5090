/* Sessions are compared by their runs, by the blocks that these have in common, and by figures of both. */
#ifndef GT_ANALYSE_SESSION_H
#define GT_ANALYSE_SESSION_H

#include "report/report.h"

struct gt_session {
    char *name;
    size_t runs;
};

/* One block as the runs know it. */
struct gt_slot {
    const char *name;             /* in the run that brought it */
    char *label;                  /* all its names: "a.py:9 -> a.py:12" */
    const struct gt_node **block; /* [runs], NULL where a run has no such block */
};

struct gt_comparison {
    const struct gt_compare_options *options;
    const char *statistic;
    struct gt_session *session; /* in the order given; the first is the baseline */
    size_t sessions;
    struct gt_report **run; /* results of all runs, */
    size_t *session_of_run; /* and whose they are */
    size_t runs;
    struct gt_slot *slot;
    size_t slots;
};

/* Where a figure stands in the results of a run, or of a block in it. */
struct gt_figure {
    const struct gt_slot *slot; /* NULL: the run itself */
    const char *keys[5];        /* NULL-terminated */
    double factor;              /* that values are multiplied with; 0: none */
    bool as_original; /* with the 0 that the original has about GPUs where there is none; else that is missing */
};

/* Reads the files of the sessions and finds out which blocks of the runs are the same. Close the comparison in any case. */
int gt_comparison_open(struct gt_comparison *comparison, const struct gt_compare_options *options,
                       struct gt_error *error);
void gt_comparison_close(struct gt_comparison *comparison);

/* Returns the results of a run. */
const struct gt_node *gt_compare_results(const struct gt_comparison *comparison, size_t run);
/* Returns the first measurement that the first run has in the section `key`; the others are its siblings. NULL when there is none. */
const struct gt_node *gt_compare_measurements(const struct gt_comparison *comparison, const char *key);
/* Returns the figure in one run, NaN where that has none. */
double gt_compare_run(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t run);
/* Returns the least part of the time, in percent, for which a figure of energy was measured in a run; 100 for other figures. */
double gt_compare_covered(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t run);
/* Returns the same of a session's runs. */
double gt_compare_session_covered(const struct gt_comparison *comparison, const struct gt_figure *figure,
                                  size_t session);
/* Returns the figure's mean over the runs of a session, and how many had it; NaN and 0 when none had. */
double gt_compare_value(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t session,
                        size_t *ret_runs);
/* Puts the values of a session's runs that have the figure into `ret`, and returns how many there are. */
size_t gt_compare_values(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t session,
                         double *ret);
/* Tells the 95 % confidence interval of the difference of the means of two sessions, see gt_welch_interval; NaN when one of
 * them has a single run. */
int gt_compare_interval(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t baseline,
                        size_t session, double *ret_low, double *ret_high);

/* Return where the joules of the job stand (`device` NULL: all), and of a block ("total": all). */
struct gt_figure gt_compare_job_energy(const char *device);
struct gt_figure gt_compare_block_energy(const struct gt_slot *slot, const char *device);
/* Return true when energy of the session, or of any, rests on a model of the user's. */
bool gt_compare_session_is_estimated(const struct gt_comparison *comparison, size_t session);
bool gt_compare_is_estimated(const struct gt_comparison *comparison);

void gt_compare_warn(const struct gt_comparison *comparison, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
