#include "base/rank.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Nearest first: each is started inside the ones below. Where a name says little by itself, the launcher's others have to be set, too. */
static const struct {
    const char *rank, *size; /* size: NULL where none is told */
    const char *needs;
} launchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"}, /* torchrun */
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", NULL},
    {"HOROVOD_RANK", "HOROVOD_SIZE", NULL},
    {"PALS_RANKID", NULL, NULL},
    {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", NULL}, /* jsrun of LSF */
    {"PMI_RANK", "PMI_SIZE", NULL},                     /* MPICH, Intel MPI, Cray */
    {"PMIX_RANK", NULL, NULL},
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE", NULL},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID"}, /* srun */
    {"RANK", "WORLD_SIZE", NULL},                              /* of the pod, under Kubernetes' PyTorchJob */
    {"JOB_COMPLETION_INDEX", NULL, NULL},                      /* Kubernetes' indexed jobs */
    {"VC_TASK_INDEX", NULL, NULL},                             /* Volcano */
    {"SLURM_PROCID", NULL, NULL},                              /* 0, of a batch script */
};

static const struct {
    const char *id, *element; /* element: NULL where each element of an array has an id of its own */
    const char *none;         /* what `element` is outside of arrays */
} schedulers[] = {
    {"GPU_TRACKER_JOB", NULL, NULL},    {"SLURM_JOB_ID", NULL, NULL},           {"PBS_JOBID", NULL, NULL},
    {"LSB_JOBID", "LSB_JOBINDEX", "0"}, {"JOB_ID", "SGE_TASK_ID", "undefined"}, {"FLUX_JOB_ID", NULL, NULL},
};

static const char *value_of(const char *name)
{
    const char *value = name ? getenv(name) : NULL;
    return value && *value ? value : NULL;
}

/* The index of the nearest launcher; -1 without one. */
static int nearest(void)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (value_of(launchers[i].rank) && (!launchers[i].needs || value_of(launchers[i].needs)))
            return (int)i;
    return -1;
}

const char *gt_rank(void)
{
    int launcher = nearest();
    return launcher < 0 ? NULL : getenv(launchers[launcher].rank);
}

bool gt_rank_has_others(void)
{
    int launcher = nearest();
    if (launcher < 0)
        return false;
    const char *size = value_of(launchers[launcher].size);
    return size ? strtol(size, NULL, 10) > 1 : strtol(getenv(launchers[launcher].rank), NULL, 10) > 0;
}

int gt_rank_job(struct gt_buffer *out)
{
    for (size_t i = 0; i < sizeof schedulers / sizeof *schedulers; i++) {
        const char *id = value_of(schedulers[i].id), *element = value_of(schedulers[i].element);
        if (!id)
            continue;
        bool is_element = element && strcmp(element, schedulers[i].none) != 0;
        int status = gt_buffer_printf(out, "%s%s%s", id, is_element ? "_" : "", is_element ? element : "");
        return status < 0 ? status : 1;
    }
    return 0;
}
