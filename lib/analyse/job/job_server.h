/* A job whose recordings were pushed to a server. Sums over samples are made there. */
#ifndef GT_ANALYSE_JOB_JOB_SERVER_H
#define GT_ANALYSE_JOB_JOB_SERVER_H

#include "analyse/job/job.h"
#include "engine/server.h"
#include "report/report.h"

struct gt_job_server_options {
    struct gt_login_files files;
    void (*explain)(void *context, const char *sql); /* told of each question; may be NULL */
    void *context;
};

/* Open the job that an address names, by its whole name or by the number behind a cluster's. -ENOENT: there is none; -EINVAL: there are
 * several, or none is named. */
int gt_job_server_open(struct gt_job_source *ret, const char *address, const struct gt_job_server_options *options,
                       struct gt_error *error);
/* The latest `most` jobs of a server. */
int gt_job_server_list(struct gt_report **ret, const char *address, size_t most,
                       const struct gt_job_server_options *options, struct gt_error *error);

#endif
