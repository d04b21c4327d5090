/* What the page of a job begins with, and all of it as a summary: how much of the time its GPUs compute, a line for
 * each kind of time, and the findings, each with the part of the page that shows it. */
#ifndef GT_ANALYSE_ADVICE_JOB_BRIEF_H
#define GT_ANALYSE_ADVICE_JOB_BRIEF_H

#include "analyse/advice/findings.h"
#include "analyse/trace/ranks.h"
#include "report/brief.h"

struct gt_overview {
    const struct gt_analysis_input *input;
    struct gt_node *root;
    const struct gt_findings *findings;
    struct gt_rank_figures *rank; /* that are shown */
    size_t ranks;
};

/* Lengths of the steps of a mode on the slowest rank, in ns. */
struct gt_step_lengths {
    const double *longest; /* of each step */
    size_t count;
    double min, median, p95, max, deviation; /* deviation: the median absolute one */
    double outlier; /* 10 % above the median, and beyond three deviations of a normal distribution */
};
/* Takes the column "longest" of rows from..to, which are in the order of steps. */
struct gt_step_lengths gt_step_lengths(const struct gt_rows *rows, size_t from, size_t to);

void gt_job_brief_begin(const struct gt_overview *job);
void gt_job_brief_step(const struct gt_overview *job, const char *mode, const struct gt_step_lengths *lengths,
                       size_t outliers);
/* Adds lines beside those of steps and findings. */
void gt_job_brief_end(const struct gt_overview *job);
/* `see` names analyses with more of it, the first one first. */
void gt_job_brief_finding(const struct gt_overview *job, struct gt_saving cost, const char *sentence, const char *see);
/* The report of a job says what takes the most time of the host, and who holds the most memory, as far as operators and
 * profiles tell. */

/* Adds the tables "most_time", unless GPUs are at work, and "most_memory"; what nothing tells has none. Returns 0 or a
 * negative errno. */
int gt_job_most(const struct gt_overview *job);

/* The pictures of a job's page: steps of its ranks, what each rank's time goes into, idle times and collectives over
 * time. */

/* Keys of the pictures, to which findings lead. */
#define GT_JOB_STEPS "ranks_and_steps"
#define GT_JOB_TIME "time_of_ranks"
#define GT_JOB_PATH "held_steps"
#define GT_JOB_COURSE "time_over_time"
#define GT_JOB_SKEW "collective_skew"
#define GT_JOB_LAST "last_to_collectives"
#define GT_JOB_LENGTHS "step_lengths"

/* Adds those that the traces have figures for; the adviser has looked at them. Returns 0 or -ENOMEM. */
int gt_job_figures(const struct gt_findings *findings, struct gt_node *root);

#endif
