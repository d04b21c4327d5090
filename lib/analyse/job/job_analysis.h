/* The report of a job, and its analyses by profile: utilization of ranks, slow ranks, faulty nodes. */
#ifndef GT_ANALYSE_JOB_JOB_ANALYSIS_H
#define GT_ANALYSE_JOB_JOB_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>

#include "analyse/job/job.h"
#include "analyse/usage/usage.h"
#include "base/buffer.h"
#include "query/rows.h"
#include "report/report.h"

/* ---- Ranks as rows: lib/query/rows.h ----
 *
 * Rows of ranks have the column "member", an index into gt_job.member, and mostly rank, node and job of gt_job.rows. */

/* Add the columns rank, node and job by the column member. */
void gt_job_name_members(const struct gt_job *job, struct gt_rows *rows);
/* Add a column of texts, one for each row, which the caller sets. NULL: missing. */
const char **gt_job_add_texts(struct gt_rows *rows, const char *name);
/* Returns a copy that the job owns, or NULL without memory or for an empty text. Releases the buffer. */
const char *gt_job_keep_text(const struct gt_job *job, struct gt_buffer *text);

/* A column of a table: its cells are those of the column `from` (NULL: `key`) of the rows. */
struct gt_job_column {
    const char *key, *title, *unit;
    unsigned flags;
    const char *from;
};
/* Columns that name a rank. Jobs of one step have no column "job". */
#define GT_JOB_STEP_COLUMN          \
    {                               \
        "job", "Job", NULL, 0, NULL \
    }
#define GT_JOB_RANK_COLUMNS {"rank", "Rank", NULL, 0, NULL}, {"node", "Node", NULL, 0, NULL}, GT_JOB_STEP_COLUMN
/* Columns of gt_job_spread. */
#define GT_JOB_SPREAD_COLUMNS(flags)                                                           \
    {"least", "Least", NULL, flags, NULL}, {"quarter", "p25", NULL, flags, NULL},              \
        {"median", "Median", NULL, flags, NULL}, {"three_quarters", "p75", NULL, flags, NULL}, \
        {"most", "Most", NULL, flags, NULL},                                                   \
    {                                                                                          \
        "mean", "Mean", NULL, flags, NULL                                                      \
    }

/* Add a table with these columns, up to one without a key, and rows to a table. */
struct gt_table *gt_job_table(struct gt_node *root, const struct gt_job *job, const char *key, const char *title,
                              unsigned flags, const struct gt_rows *rows, const struct gt_job_column *columns);
void gt_job_put_rows(struct gt_table *table, const struct gt_job *job, const struct gt_rows *rows,
                     const struct gt_job_column *columns);

/* A table of all rows for programs and pages, and for text the ends of a long one by the column `order`, with those that have 1 in the
 * column `shown`. */
struct gt_job_listing {
    const char *key, *title, *few_title;
    const char *order, *shown; /* NULL: none are shown anyway */
    int top;                   /* rows at each end; 0: ten, negative: all rows */
};
void gt_job_list(struct gt_node *root, const struct gt_job *job, const struct gt_job_listing *listing,
                 const struct gt_rows *rows, const struct gt_job_column *columns);

/* ---- Statistics over one value of each rank: spread, imbalance and outliers ----
 *
 * * A rank is off if its value differs from the median by more than five standard deviations (1.4826 * MAD) and by more
 * than 5 % of the median. If there are values over time, at least half of them must differ from the median of their
 * time by more than 5 % on the same side. So neither chance (one of 1,000 healthy ranks is 3.3 deviations off) nor a
 * short disturbance counts. */

/* Returns the spread of known values of a column for each of the keys: keys count least quarter median three_quarters most mean deviation
 * imbalance. `deviation` is the median distance from the median (MAD), `imbalance` most / mean - 1: the share of time that equal parts of
 * the work would save. */
struct gt_rows gt_job_spread(const struct gt_rows *rows, const char *keys, const char *of);
/* Returns true for a value that differs from the median of several by more than 5 %. */
bool gt_job_differs(int64_t count, double median, double value);
/* Returns true for a distance of more than five deviations and 5 %, with at least five ranks. */
bool gt_job_is_off(int64_t count, double median, double deviation, double value);
/* Returns the signed distance from the median in standard deviations; NaN: the others are equal. */
double gt_job_deviations(double median, double deviation, double value);

/* Compare rows with a node and a value within groups of the same keys, and add
 *   ratio        to the median
 *   deviations   from the median, signed
 *   share_off    share of its parts that differ by 5 % on the same side; missing: unknown
 *   since_start  mean of its later parts / mean of the first tenth - 1; missing: unknown
 *   off          0: it is not, 1: it is alone, 2: the median of its node is off on the same side, and the node has other ranks
 * `part` has `parts` values over time for each row: [row][part], NaN: unknown; NULL: none. */
void gt_job_score(struct gt_rows *rows, const char *keys, const double *part, size_t parts);

/* ---- Which ranks of a job differ from the others, and in what ---- */

enum gt_job_figure { GT_JOB_CORES, GT_JOB_MEMORY, GT_JOB_GPU_USE, GT_JOB_TIME, GT_JOB_FIGURES };

struct gt_job_outliers {
    struct gt_rows
        figures; /* of each member: member figure value compared, and count least most median deviation of its peers */
    struct gt_rows all, steps,
        peers;       /* spread by figure; by figure and job; of ranks that are compared with each other */
    uint32_t uneven; /* step with the largest imbalance of cores; GT_NO_KEY: unknown */
};

extern const struct gt_job_figure_info {
    const char *key, *title, *unit; /* unit NULL: none */
    const char *name;               /* in remarks */
    double least;                   /* smaller distances from the median are ignored */
} gt_job_figure_infos[GT_JOB_FIGURES];
double gt_job_figure(const struct gt_job *job, size_t member, enum gt_job_figure figure);
struct gt_job_outliers gt_job_outliers_find(const struct gt_job *job);
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

/* Hand over a report, or free it where `status`, the report or the job's query failed. */
int gt_job_report_end(struct gt_report **ret, struct gt_report *report, const struct gt_job *job, int status,
                      struct gt_error *error);
/* Hide an empty table in text. */
void gt_job_hide_empty(struct gt_table *table);
/* The same for findings, with this sentence in their place. */
void gt_job_verdict(struct gt_node *root, struct gt_table *findings, const char *none);
/* Add the number of samples that recordings lost. Text shows it if it is not 0. */
void gt_job_add_dropped(struct gt_node *section, const struct gt_job *job);
/* Append "rank 3 on n0", with several steps "rank 3 of 42.1 on n0", without a number "job/3.sqlite on n0". */
void gt_job_put_rank(struct gt_buffer *out, const struct gt_job *job, size_t member);

/* ---- Series: one metric of each rank over the time of a job ----
 *
 * Values of the machine are those of one tracker of each node, the one with the most samples. Ranks below a tracker have
 * the sums of their processes if the recording has them (--detail), else the tracker has a row for all of them. */

struct gt_job_course {
    const struct gt_job *job;
    struct gt_job_subject subject;
    const char *name, *unit; /* "cpu_utilization"; unit "": none */
    size_t columns;
    double begin, width; /* of a column */
    /* The members that have it, in order: member mean most, and rank, node and job. */
    struct gt_rows rows;
    double *column; /* [row][columns]: the mean in each, for counters the rate per second; NaN: unknown */
};

/* Read a metric, "cpu_utilization", "combined_ram", "system_ram": of a rank if ranks have it, else of the machine.
 * -EINVAL: unknown; the error lists similar metrics of the job, or all. */
int gt_job_subject_named(struct gt_job_subject *ret, const struct gt_job *job, const char *name,
                         struct gt_error *error);
/* Set the error for a metric that no recording has: why, or the metrics that they have. */
int gt_job_course_absent(const struct gt_job *job, const char *name, struct gt_error *error);
/* Returns why a metric that needs two samples is missing; NULL: a recording has two. */
const char *gt_job_too_short(const struct gt_job *job);
/* Read several series at once, in up to `most` columns, and no more than there are samples. */
int gt_job_courses_read(struct gt_job_course *ret, size_t count, const struct gt_job *job,
                        const struct gt_job_subject *subjects, size_t most, struct gt_error *error);
/* Write a metric in words: "CPU utilization", "GPU memory". Returns `ret`. */
enum { GT_JOB_WORDS = 64 };
char *gt_job_metric_words(char ret[GT_JOB_WORDS], enum gt_metric_id metric);
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
