/* Analyses of a job by profile: utilization of ranks, slow ranks, faulty nodes. */
#ifndef GT_ANALYSE_JOB_JOB_ANALYSIS_H
#define GT_ANALYSE_JOB_JOB_ANALYSIS_H

#include "analyse/job/job.h"
#include "analyse/job/rank_scores.h"
#include "report/report.h"

struct gt_job_options {
    const char *metric; /* NULL: the usual ones */
    const char *select; /* extended regular expression on the names of blocks; NULL: all */
    int top;            /* ranks at each end that text shows; 0: ten, negative: all ranks */
};

struct gt_job_analysis {
    const char *name;
    const char *type;            /* of the report */
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
