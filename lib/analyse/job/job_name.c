#include "analyse/job/job_name.h"

#include <string.h>

size_t gt_job_name_base(const char *job)
{
    return strcspn(job, ".+");
}

bool gt_job_name_is_same(const char *one, const char *other)
{
    size_t length = gt_job_name_base(one);
    return length == gt_job_name_base(other) && memcmp(one, other, length) == 0;
}

bool gt_job_name_is_meant(const char *job, const char *name)
{
    const char *colon = strchr(job, ':'), *short_name = colon ? colon + 1 : job;
    size_t base = gt_job_name_base(job), length = strlen(name);
    return strcmp(job, name) == 0 || strcmp(short_name, name) == 0 ||
           (length == base && memcmp(job, name, base) == 0) ||
           (length == base - (size_t)(short_name - job) && memcmp(short_name, name, length) == 0);
}
