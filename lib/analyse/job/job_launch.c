#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/job/job.h"

static int compare_names(const void *left, const void *right)
{
    return strverscmp(*(const char *const *)left, *(const char *const *)right);
}

int gt_job_find_launches(struct gt_job *job)
{
    size_t kept = 0;
    job->launch = calloc(job->count + 1, sizeof *job->launch);
    if (!job->launch)
        return -ENOMEM;
    for (size_t i = 0; i < job->count; i++)
        job->launch[i] = job->rank[i].machine.job;
    qsort(job->launch, job->count, sizeof *job->launch, compare_names);
    for (size_t i = 0; i < job->count; i++)
        if (!kept || strcmp(job->launch[kept - 1], job->launch[i]) != 0)
            job->launch[kept++] = job->launch[i];
    job->launches = kept;
    for (size_t i = 0; i < job->count; i++) {
        const char *name = job->rank[i].machine.job;
        const char **found = bsearch(&name, job->launch, kept, sizeof *job->launch, compare_names);
        job->rank[i].launch = found ? (size_t)(found - job->launch) : 0;
    }
    return 0;
}

size_t gt_job_names(struct gt_buffer *out, const struct gt_job *job)
{
    enum { NAMED = 8 };
    size_t count = 0;
    for (size_t i = 0; i < job->launches; i++)
        if (*job->launch[i] && ++count <= NAMED)
            gt_buffer_printf(out, "%s%s", out->length ? ", " : "", job->launch[i]);
    if (count > NAMED)
        gt_buffer_printf(out, " and %zu more", count - NAMED);
    return count;
}

size_t gt_job_member_launch(const struct gt_job *job, size_t member)
{
    return job->rank[job->member[member].rank].launch;
}

void gt_job_put_launch(struct gt_buffer *out, const struct gt_job *job, size_t launch)
{
    const char *name = job->launch[launch], *colon = strchr(name, ':');
    if (job->launches > 1 && *name)
        gt_buffer_printf(out, " of %s", colon ? colon + 1 : name);
}
