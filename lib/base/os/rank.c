#include "base/os/rank.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/map.h"
#include "base/os/root.h"

/* The launch that a rank is part of, where no variable names it: the process that started all ranks of this machine. */
struct rank_launch {
    pid_t pid;                /* of the nearest process around the rank that is not a rank itself */
    unsigned long long start; /* in ticks since the machine started; it distinguishes processes of one number */
};

static int read_stat(const struct gt_root *root, pid_t pid, pid_t *parent, unsigned long long *start)
{
    char text[1024];
    ssize_t length = gt_root_read_process(root, pid, "stat", text, sizeof text);
    const char *behind = length > 0 ? strrchr(text, ')') : NULL; /* the name before it may hold anything */
    if (length < 0)
        return (int)length;
    return behind && sscanf(behind + 1,
                            " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", parent,
                            start) == 2
               ? 0
               : -EINVAL;
}

ssize_t gt_environment_read(struct gt_environment *environment)
{
    enum { SIZE = 1 << 18 };
    environment->length = 0;
    if (!environment->text && !(environment->text = malloc(SIZE)))
        return -ENOMEM;
    ssize_t length = gt_root_read_process(environment->root, environment->pid, "environ", environment->text, SIZE);
    environment->length = length > 0 ? (size_t)length : 0;
    return length;
}

const char *gt_environment_find(const struct gt_environment *environment, const char *name)
{
    size_t length = strlen(name);
    if (!environment->text)
        return getenv(name);
    for (const char *at = environment->text; at < environment->text + environment->length; at += strlen(at) + 1)
        if (*at == *name && !strncmp(at, name, length) && at[length] == '=')
            return at + length + 1;
    return NULL;
}

/* A process that must not be read, such as the daemon of a scheduler, is not a rank. */
static bool is_rank(const struct gt_root *root, pid_t pid, const char *variable)
{
    struct gt_environment environment = {.pid = pid, .root = root};
    bool has = gt_environment_read(&environment) > 0 && gt_environment_find(&environment, variable);
    free(environment.text);
    return has;
}

/* `variable` is what each rank has in its environment. `root` NULL: this machine. Returns 0 or negative errno. */
static int find_launch(struct rank_launch *ret, const struct gt_root *root, pid_t pid, const char *variable)
{
    pid_t parent = 0;
    int status = read_stat(root, pid, &parent, &ret->start);
    ret->pid = pid;
    for (bool is_found = false; status >= 0 && !is_found && parent > 0;) {
        ret->pid = parent;
        is_found = !is_rank(root, parent, variable);
        status = read_stat(root, ret->pid, &parent, &ret->start);
    }
    return status;
}

static const char TORCHRUN[] = "torchrun";

/* Nearest first: each is started inside the ones below. Where a name says little by itself, the launcher's others have to be set, too. */
static const struct launcher {
    const char *rank, *local, *size; /* NULL where none is told */
    const char *needs;
    const char *name;
    const char *here; /* how many ranks this machine has */
} launchers[] = {
    {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", TORCHRUN, "LOCAL_WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE", NULL, "OpenMPI",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE", NULL, "MVAPICH",
     "MV2_COMM_WORLD_LOCAL_SIZE"},
    {"HOROVOD_RANK", "HOROVOD_LOCAL_RANK", "HOROVOD_SIZE", NULL, "Horovod", "HOROVOD_LOCAL_SIZE"},
    {"PALS_RANKID", "PALS_LOCAL_RANKID", NULL, NULL, "PALS", NULL},
    {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_LOCAL_RANK", "JSM_NAMESPACE_SIZE", NULL, "jsrun", NULL},
    {"PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", NULL, "PMI", "MPI_LOCALNRANKS"}, /* MPICH, Intel MPI, Cray */
    {"PMIX_RANK", NULL, NULL, NULL, "PMIx", NULL},
    {"FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID", "FLUX_JOB_SIZE", NULL, "Flux", NULL},
    {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID", "srun", NULL},
    {"RANK", NULL, "WORLD_SIZE", "KUBERNETES_SERVICE_HOST", "Kubernetes", NULL}, /* of the pod, under PyTorchJob */
    {"RANK", "LOCAL_RANK", "WORLD_SIZE", NULL, "RANK and WORLD_SIZE", NULL},
    {"JOB_COMPLETION_INDEX", NULL, NULL, NULL, "Kubernetes", NULL},
    {"VC_TASK_INDEX", NULL, NULL, NULL, "Volcano", NULL},
    {"SLURM_PROCID", NULL, NULL, NULL, "Slurm", NULL}, /* 0, of a batch script */
};

static const struct {
    const char *id, *element; /* element: NULL where each element of an array has an id of its own */
    const char *none;         /* what `element` is outside of arrays */
} schedulers[] = {
    {"GPU_TRACKER_JOB", NULL, NULL},    {"SLURM_JOB_ID", NULL, NULL},           {"PBS_JOBID", NULL, NULL},
    {"LSB_JOBID", "LSB_JOBINDEX", "0"}, {"JOB_ID", "SGE_TASK_ID", "undefined"}, {"FLUX_JOB_ID", NULL, NULL},
};

#define OWN (&(struct gt_environment){.pid = getpid()})

static const char *value_of(const struct gt_environment *environment, const char *name)
{
    const char *value = name ? gt_environment_find(environment, name) : NULL;
    return value && *value ? value : NULL;
}

/* NULL without one. */
static const struct launcher *nearest(const struct gt_environment *environment)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (value_of(environment, launchers[i].rank) &&
            (!launchers[i].needs || value_of(environment, launchers[i].needs)))
            return &launchers[i];
    return NULL;
}

static long number_of(const struct gt_environment *environment, const char *name)
{
    const char *value = value_of(environment, name);
    char *end = NULL;
    long number = value ? strtol(value, &end, 10) : -1;
    return value && !*end && number >= 0 && number < INT_MAX ? number : -1;
}

void gt_rank_place(struct gt_rank_place *ret, const struct gt_environment *environment)
{
    const struct launcher *launcher = nearest(environment);
    *ret = (struct gt_rank_place){.rank = -1, .local = -1, .size = -1};
    if (!launcher)
        return;
    ret->launcher = launcher->name;
    ret->distance = (size_t)(launcher - launchers);
    ret->rank = number_of(environment, launcher->rank);
    ret->local = number_of(environment, launcher->local);
    ret->size = number_of(environment, launcher->size);
}

const char *gt_rank(void)
{
    const struct launcher *launcher = nearest(OWN);
    return launcher ? value_of(OWN, launcher->rank) : NULL;
}

const char *gt_rank_step(void)
{
    return value_of(OWN, "SLURM_STEP_ID");
}

bool gt_rank_has_others(void)
{
    struct gt_rank_place place;
    gt_rank_place(&place, OWN);
    return place.size > 0 ? place.size > 1 : place.rank > 0;
}

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */

/* Adds what is safe in names of files, and what parts of a job's name are not joined with. */
static void add_safely(struct gt_buffer *out, const char *text)
{
    for (; *text; text++)
        gt_buffer_char(out, isalnum((unsigned char)*text) || *text == '-' || *text == '_' ? *text : '_');
}

static bool is_on_one_machine(const struct gt_environment *environment, const struct launcher *launcher)
{
    long here = number_of(environment, launcher->here);
    return here > 0 && here == number_of(environment, launcher->size);
}

/* mpirun counts its launches by its host and pid: what else differs between two of them is added. */
static void add_launch_key(struct gt_buffer *out, const struct gt_environment *environment,
                           const struct launcher *launcher)
{
    static const char *const keys[] = {"OMPI_MCA_orte_precondition_transports", "OMPI_MCA_orte_hnp_uri"};
    struct rank_launch launch;
    const char *key = NULL;
    for (size_t i = 0; !key && i < sizeof keys / sizeof *keys; i++)
        key = value_of(environment, keys[i]);
    if (key)
        gt_buffer_printf(out, "-%08x", (unsigned)gt_hash(key, strlen(key)));
    else if (environment->pid && is_on_one_machine(environment, launcher) &&
             find_launch(&launch, environment->root, environment->pid, launcher->rank) >= 0)
        gt_buffer_printf(out, "-%llu", launch.start);
}

/* 1, 0 when the launcher tells none, or -ENOMEM. */
static int add_launcher_id(struct gt_buffer *out, const struct gt_environment *environment)
{
    const struct launcher *launcher = nearest(environment);
    const char *torch = value_of(environment, "TORCHELASTIC_RUN_ID"), *space = value_of(environment, "PMIX_NAMESPACE");
    if (!launcher)
        return 0;
    if (torch && strcmp(torch, "none") != 0 && launcher->name == TORCHRUN) {
        add_safely(out, torch);
    } else if (space) {
        add_safely(out, space);
        add_launch_key(out, environment, launcher);
    } else {
        return 0;
    }
    return out->failed ? out->failed : 1;
}

/* 1, 0 when there is none, or -ENOMEM. */
static int add_id(struct gt_buffer *out, const struct gt_environment *environment)
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
    return add_launcher_id(out, environment);
}

/* The ranks that one process of this machine started. */
static int add_launch(struct gt_buffer *out, const struct gt_environment *environment)
{
    char host[HOST_NAME_MAX + 1] = "";
    struct rank_launch launch;
    const struct launcher *launcher = nearest(environment);
    if (!launcher || !environment->pid)
        return 0;
    int status = find_launch(&launch, environment->root, environment->pid, launcher->rank);
    if (status < 0)
        return 0;
    gethostname(host, sizeof host - 1);
    add_safely(out, host);
    status = gt_buffer_printf(out, "-%d-%llu", (int)launch.pid, launch.start);
    return status < 0 ? status : 1;
}

/* torchrun starts all of its ranks again when one fails. */
static void add_attempt(struct gt_buffer *out, const struct gt_environment *environment)
{
    const struct launcher *launcher = nearest(environment);
    long restarts = launcher && launcher->name == TORCHRUN ? number_of(environment, "TORCHELASTIC_RESTART_COUNT") : 0;
    if (restarts > 0 && out->length)
        gt_buffer_printf(out, "+%ld", restarts);
}

int gt_rank_job(struct gt_buffer *out)
{
    int status = add_id(out, OWN);
    if (!status && (status = add_launch(out, OWN)) > 0)
        status = GT_RANK_JOB_OF_LAUNCH;
    add_attempt(out, OWN);
    return status;
}

/* The parts of a heterogeneous job of Slurm are one job, and the elements of an array have its number and their own. */
static void add_slurm_job(struct gt_buffer *out, const struct gt_environment *environment)
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

void gt_rank_job_name(char *ret, size_t size, const struct gt_environment *environment)
{
    struct gt_buffer out = {0};
    const struct launcher *launcher = nearest(environment);
    if (!value_of(environment, "GPU_TRACKER_JOB") && value_of(environment, "SLURM_JOB_ID"))
        add_slurm_job(&out, environment);
    else if (add_id(&out, environment) == 0 && launcher && is_on_one_machine(environment, launcher))
        add_launch(&out, environment);
    add_attempt(&out, environment);
    snprintf(ret, size, "%s", out.data ? out.data : "");
    gt_buffer_release(&out);
}
