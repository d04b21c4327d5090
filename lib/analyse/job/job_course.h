/* One metric of each rank over the time of a job, for pictures and scores. Figures of the machine are those of one tracker of each node,
 * the one with the most samples: its rank stands for the node. Ranks below a tracker have the sums of their processes, where the
 * recording keeps them (--detail); else the tracker has a row for all of them. */
#ifndef GT_ANALYSE_JOB_JOB_COURSE_H
#define GT_ANALYSE_JOB_JOB_COURSE_H

#include "analyse/job/job.h"
#include "report/report.h"

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
