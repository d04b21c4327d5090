/* A job on a server, for the files that its source is made of. */
#ifndef GT_ANALYSE_JOB_JOB_SERVER_STATE_H
#define GT_ANALYSE_JOB_JOB_SERVER_STATE_H

#include "analyse/job/job.h"
#include "engine/server.h"
#include "engine/tables.h"
#include "store/field.h"

/* Servers take questions of 256 kB. */
enum { GT_JOB_RANKS_AT_ONCE = 10000 };

/* Where the rows of a tracker are. */
struct gt_job_tracker {
    char *job;
    uint32_t source;
    pid_t pid;
    int64_t start;
    double clock_offset; /* seconds by which the server's clock was ahead; NaN: not known */
    double clock_shift;  /* that are added to all times of it */
    struct gt_recorded recorded;
    char *recording;
    struct gt_error trouble; /* why it is no rank of the job; "": it is one */
    size_t rank;             /* index into gt_job.rank, once they are placed; SIZE_MAX: none was made of it */
};

struct gt_job_server {
    char *name;
    struct gt_server *server;
    char *jobs; /* "'alps:4242.0', 'alps:4242.1'" */
    struct gt_engine_listed columns;
    struct gt_job_tracker *tracker; /* by job, then by source */
    size_t count, capacity;
    const struct gt_job_tracker **of_rank; /* once they are placed; NULL: none */
};

/* ---- job_server.c ---- */

/* The tracker that a row is of, by its first two columns; NULL: none. */
struct gt_job_tracker *gt_job_server_tracker(const struct gt_job_server *state, const char *job, const char *source);
/* Find out which tracker each rank was made of. */
int gt_job_server_place(struct gt_job_server *state, const struct gt_job *job, struct gt_error *error);
/* NaN for NULL. */
double gt_job_server_number(const char *field);

/* ---- job_server_series.c: questions of a source, whose `state` is a struct gt_job_server ---- */

int gt_job_server_series(void *state, const struct gt_job *job, const struct gt_job_question *question,
                         int (*take)(void *context, const struct gt_job_series *series), void *context,
                         struct gt_error *error);

#endif
