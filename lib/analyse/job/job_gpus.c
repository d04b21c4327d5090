/* How many of a job's GPUs were used at all, where trackers recorded each. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/job/job.h"
#include "base/grow.h"

enum { BUCKETS = 240 };
static const double USED = 0.05; /* of the time */

struct gpus {
    const struct gt_job *job;
    const struct gt_job_question *question;
    const char **uuid; /* those that were seen */
    size_t uuid_count, uuid_capacity;
    double used;
};

static bool is_known(const struct gpus *gpus, const char *uuid)
{
    for (size_t i = 0; i < gpus->uuid_count; i++)
        if (!strcmp(gpus->uuid[i], uuid))
            return true;
    return false;
}

static int take_gpu(void *context, const struct gt_job_series *series)
{
    struct gpus *gpus = context;
    const struct gt_gpu *gpu = &gpus->job->rank[series->rank].machine.gpu[series->part];
    double known = 0, busy = 0;
    if (!gpu->selected || is_known(gpus, gpu->uuid))
        return 0;
    const char **place = GT_GROW(gpus, uuid);
    if (!place)
        return -ENOMEM;
    *place = gpu->uuid;
    for (size_t i = 0; i < gpus->question->buckets; i++) {
        const struct gt_job_bucket *bucket = gt_job_bucket(gpus->question, series, 0, i);
        known += bucket->count > 0;
        busy += bucket->count && bucket->most > 0;
    }
    gpus->used += known > 0 && busy > USED * known;
    return 0;
}

int gt_job_count_gpus(struct gt_job *job, struct gt_error *error)
{
    struct gt_job_question question;
    struct gpus gpus = {.job = job, .question = &question};
    job->gpus_used = NAN;
    if (!job->gpus)
        return 0;
    gt_job_question_init(&question, job, BUCKETS);
    gt_job_ask(&question, (struct gt_job_subject){GT_SCOPE_GPU, GT_GPU_UTILIZATION, 0});
    int status = job->source->series(job->source->state, job, &question, take_gpu, &gpus, error);
    if (status >= 0 && gpus.uuid_count == job->gpus)
        job->gpus_used = gpus.used;
    free(gpus.uuid);
    return status == -ENOMEM ? gt_error_system(error, ENOMEM, "%s", job->source->name) : status;
}
