/* Reports of a parallel job: a folder with a recording of each rank, or a job on a server. */
#include <errno.h>
#include <string.h>

#include "api/program.h"
#include "base/clock.h"
#include "gpu_tracker.h"
#include "store/address.h"

static int open_source(struct gt_job_source *ret, const char *name, const struct gt_job_server_options *server,
                       struct gt_error *error)
{
    if (gt_is_address(name))
        return gt_job_server_open(ret, name, server, error);
    if (server->explain)
        return gt_error_set(error, EINVAL, "%s is not a job on a server: it has no SQL statements", name);
    return gt_job_folder_open(ret, name, error);
}

/* To most callers what is not there yet is what was wrongly named. */
static int final_status(int status)
{
    return status == -ENODATA ? -EINVAL : status;
}

/* A job is read for the call of `use`. */
struct reading {
    int (*read)(struct gt_job *ret, const struct gt_job_source *source, struct gt_error *error);
    int (*use)(const struct gt_job *job, const void *context, struct gt_error *error);
    const void *context;
};

static int read_job(const char *name, const struct gt_job_server_options *server, const struct reading *reading,
                    struct gt_error *error)
{
    static const struct gt_job_server_options none = {0};
    struct gt_job_source source;
    struct gt_job job;
    int status = open_source(&source, name, server ? server : &none, error);
    if (status < 0)
        return status;
    status = reading->read(&job, &source, error);
    if (status >= 0) {
        status = reading->use(&job, reading->context, error);
        gt_job_release(&job);
    }
    source.close(source.state);
    return status;
}

struct view {
    struct gt_report **ret;
    const struct gt_job_report_options *options;
};

static int view(const struct gt_job *job, const void *context, struct gt_error *error)
{
    const struct view *view = context;
    int status = gt_job_report(view->ret, job, view->options, error);
    return status ? status : gt_job_goes_on(job, gt_seconds(gt_clock_real(&gt_clock_system)));
}

int gt_folder_view(const char *name, const struct gt_job_server_options *server,
                   const struct gt_job_report_options *options, struct gt_report **ret, struct gt_error *error)
{
    return read_job(name, server, &(struct reading){gt_job_read, view, &(struct view){ret, options}}, error);
}

int gt_folder_report(const char *folder, struct gt_report **ret, struct gt_error *error)
{
    int status = gt_folder_view(folder, NULL, NULL, ret, error);
    return status < 0 ? final_status(status) : 0;
}

int gt_folder_recordings(const char *folder, int (*use)(void *context, const char *path, struct gt_error *error),
                         void *context, struct gt_error *error)
{
    return gt_job_each_file(folder, use, context, error);
}

struct runs {
    int (*use)(void *context, const char *path, const char *trouble);
    void *context;
};

static int use_runs(const struct gt_job *job, const void *context, struct gt_error *error)
{
    const struct runs *runs = context;
    int status = 0;
    (void)error;
    for (size_t i = 0; i < job->left_out_count && status >= 0; i++)
        status = runs->use(runs->context, job->left_out[i].path, job->left_out[i].why);
    for (size_t i = 0; i < job->count && status >= 0; i++)
        status = runs->use(runs->context, job->rank[i].path, NULL);
    return status;
}

int gt_folder_runs(const char *folder, int (*use)(void *context, const char *path, const char *trouble), void *context,
                   struct gt_error *error)
{
    const struct reading reading = {gt_job_read_runs, use_runs, &(struct runs){use, context}};
    return final_status(read_job(folder, NULL, &reading, error));
}

struct analysis {
    const struct gt_job_analysis *analysis;
    const struct gt_job_options *options;
    struct gt_report **ret;
};

static int analyse(const struct gt_job *job, const void *context, struct gt_error *error)
{
    const struct analysis *analysis = context;
    return gt_job_analyse(analysis->ret, analysis->analysis, job, analysis->options, error);
}

int gt_folder_analyse(const struct gt_job_analysis *analysis, const char *name,
                      const struct gt_job_server_options *server, const struct gt_job_options *options,
                      struct gt_report **ret, struct gt_error *error)
{
    const struct reading reading = {gt_job_read_ranks, analyse, &(struct analysis){analysis, options, ret}};
    return final_status(read_job(name, server, &reading, error));
}

struct request {
    const char *kind;
    struct gt_buffer *text, *doubt;
};

static int request_of(const struct gt_job *job, const void *context, struct gt_error *error)
{
    const struct request *request = context;
    struct gt_next_time next;
    const char *kind = strcmp(request->kind, "auto") ? request->kind : job->rank[0].machine.scheduler;
    if (!*kind)
        return gt_error_set(error, EINVAL, "%s has no scheduler: choose slurm, k8s, pbs, lsf or docker",
                            job->source->name);
    if (gt_job_request(request->text, job, kind) < 0)
        return gt_error_set(error, EINVAL, "\"%s\" is not a kind of request", request->kind);
    gt_job_next_time(&next, job, kind);
    gt_next_time_doubt(request->doubt, &next);
    return request->text->failed || request->doubt->failed ? gt_error_system(error, ENOMEM, "request") : 0;
}

int gt_folder_request(const char *name, const char *kind, const struct gt_job_server_options *server, char **ret,
                      char **doubt, struct gt_error *error)
{
    struct gt_buffer text = {0}, sentence = {0};
    const struct reading reading = {gt_job_read, request_of, &(struct request){kind, &text, &sentence}};
    int status = read_job(name, server, &reading, error);
    gt_buffer_give(&text, status, ret, NULL);
    gt_buffer_give(&sentence, status, doubt, NULL);
    return final_status(status);
}
