/* A job whose recordings were pushed to a server, which adds up samples. */
#ifndef GT_ANALYSE_JOB_JOB_SERVER_H
#define GT_ANALYSE_JOB_JOB_SERVER_H

#include "analyse/job/job.h"
#include "engine/server.h"
#include "report/report.h"

struct gt_job_server_options {
    struct gt_login_files files;
    void (*explain)(void *context, const char *sql); /* called with each question; may be NULL */
    void *context;
};

/* Open the job of an address, by its name with or without the cluster. -ENOENT: unknown. -EINVAL: several jobs, or no
 * name. */
int gt_job_server_open(struct gt_job_source *ret, const char *address, const struct gt_job_server_options *options,
                       struct gt_error *error);
/* List up to `most` latest jobs of a server. */
int gt_job_server_list(struct gt_report **ret, const char *address, size_t most,
                       const struct gt_job_server_options *options, struct gt_error *error);

#endif
