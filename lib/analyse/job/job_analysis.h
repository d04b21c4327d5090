/* What profile tells of a job: how its ranks were used, who is slow, which node is sick. */
#ifndef GT_ANALYSE_JOB_JOB_ANALYSIS_H
#define GT_ANALYSE_JOB_JOB_ANALYSIS_H

#include "analyse/job/job.h"
#include "analyse/job/rank_scores.h"
#include "report/report.h"

struct gt_job_options {
    const char *metric; /* NULL: the usual ones */
    const char *select; /* extended regular expression on the names of blocks; NULL: all */
    int top;            /* how many ranks people see at each end; 0: ten, negative: all ranks */
};

struct gt_job_analysis {
    const char *name;
    const char *type;            /* of the report */
    const char *help;            /* of one that looks at jobs alone; NULL: one of traces has its name, and its own */
    bool has_metric, has_blocks; /* it takes the member of the options */
    int (*build)(struct gt_node *root, const struct gt_job *job, const struct gt_job_options *options,
                 struct gt_error *error);
};

extern const struct gt_job_analysis gt_job_utilization, gt_job_stragglers, gt_job_health;

/* Of all calls of blocks: no analysis of profile. */
extern const struct gt_job_analysis gt_job_blocks;

/* NULL: there is none of that number, or name. */
const struct gt_job_analysis *gt_job_analysis_number(size_t index);
const struct gt_job_analysis *gt_job_analysis_find(const char *name);
/* -EINVAL: an option that it does not take. */
int gt_job_analyse(struct gt_report **ret, const struct gt_job_analysis *analysis, const struct gt_job *job,
                   const struct gt_job_options *options, struct gt_error *error);

/* The table of all ranks is for programs and pages; people see the ends of a large job, and those that are off, by value. `count` rows;
 * add_columns adds the columns of a table, add_row its cells for row `row`. */
struct gt_job_listing {
    const struct gt_job *job;
    const char *key, *title, *few_title;
    size_t count;
    const double *value;  /* by which rows are ordered */
    const bool *is_shown; /* whatever the value; NULL: none */
    int top;
    void (*add_columns)(struct gt_table *table, const void *context);
    void (*add_row)(struct gt_table *table, const void *context, size_t row);
    const void *context;
};
/* -ENOMEM. */
int gt_job_list(struct gt_node *root, const struct gt_job_listing *listing);
/* People see nothing of an empty table. */
void gt_job_hide_empty(struct gt_table *table);
/* Nor of one of findings, but this sentence in its place. */
void gt_job_verdict(struct gt_node *root, struct gt_table *findings, const char *none);
/* How many samples recordings lost; people see it where there are some. */
void gt_job_add_dropped(struct gt_node *section, const struct gt_job *job);
/* The columns "rank" and "node", and of a job of several steps "job", and their cells. */
void gt_job_rank_columns(struct gt_table *table, const struct gt_job *job);
void gt_job_rank_cells(struct gt_table *table, const struct gt_job *job, size_t member);
/* The column "job" and its cell, where the job has several steps. */
void gt_job_launch_column(struct gt_table *table, const struct gt_job *job);
void gt_job_launch_cell(struct gt_table *table, const struct gt_job *job, size_t launch);
/* "rank 3 on n0", of a job of several steps "rank 3 of 42.1 on n0"; or "job/3.sqlite on n0" where there is no number. */
void gt_job_put_rank(struct gt_buffer *out, const struct gt_job *job, size_t member);

/* ---- Series: one metric of each rank over the time of a job ----
 *
 * Values of the machine are those of one tracker of each node, the one with the most samples. Ranks below a tracker have the
 * sums of their processes if the recording has them (--detail), else the tracker has a row for all of them. */

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
        double *column; /* the mean in each, of counters what they rose in a second; NaN: not known */
    } * row;            /* in the order of the members */
    double *columns_of_all;
};

/* "cpu_utilization", "combined_ram", "system_ram": of a rank where it has it, else of the machine. -EINVAL names what is no metric, and
 * those of the job that are called alike, or all. */
int gt_job_subject_named(struct gt_job_subject *ret, const struct gt_job *job, const char *name,
                         struct gt_error *error);
/* The error where no recording has it: why, or what they have. */
int gt_job_course_absent(const struct gt_job *job, const char *name, struct gt_error *error);
/* Returns why a metric that takes two samples is not known; NULL where recordings have more than one. */
const char *gt_job_too_short(const struct gt_job *job);
/* Read some at once, in so many columns at most, and no more than there are samples. Release each of them in any case. */
int gt_job_courses_read(struct gt_job_course *ret, size_t count, const struct gt_job *job,
                        const struct gt_job_subject *subjects, size_t most, struct gt_error *error);
void gt_job_course_release(struct gt_job_course *course);
/* Writes what people call a metric: "CPU utilization", "GPU memory". Returns `ret`. */
enum { GT_JOB_WORDS = 64 };
char *gt_job_metric_words(char ret[GT_JOB_WORDS], enum gt_metric_id metric);
/* The unit of its values, "" where they have none. */
const char *gt_job_course_unit(const struct gt_job_course *course);
/* Returns true where the tracker of a rank is the one of its node that counts for the machine. */
bool gt_job_tells_of_node(const struct gt_job *job, size_t rank);

/* ---- Ranks by time: one metric of each rank, of each stretch of time ---- */

struct gt_job_heat_options {
    const char *metric; /* NULL: use of GPUs, or else of CPUs */
    bool all;           /* people see a row for each rank, however many */
    bool only_page;     /* nothing but the picture of pages */
};

/* Adds the picture for pages, a drawing in characters for text, and each figure for programs. -EINVAL: there is no such metric; -ENOENT:
 * no recording has it, which is no error without a metric. */
int gt_job_heat(struct gt_node *root, const struct gt_job *job, const struct gt_job_heat_options *options,
                struct gt_error *error);

#endif
