/* The report of a job, and its analyses by profile: utilization of ranks, slow ranks, faulty nodes. */
#ifndef GT_ANALYSE_JOB_JOB_ANALYSIS_H
#define GT_ANALYSE_JOB_JOB_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>

#include "analyse/job/job.h"
#include "analyse/usage/usage.h"
#include "base/buffer.h"
#include "report/report.h"

/* ---- Statistics over one value of each rank: spread, imbalance and outliers ----
 *
 * * A rank is off if its value differs from the median by more than five standard deviations (1.4826 * MAD) and by more
 * than 5 % of the median. If there are values over time, at least half of them must differ from the median of their
 * time by more than 5 % on the same side. So neither chance (one of 1,000 healthy ranks is 3.3 deviations off) nor a
 * short disturbance counts. */

/* Spread of the known values. NaN: none. */
struct gt_spread {
    size_t count;
    double least, quarter, median, three_quarters, most, mean;
    double deviation; /* MAD: the median distance from the median */
};

/* Find the spread without NaN. -ENOMEM. */
int gt_spread_of(struct gt_spread *ret, const double *values, size_t count);
/* Returns most / mean - 1: the share of time that equal parts of the work would save. */
double gt_spread_imbalance(const struct gt_spread *spread);
/* Returns true for a distance of more than five deviations and 5 %, with at least five ranks. */
bool gt_spread_is_off(const struct gt_spread *spread, double value);

struct gt_rank_figures {
    size_t ranks, parts, nodes;
    const double *value; /* of each rank, NaN: not known */
    const double *part;  /* [rank][part], NaN: not known; NULL without parts */
    const size_t *node;  /* of each rank; NULL: not by node */
    const size_t *group; /* of each rank, which is compared within its group; NULL: one group */
    size_t groups;
};

struct gt_rank_score {
    double deviations;  /* from the median, signed */
    double ratio;       /* to the median */
    double share_off;   /* share of its parts that differ by 5 % on the same side; NaN: unknown */
    double since_start; /* mean of its later parts / mean of the first tenth - 1; NaN: unknown */
    bool is_off;
    bool with_node; /* the median of its node is off on the same side, and the node has other ranks */
};

/* Score all ranks. `spread` and `nodes`, which may be NULL, get the spread of the last group, and the score of the
 * median of each of its nodes. -ENOMEM. */
int gt_rank_scores(const struct gt_rank_figures *figures, struct gt_spread *spread, struct gt_rank_score *ranks,
                   struct gt_rank_score *nodes);

/* ---- Which ranks of a job differ from the others, and in what ---- */

#define GT_JOB_NO_LAUNCH ((size_t)-1)

enum gt_job_figure { GT_JOB_CORES, GT_JOB_MEMORY, GT_JOB_GPU_USE, GT_JOB_TIME, GT_JOB_FIGURES };

struct gt_job_outliers {
    struct gt_spread all[GT_JOB_FIGURES];
    struct gt_spread (*step)[GT_JOB_FIGURES];  /* of each launch */
    struct gt_spread (*peers)[GT_JOB_FIGURES]; /* [2 * launch + complete]: of the ranks that a rank is compared with */
    size_t uneven; /* launch with the largest imbalance of cores; GT_JOB_NO_LAUNCH: unknown */
};

extern const struct gt_job_figure_info {
    const char *key, *title, *unit; /* unit NULL: none */
    const char *name;               /* in remarks */
    double least;                   /* smaller distances from the median are ignored */
} gt_job_figure_infos[GT_JOB_FIGURES];
double gt_job_figure(const struct gt_job *job, size_t member, enum gt_job_figure figure);
/* -ENOMEM. Release it in any case. */
int gt_job_outliers_find(struct gt_job_outliers *ret, const struct gt_job *job);
void gt_job_outliers_release(struct gt_job_outliers *outliers);
/* Append remarks about a rank, "failed with 3; least CPU, 0.62 times the median". Returns the distance from the median
 * in deviations; infinity if it did not end well, 0 for no outlier. An unfinished recording counts only if others of
 * its step have samples two minutes later. */
double gt_job_remark(struct gt_buffer *out, const struct gt_job_outliers *outliers, const struct gt_job *job,
                     size_t member);
/* Returns true if its recording is not finished, but others of its step and attempt are. */
bool gt_job_is_late(const struct gt_job_outliers *outliers, const struct gt_job *job, size_t member);
/* Append how the command of a tracker ended, and return true, if it did not end well. The ends of ranks below are
 * unknown. */
bool gt_job_remark_end(struct gt_buffer *out, const struct gt_job_rank *rank);

/* ---- The report of a job: totals of all ranks, nodes, ranks with remarks, and what to request next time ---- */

struct gt_job_report_options {
    const char *heat; /* a metric to show over time; NULL: only a picture on pages */
    bool page, all;   /* for a page; text shows each rank */
};

/* `options` may be NULL. */
int gt_job_report(struct gt_report **ret, const struct gt_job *job, const struct gt_job_report_options *options,
                  struct gt_error *error);

/* What to request next time. */

/* Memory is the upper bound of the largest node. Cores are the 95th percentile of the busiest rank. GPUs are those
 * used. Time is the job's if all ranks ended well. Slurm counts by node and rank, PBS and LSF by node, containers by
 * rank. */
void gt_job_next_time(struct gt_next_time *ret, const struct gt_job *job, const char *kind);
/* Append the request in the scheduler's words. -ENOENT: unknown kind. */
int gt_job_request(struct gt_buffer *out, const struct gt_job *job, const char *kind);
/* Append the reasons: "of 500 GB of memory a node used 31 GB, at most 34 GB; of 64 cores the busiest rank 9.2; ..." */
void gt_job_request_reasons(struct gt_buffer *out, const struct gt_job *job);

/* ---- Analyses ---- */

struct gt_job_options {
    const char *metric; /* NULL: the usual ones */
    const char *select; /* extended regular expression on the names of blocks; NULL: all */
    int top;            /* ranks at each end that text shows; 0: ten, negative: all ranks */
};

struct gt_job_analysis {
    const char *name;
    const char *type;            /* of the report */
    const char *group;           /* as of an analysis of traces */
    const char *help;            /* NULL: an analysis of traces has the same name, and its help */
    bool has_metric, has_blocks; /* accepted members of the options */
    int (*build)(struct gt_node *root, const struct gt_job *job, const struct gt_job_options *options,
                 struct gt_error *error);
};

extern const struct gt_job_analysis gt_job_utilization, gt_job_stragglers, gt_job_health;

/* All calls of blocks; not in profile. */
extern const struct gt_job_analysis gt_job_blocks;

/* Find by number or name. NULL: there is none. */
const struct gt_job_analysis *gt_job_analysis_number(size_t index);
const struct gt_job_analysis *gt_job_analysis_find(const char *name);
/* -EINVAL: an option that the analysis refuses. */
int gt_job_analyse(struct gt_report **ret, const struct gt_job_analysis *analysis, const struct gt_job *job,
                   const struct gt_job_options *options, struct gt_error *error);

/* A table of all ranks for programs and pages, and for text the ends of a large job by value, with the outliers. It has
 * `count` rows. add_columns adds the columns of a table, add_row the cells of a row. */
struct gt_job_listing {
    const struct gt_job *job;
    const char *key, *title, *few_title;
    size_t count;
    const double *value;  /* for the order */
    const bool *is_shown; /* rows that text shows anyway; NULL: none */
    int top;
    void (*add_columns)(struct gt_table *table, const void *context);
    void (*add_row)(struct gt_table *table, const void *context, size_t row);
    const void *context;
};
/* -ENOMEM. */
int gt_job_list(struct gt_node *root, const struct gt_job_listing *listing);
/* Hide an empty table in text. */
void gt_job_hide_empty(struct gt_table *table);
/* The same for findings, with this sentence in their place. */
void gt_job_verdict(struct gt_node *root, struct gt_table *findings, const char *none);
/* Add the number of samples that recordings lost. Text shows it if it is not 0. */
void gt_job_add_dropped(struct gt_node *section, const struct gt_job *job);
/* Add a column with flags. */
void gt_job_column(struct gt_table *table, const char *key, const char *title, enum gt_cell_kind kind, const char *unit,
                   unsigned flags);
/* Add the columns of a spread, from "least" to "mean", and their cells. */
void gt_job_spread_columns(struct gt_table *table, unsigned flags);
void gt_job_spread_cells(struct gt_table *table, const struct gt_spread *spread);
/* Add the columns "rank" and "node", and "job" for several steps, and their cells. */
void gt_job_rank_columns(struct gt_table *table, const struct gt_job *job);
void gt_job_rank_cells(struct gt_table *table, const struct gt_job *job, size_t member);
/* Add the column "job" and its cell, if the job has several steps. */
void gt_job_launch_column(struct gt_table *table, const struct gt_job *job);
void gt_job_launch_cell(struct gt_table *table, const struct gt_job *job, size_t launch);
/* Append "rank 3 on n0", with several steps "rank 3 of 42.1 on n0", without a number "job/3.sqlite on n0". */
void gt_job_put_rank(struct gt_buffer *out, const struct gt_job *job, size_t member);

/* ---- Series: one metric of each rank over the time of a job ----
 *
 * Values of the machine are those of one tracker of each node, the one with the most samples. Ranks below a tracker have
 * the sums of their processes if the recording has them (--detail), else the tracker has a row for all of them. */

struct gt_job_course {
    const struct gt_job *job;
    struct gt_job_subject subject;
    const char *name; /* "cpu_utilization" */
    size_t columns;
    double begin, width; /* of a column */
    size_t count;        /* rows */
    struct gt_job_course_row {
        size_t member; /* index into gt_job.member */
        double mean, least, most;
        double *column; /* the mean in each, for counters the rate per second; NaN: unknown */
    } * row;            /* in the order of the members */
    double *columns_of_all;
};

/* Read a metric, "cpu_utilization", "combined_ram", "system_ram": of a rank if ranks have it, else of the machine.
 * -EINVAL: unknown; the error lists similar metrics of the job, or all. */
int gt_job_subject_named(struct gt_job_subject *ret, const struct gt_job *job, const char *name,
                         struct gt_error *error);
/* Set the error for a metric that no recording has: why, or the metrics that they have. */
int gt_job_course_absent(const struct gt_job *job, const char *name, struct gt_error *error);
/* Returns why a metric that needs two samples is missing; NULL: a recording has two. */
const char *gt_job_too_short(const struct gt_job *job);
/* Read several series at once, in up to `most` columns, and no more than there are samples. Release each in any
 * case. */
int gt_job_courses_read(struct gt_job_course *ret, size_t count, const struct gt_job *job,
                        const struct gt_job_subject *subjects, size_t most, struct gt_error *error);
void gt_job_course_release(struct gt_job_course *course);
/* Write a metric in words: "CPU utilization", "GPU memory". Returns `ret`. */
enum { GT_JOB_WORDS = 64 };
char *gt_job_metric_words(char ret[GT_JOB_WORDS], enum gt_metric_id metric);
/* Returns the unit of the values, or "". */
const char *gt_job_course_unit(const struct gt_job_course *course);
/* Returns true if the tracker of a rank stands for its machine: it has the most samples. */
bool gt_job_tells_of_node(const struct gt_job *job, size_t rank);

/* ---- Ranks by time: one metric of each rank, of each stretch of time ---- */

struct gt_job_heat_options {
    const char *metric; /* NULL: utilization of GPUs, else of CPUs */
    bool all;           /* text shows a row for each rank */
    bool only_page;     /* only the picture of pages */
};

/* Add ranks over time: a picture for pages, characters for text, and values for programs. -EINVAL: unknown metric.
 * -ENOENT: no recording has the metric that was asked for. */
int gt_job_heat(struct gt_node *root, const struct gt_job *job, const struct gt_job_heat_options *options,
                struct gt_error *error);

#endif
