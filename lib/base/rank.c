#include "base/rank.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nearest first: each is started inside the ones below. Where a name says little by itself, the launcher's others have to be set, too. */
static const struct launcher {
    const char *rank, *local, *size; /* NULL where none is told */
    const char *needs;
    const char *name;
} launchers[] = {
    {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "torchrun"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE", NULL, "OpenMPI"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE", NULL, "MVAPICH"},
    {"HOROVOD_RANK", "HOROVOD_LOCAL_RANK", "HOROVOD_SIZE", NULL, "Horovod"},
    {"PALS_RANKID", "PALS_LOCAL_RANKID", NULL, NULL, "PALS"},
    {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_LOCAL_RANK", "JSM_NAMESPACE_SIZE", NULL, "jsrun"},
    {"PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", NULL, "PMI"}, /* MPICH, Intel MPI, Cray */
    {"PMIX_RANK", NULL, NULL, NULL, "PMIx"},
    {"FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID", "FLUX_JOB_SIZE", NULL, "Flux"},
    {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID", "srun"},
    {"RANK", NULL, "WORLD_SIZE", NULL, "Kubernetes"}, /* of the pod, under PyTorchJob */
    {"JOB_COMPLETION_INDEX", NULL, NULL, NULL, "Kubernetes"},
    {"VC_TASK_INDEX", NULL, NULL, NULL, "Volcano"},
    {"SLURM_PROCID", NULL, NULL, NULL, "Slurm"}, /* 0, of a batch script */
};

static const struct {
    const char *id, *element; /* element: NULL where each element of an array has an id of its own */
    const char *none;         /* what `element` is outside of arrays */
} schedulers[] = {
    {"GPU_TRACKER_JOB", NULL, NULL},    {"SLURM_JOB_ID", NULL, NULL},           {"PBS_JOBID", NULL, NULL},
    {"LSB_JOBID", "LSB_JOBINDEX", "0"}, {"JOB_ID", "SGE_TASK_ID", "undefined"}, {"FLUX_JOB_ID", NULL, NULL},
};

static const char *find_own(const void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

static const struct gt_rank_environment own = {find_own, NULL};

static const char *value_of(const struct gt_rank_environment *environment, const char *name)
{
    const char *value = name ? environment->find(environment->context, name) : NULL;
    return value && *value ? value : NULL;
}

/* NULL without one. */
static const struct launcher *nearest(const struct gt_rank_environment *environment)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (value_of(environment, launchers[i].rank) &&
            (!launchers[i].needs || value_of(environment, launchers[i].needs)))
            return &launchers[i];
    return NULL;
}

static long number_of(const struct gt_rank_environment *environment, const char *name)
{
    const char *value = value_of(environment, name);
    char *end = NULL;
    long number = value ? strtol(value, &end, 10) : -1;
    return value && !*end && number >= 0 && number < INT_MAX ? number : -1;
}

void gt_rank_place(struct gt_rank_place *ret, const struct gt_rank_environment *environment)
{
    const struct launcher *launcher = nearest(environment);
    *ret = (struct gt_rank_place){.rank = -1, .local = -1, .size = -1};
    if (!launcher)
        return;
    ret->launcher = launcher->name;
    ret->rank = number_of(environment, launcher->rank);
    ret->local = number_of(environment, launcher->local);
    ret->size = number_of(environment, launcher->size);
}

const char *gt_rank(void)
{
    const struct launcher *launcher = nearest(&own);
    return launcher ? value_of(&own, launcher->rank) : NULL;
}

bool gt_rank_has_others(void)
{
    struct gt_rank_place place;
    gt_rank_place(&place, &own);
    return place.size > 0 ? place.size > 1 : place.rank > 0;
}

static int add_job(struct gt_buffer *out, const struct gt_rank_environment *environment)
{
    for (size_t i = 0; i < sizeof schedulers / sizeof *schedulers; i++) {
        const char *id = value_of(environment, schedulers[i].id),
                   *element = value_of(environment, schedulers[i].element);
        if (!id)
            continue;
        bool is_element = element && strcmp(element, schedulers[i].none) != 0;
        int status = gt_buffer_printf(out, "%s%s%s", id, is_element ? "_" : "", is_element ? element : "");
        return status < 0 ? status : 1;
    }
    return 0;
}

int gt_rank_job(struct gt_buffer *out)
{
    return add_job(out, &own);
}

/* The parts of a heterogeneous job of Slurm are one job, and the elements of an array have its number and their own. */
static void add_slurm_job(struct gt_buffer *out, const struct gt_rank_environment *environment)
{
    const char *cluster = value_of(environment, "SLURM_CLUSTER_NAME"),
               *array = value_of(environment, "SLURM_ARRAY_JOB_ID");
    const char *element = value_of(environment, "SLURM_ARRAY_TASK_ID"),
               *whole = value_of(environment, "SLURM_HET_JOB_ID");
    const char *step = value_of(environment, "SLURM_STEP_ID");
    long restarts = number_of(environment, "SLURM_RESTART_COUNT");
    if (cluster)
        gt_buffer_printf(out, "%s:", cluster);
    if (array && element)
        gt_buffer_printf(out, "%s_%s", array, element);
    else
        gt_buffer_text(out, whole ? whole : value_of(environment, "SLURM_JOB_ID"));
    if (step)
        gt_buffer_printf(out, ".%s", step);
    if (restarts > 0)
        gt_buffer_printf(out, "+%ld", restarts);
}

void gt_rank_job_name(char *ret, size_t size, const struct gt_rank_environment *environment)
{
    struct gt_buffer out = {0};
    if (!value_of(environment, "GPU_TRACKER_JOB") && value_of(environment, "SLURM_JOB_ID"))
        add_slurm_job(&out, environment);
    else
        add_job(&out, environment);
    snprintf(ret, size, "%s", out.data ? out.data : "");
    gt_buffer_release(&out);
}
