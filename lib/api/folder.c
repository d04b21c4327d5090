/* The reports of a parallel job, for those who see only the public header. */
#include <errno.h>
#include <string.h>

#include "analyse/job/job.h"
#include "analyse/job/job_analysis.h"
#include "analyse/job/job_report.h"
#include "analyse/job/job_server.h"
#include "api/caller_struct.h"
#include "api/program.h"
#include "base/clock.h"
#include "gpu_tracker.h"
#include "store/address.h"

/* A folder, or the address of a job on a server. */
static int open_source(struct gt_job_source *ret, const char *name, const struct gt_folder_options *options,
                       struct gt_error *error)
{
    const struct gt_job_server_options server = {
        {options->netrc_file, options->token_file}, options->explain, options->context};
    if (options->explain && !gt_is_address(name))
        return gt_error_set(error, EINVAL, "%s is not a job on a server: it has no SQL statements", name);
    return gt_is_address(name) ? gt_job_server_open(ret, name, &server, error) : gt_job_folder_open(ret, name, error);
}

/* To most callers what is not there yet is what was wrongly named. */
static int final_status(int status)
{
    return status == -ENODATA ? -EINVAL : status;
}

int gt_folder_view(const char *folder, const struct gt_folder_options *options, struct gt_report **ret,
                   struct gt_error *error)
{
    GT_OWN(struct gt_folder_options, own, options);
    const struct gt_job_report_options wanted = {.heat = own.heat, .page = own.page, .all = own.top < 0};
    struct gt_job_source source;
    struct gt_job job;
    int status = open_source(&source, folder, &own, error);
    if (status < 0)
        return status;
    status = gt_job_read(&job, &source, error);
    if (status >= 0) {
        status = gt_job_report(ret, &job, &wanted, error);
        if (!status)
            status = gt_job_goes_on(&job, gt_seconds(gt_clock_real(&gt_clock_system)));
        gt_job_release(&job);
    }
    source.close(source.state);
    return status;
}

int gt_server_jobs(const char *address, size_t most, const struct gt_folder_options *options, struct gt_report **ret,
                   struct gt_error *error)
{
    GT_OWN(struct gt_folder_options, own, options);
    const struct gt_job_server_options server = {{own.netrc_file, own.token_file}, own.explain, own.context};
    return gt_job_server_list(ret, address, most, &server, error);
}

int gt_server_is_address(const char *text, int *has_job)
{
    struct gt_address address;
    if (!gt_is_address(text))
        return 0;
    *has_job = gt_address_read(&address, text, NULL) < 0 || *address.jobs;
    return 1;
}

int gt_folder_report(const char *folder, struct gt_report **ret, struct gt_error *error)
{
    int status = gt_folder_view(folder, NULL, ret, error);
    return status < 0 ? final_status(status) : 0;
}

int gt_folder_recordings(const char *folder, int (*use)(void *context, const char *path, struct gt_error *error),
                         void *context, struct gt_error *error)
{
    return gt_job_each_file(folder, use, context, error);
}

int gt_folder_runs(const char *folder, int (*use)(void *context, const char *path, const char *trouble), void *context,
                   struct gt_error *error)
{
    struct gt_job_source source;
    struct gt_job job;
    int status = gt_job_folder_open(&source, folder, error);
    if (status < 0)
        return status;
    status = gt_job_read_runs(&job, &source, error);
    if (status >= 0) {
        for (size_t i = 0; i < job.left_out_count && status >= 0; i++)
            status = use(context, job.left_out[i].path, job.left_out[i].why);
        for (size_t i = 0; i < job.count && status >= 0; i++)
            status = use(context, job.rank[i].path, NULL);
        gt_job_release(&job);
    }
    source.close(source.state);
    return final_status(status);
}

int gt_folder_is_job(const char *path)
{
    return gt_is_address(path) || gt_job_is_folder(path);
}

int gt_folder_has_analysis(const char *name)
{
    return gt_job_analysis_find(name) != NULL;
}

int gt_folder_analysis_info(size_t index, const char **name, const char **help)
{
    const struct gt_job_analysis *analysis;
    for (size_t i = 0; (analysis = gt_job_analysis_number(i)); i++) {
        if (!analysis->help || index--)
            continue;
        *name = analysis->name;
        *help = analysis->help;
        return 0;
    }
    return -ENOENT;
}

static int analyse(const struct gt_job_analysis *analysis, const char *folder, const struct gt_folder_options *options,
                   struct gt_report **ret, struct gt_error *error)
{
    GT_OWN(struct gt_folder_options, own, options);
    const struct gt_job_options wanted = {.metric = own.metric, .select = own.select, .top = own.top};
    struct gt_job_source source;
    struct gt_job job;
    int status = open_source(&source, folder, &own, error);
    if (status < 0)
        return status;
    status = gt_job_read_ranks(&job, &source, error);
    if (status >= 0) {
        status = gt_job_analyse(ret, analysis, &job, &wanted, error);
        gt_job_release(&job);
    }
    source.close(source.state);
    return final_status(status);
}

int gt_folder_profile(const char *analysis, const char *folder, const struct gt_folder_options *options,
                      struct gt_report **ret, struct gt_error *error)
{
    const struct gt_job_analysis *found = gt_job_analysis_find(analysis);
    if (!found)
        return gt_error_set(error, EINVAL, "%s looks at traces, not at the ranks of a job", analysis);
    return analyse(found, folder, options, ret, error);
}

int gt_folder_blocks(const char *folder, const struct gt_folder_options *options, struct gt_report **ret,
                     struct gt_error *error)
{
    return analyse(&gt_job_blocks, folder, options, ret, error);
}

static int request_of(const struct gt_job *job, const char *kind, struct gt_buffer *request, struct gt_buffer *doubt,
                      struct gt_error *error)
{
    struct gt_next_time next;
    const char *own = job->rank[0].machine.scheduler, *used = strcmp(kind, "auto") ? kind : own;
    if (!*used)
        return gt_error_set(error, EINVAL, "%s has no scheduler: choose slurm, k8s, pbs, lsf or docker",
                            job->source->name);
    int status = gt_job_request(request, job, used);
    if (status < 0)
        return gt_error_set(error, EINVAL, "\"%s\" is not a kind of request", kind);
    gt_job_next_time(&next, job, used);
    gt_next_time_doubt(doubt, &next);
    return request->failed || doubt->failed ? gt_error_system(error, ENOMEM, "request") : 0;
}

int gt_folder_request(const char *folder, const char *kind, const struct gt_folder_options *options, char **ret,
                      char **doubt, struct gt_error *error)
{
    GT_OWN(struct gt_folder_options, own, options);
    struct gt_job_source source;
    struct gt_job job;
    struct gt_buffer request = {0}, sentence = {0};
    int status = open_source(&source, folder, &own, error);
    if (status < 0)
        return status;
    status = gt_job_read(&job, &source, error);
    if (status >= 0) {
        status = request_of(&job, kind, &request, &sentence, error);
        gt_job_release(&job);
    }
    source.close(source.state);
    gt_buffer_give(&request, status, ret, NULL);
    gt_buffer_give(&sentence, status, doubt, NULL);
    return final_status(status);
}
