/* The report of a parallel job, for those who see only the public header. */
#include "analyse/job/job.h"
#include "analyse/job/job_report.h"
#include "api/program.h"

int gt_folder_report(const char *folder, struct gt_report **ret, struct gt_error *error)
{
    struct gt_job job;
    int status = gt_job_read(&job, folder, error);
    if (status < 0)
        return status;
    status = gt_job_report(ret, &job, error);
    gt_job_release(&job);
    return status;
}

int gt_folder_recordings(const char *folder, int (*use)(void *context, const char *path, struct gt_error *error),
                         void *context, struct gt_error *error)
{
    return gt_job_each_file(folder, use, context, error);
}
