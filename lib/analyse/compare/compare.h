/* A comparison puts results of several sessions side by side, and judges rules that a session must keep. */
#ifndef GT_ANALYSE_COMPARE_COMPARE_H
#define GT_ANALYSE_COMPARE_COMPARE_H

#include "base/json.h"
#include "report/report.h"

struct gt_session {
    char *name;
    size_t runs;
};

struct gt_session_value {
    double value;
    size_t session;
};

/* One run, with what the whole comparison asks of its results. */
struct gt_run {
    json_t *results;
    size_t session;
    double duration;   /* seconds; NaN: not known */
    int failed;        /* its exit status; 0: it did not fail, or that is not known */
    bool has_no_gpu;   /* its machine */
    bool is_estimated; /* its energy, by a model of the user's */
    double others;     /* cores that other programs used, if they disturbed it; else NaN */
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
    struct gt_run *run;
    size_t runs;
    struct gt_slot *slot;
    size_t slots;
    double *scratch;                /* [2 * runs] */
    struct gt_session_value *order; /* [sessions] */
};

/* Where a figure stands in the results of a run, or of a block in it. */
struct gt_figure {
    const struct gt_slot *slot; /* NULL: the run itself */
    const char *keys[5];        /* NULL-terminated */
    double factor;              /* that values are multiplied with; 0: none */
    bool is_rate;               /* divided by the duration of the run */
    bool as_original; /* with the 0 that the original has about GPUs where there is none; else that is missing */
};

/* Reads the files of the sessions and finds out which blocks of the runs are the same. Close the comparison in any
 * case. */
int gt_comparison_open(struct gt_comparison *comparison, const struct gt_compare_options *options,
                       struct gt_error *error);
void gt_comparison_close(struct gt_comparison *comparison);

/* Returns the measurements that the first run has under `key`, as members. */
const json_t *gt_compare_measurements(const struct gt_comparison *comparison, const char *key);
/* Returns the name of a block in results. */
const char *gt_compare_block_name(const json_t *block);
/* Returns the unit of memory that a run names under `key` in "static_data", and its bytes; else NULL and 1. */
const char *gt_compare_memory_unit(const struct gt_comparison *comparison, size_t run, const char *key,
                                   double *ret_bytes);
/* Returns the figure in one run, NaN where that has none. */
double gt_compare_run(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t run);
/* Returns the same of a session's runs. */
double gt_compare_session_covered(const struct gt_comparison *comparison, const struct gt_figure *figure,
                                  size_t session);
/* The runs of a session against those of the baseline, the first session. */
struct gt_compared {
    double value; /* the mean of its runs that have the figure, NaN when none has */
    size_t runs;  /* that have it */
    /* The 95 % confidence interval of the difference of the means, see gt_welch_interval; NaN with a single run. */
    double low, high;
    double p; /* see gt_permutation_test; NaN with too few runs, and where lines are not judged together */
};
struct gt_compared gt_compare_session(const struct gt_comparison *comparison, const struct gt_figure *figure,
                                      size_t session);
/* Returns its value alone. */
double gt_compare_value(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t session);

/* Returns the exit status of a run of one session if it failed and no run of the other failed so, or 0. Values of a
 * failed run end where the run did. */
int gt_compare_failure(const struct gt_comparison *comparison, size_t session, size_t other);
/* Returns how many runs of the session failed, and the exit status of the first of them. */
size_t gt_compare_failed_runs(const struct gt_comparison *comparison, size_t session, int *ret_status);

/* Return where the joules of the job stand (`device` NULL: all), and of a block ("total": all). */
struct gt_figure gt_compare_job_energy(const char *device);
struct gt_figure gt_compare_block_energy(const struct gt_slot *slot, const char *device);
/* Returns the CPU time of a block: as in reports of blocks, or from samples if a session has none there. */
struct gt_figure gt_compare_block_cpu_time(const struct gt_comparison *comparison, const struct gt_slot *slot);
/* Return true when energy of the session, or of any, rests on a model of the user's. */
bool gt_compare_session_is_estimated(const struct gt_comparison *comparison, size_t session);
bool gt_compare_is_estimated(const struct gt_comparison *comparison);

#define GT_COMPARE_WARN(comparison, ...) \
    gt_warn((comparison)->options->warn, (comparison)->options->context, __VA_ARGS__)

/* A line of the summary: a figure of the job or of a block, in base units. */
struct gt_compare_line {
    const struct gt_slot *slot; /* NULL: the whole job */
    const char *title;          /* "Peak RAM" */
    const char *name;           /* as rules have it: "combined_ram_peak" */
    struct gt_figure figure;
    const char *unit, *display_unit; /* of the figure, and what people see it in */
    double display_factor;           /* from the one to the other */
    bool is_estimated;
    struct gt_compared *session; /* [sessions] */
};

struct gt_compare_lines {
    struct gt_compare_line *line;
    size_t count;
};

/* Makes lines of time, CPU, memory, GPUs and energy, of the whole and of each block, where a session has any; and
 * tells which of them differ. Returns 0 or -ENOMEM. */
int gt_compare_lines(struct gt_compare_lines *ret, const struct gt_comparison *comparison);
void gt_compare_lines_release(struct gt_compare_lines *lines);
/* Returns "yes", "no" or "too few runs"; NULL where a side has no value at all. */
const char *gt_compare_verdict(const struct gt_compare_line *line, size_t session);

/* A rule FIGURE > LIMIT or FIGURE < LIMIT says when a session fails.
 *
 *   figure   COLUMN.STATISTIC of the whole session, as in "overall" of the results; counters.COLUMN;
 *            combined_ram_peak and other peaks, exact where the kernel keeps high-water marks; duration
 *            memory, time and the other words of analyse/usage/usage_rule.h
 *            energy.cpu, energy.dram, energy.gpu, energy.total: of the job
 *            block:NAME. before it: of a code block, also compute_time.total, self_time.p95, num_calls, ...
 *   limit    5GB, 30s, 200: absolute, in the unit given or the figure's own
 *            +5%: as much more than the baseline; +100MB: likewise, in units; -5%: less
 *
 * Absolute limits hold for every session but the baseline, or for the only one. A missing value breaks the rule.
 *
 * Judges options->rules and adds a table of them; returns how many are broken. */
int gt_compare_judge(const struct gt_comparison *comparison, struct gt_node *root, struct gt_error *error);

/* Builds a report of type "comparison_results" with gpu_tracker's keys and layout, and further keys after them.
 * Returns how many rules are broken. */
int gt_compare_report(struct gt_report **ret, const struct gt_compare_options *options, struct gt_error *error);

#endif
