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

#endif
