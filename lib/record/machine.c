#include "record/machine.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <unistd.h>

#include "base/number.h"
#include "base/os/rank.h"
#include "base/os/secret.h"
#include "collect/cgroup/control_group.h"
#include "collect/host/host.h"
#include "record/recorder_state.h"
#include "sample/machine.h"
#include "schema/unit.h"

static int copy_gpus(struct gt_recorder *recorder)
{
    const struct gt_snapshot *snapshot = &recorder->sampler.snapshot;
    struct gt_machine *machine = &recorder->machine;
    struct gt_gpu *gpus = calloc(snapshot->device_count ? snapshot->device_count : 1, sizeof *gpus);
    if (!gpus)
        return -ENOMEM;
    free(machine->gpu);
    machine->gpu = gpus;
    machine->gpu_count = machine->expected_gpus = 0;
    machine->gpu_ram_capacity = 0;
    machine->gpu_length = snapshot->device_count;
    for (size_t i = 0; i < snapshot->device_count; i++) {
        const struct gt_device *device = &snapshot->device[i];
        struct gt_gpu *gpu = &machine->gpu[i];
        snprintf(gpu->uuid, sizeof gpu->uuid, "%s", device->uuid);
        snprintf(gpu->name, sizeof gpu->name, "%s", device->name);
        snprintf(gpu->brand, sizeof gpu->brand, "%s", device->brand);
        gpu->memory = device->memory;
        gpu->selected = device->selected;
        if (device->parent >= 0)
            continue; /* a slice is part of its board */
        machine->gpu_count++;
        machine->expected_gpus += device->selected;
        if (!isnan(device->memory))
            machine->gpu_ram_capacity += device->memory;
    }
    return 0;
}

/* The command line that the caller names, or that of the process, arguments separated by blanks, without what looks like a secret. */
static int read_command(const struct gt_recorder *recorder, struct gt_machine *machine)
{
    const char *given = recorder->options.tracker->command;
    struct gt_buffer shown = {0};
    char text[sizeof machine->command];
    ssize_t length = given ? snprintf(text, sizeof text, "%s", given)
                           : gt_root_read_process(&recorder->sampler.root, machine->pid, "cmdline", text, sizeof text);
    length = length < (ssize_t)sizeof text ? length : (ssize_t)sizeof text - 1;
    int status = gt_secret_hide_line(&shown, text, length > 0 ? (size_t)length : 0);
    if (!status)
        snprintf(machine->command, sizeof machine->command, "%s", shown.data);
    gt_buffer_release(&shown);
    return status;
}

int gt_recorder_describe_gpus(struct gt_recorder *recorder)
{
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        const struct gt_sampler_source *source = gt_provenance_source(recorder, gt_energy_metrics[i]);
        struct gt_energy_source *ret = &recorder->machine.energy_source[i];
        if (!source || !source->state)
            continue;
        snprintf(ret->name, sizeof ret->name, "%.95s", source->availability.source);
        ret->refresh = isnan(source->availability.refresh) ? 0 : source->availability.refresh;
    }
    return copy_gpus(recorder);
}

/* A stored machine has its own name, if that was stored. */
static void name_host(struct gt_recorder *recorder)
{
    struct gt_machine *machine = &recorder->machine;
    if (recorder->sampler.root.is_machine)
        gethostname(machine->host, sizeof machine->host - 1);
    else
        gt_root_read_line(&recorder->sampler.root, machine->host, sizeof machine->host, "proc/sys/kernel/hostname");
}

int gt_recorder_describe(struct gt_recorder *recorder, struct gt_error *error)
{
    const struct gt_tracker_options *options = recorder->options.tracker;
    struct gt_machine *machine = &recorder->machine;
    machine->pid = recorder->sampler.tree.main;
    machine->period = options->sleep_time;
    snprintf(machine->ram_unit, sizeof machine->ram_unit, "%s", gt_unit_full_name(options->ram_unit));
    snprintf(machine->gpu_ram_unit, sizeof machine->gpu_ram_unit, "%s", gt_unit_full_name(options->gpu_ram_unit));
    snprintf(machine->time_unit, sizeof machine->time_unit, "%s", gt_unit_full_name(options->time_unit));
    recorder->kernel.lines_hash = gt_control_groups_find(&recorder->sampler.root, machine->pid,
                                                         recorder->kernel.groups);
    struct gt_limit limit;
    machine->ram_capacity = gt_limit_capacity(&limit, &recorder->sampler.root, recorder->kernel.groups);
    if (limit.value > 0)
        machine->limit[GT_LIMIT_GROUP_MEMORY] = limit;
    int cores = gt_capacity_cores(&recorder->sampler.root);
    machine->core_count = cores > 0 ? cores : (int)sysconf(_SC_NPROCESSORS_ONLN);
    machine->expected_cores = options->expected_cores ? options->expected_cores : machine->core_count;
    snprintf(machine->ram_method, sizeof machine->ram_method, "%s",
             gt_memory_method_label(gt_job_memory_figures(recorder->sampler.memory)->method));
    snprintf(machine->idle_policy, sizeof machine->idle_policy, "%s", options->idle);
    machine->cpu_packages = (int)recorder->sampler.snapshot.package_count;
    snprintf(machine->cpu_packages_missing, sizeof machine->cpu_packages_missing, "%s",
             recorder->sampler.topology.why_no_packages);
    int status = gt_cost_read(
        machine, &(struct gt_cost){options->carbon_intensity, options->carbon_file, options->price}, error);
    if (status < 0)
        return status;
    name_host(recorder);
    if (read_command(recorder, machine) < 0 || gt_recorder_describe_gpus(recorder) < 0)
        return gt_error_system(error, ENOMEM, "tracker");
    return 0;
}

/* ---- By which recordings of one job are joined: rank and job, and the machine that is shared with others --------------- */

/* The kernel adds to its bound until somebody sets the clock, and stops here. */
static const double NOBODY_SETS_IT = 16;

/* Seconds by which the clock of this machine may be off at most; 0: nobody sets it, or it is not known. */
static double clock_error(const struct gt_root *root)
{
    struct timex clock = {0};
    if (!root->is_machine || adjtimex(&clock) < 0)
        return 0;
    double seconds = (double)clock.maxerror / 1e6;
    return seconds < NOBODY_SETS_IT ? seconds : 0;
}

static void read_rank(struct gt_machine *machine, const struct gt_environment *environment)
{
    struct gt_rank_place place;
    gt_rank_place(&place, environment);
    snprintf(machine->launcher, sizeof machine->launcher, "%s", place.launcher ? place.launcher : "");
    machine->rank = (int)place.rank + 1;
    machine->local_rank = (int)place.local + 1;
    machine->world = place.size > 0 ? (int)place.size : 0;
    gt_rank_job_name(machine->job, sizeof machine->job, environment);
}

static void read_node(struct gt_machine *machine, const struct gt_root *root, const struct gt_environment *environment)
{
    static const char *const names[] = {"SLURMD_NODENAME",
                                        "NODE_NAME"}; /* of Slurm; as Kubernetes' downward API is used */
    for (size_t i = 0; i < sizeof names / sizeof *names && !*machine->node_name; i++) {
        const char *name = gt_environment_find(environment, names[i]);
        snprintf(machine->node_name, sizeof machine->node_name, "%s", name ? name : "");
    }
    gt_root_read_line(root, machine->node, sizeof machine->node, "proc/sys/kernel/random/boot_id");
}

static void read_place(struct gt_machine *machine, const struct gt_root *root, const struct gt_environment *environment,
                       const struct gt_control_group groups[GT_CONTROLLERS])
{
    const struct gt_control_group *group = &groups[GT_CONTROLLER_MEMORY];
    read_rank(machine, environment);
    read_node(machine, root, environment);
    char path[64], text[64];
    snprintf(path, sizeof path, "proc/%d/ns/net", (int)machine->pid);
    if (gt_root_readlink(root, path, text, sizeof text) > 0 && !strncmp(text, "net:[", 5)) /* "net:[4026531840]" */
        machine->network = strtod(text + 5, NULL);
    if (group->version)
        snprintf(machine->control_group, sizeof machine->control_group, "%s", group->path + group->mount_length);
    machine->clock_error = clock_error(root);
}

void gt_place_take_group(struct gt_machine *machine, const struct gt_cgroup_place *place,
                         const struct gt_control_group groups[GT_CONTROLLERS])
{
    const struct gt_control_group *mounted = &groups[GT_CONTROLLER_MEMORY];
    const char *path = place->path[mounted->version == 1 ? GT_CGROUP_MEMORY : GT_CGROUP_UNIFIED];
    if (*path && !strncmp(path, mounted->path, mounted->mount_length))
        snprintf(machine->control_group, sizeof machine->control_group, "%s", path + mounted->mount_length);
}

/* ---- What the job was given --------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *variable;
} schedulers[] = {
    {"slurm", "SLURM_JOB_ID"},
    {"pbs", "PBS_JOBID"},
    {"lsf", "LSB_JOBID"},
    {"k8s", "KUBERNETES_SERVICE_HOST"},
};

enum reading { NUMBER, LIST, MOMENT };

/* The first that is there tells; `times` is another variable by which it is multiplied. */
static const struct allocation {
    enum gt_limit_kind kind;
    enum reading reading;
    const char *variable, *times;
    double unit;
} allocations[] = {
    {GT_LIMIT_MEMORY, NUMBER, "SLURM_MEM_PER_NODE", NULL, 1048576},
    {GT_LIMIT_MEMORY, NUMBER, "SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE", 1048576},
    {GT_LIMIT_MEMORY, NUMBER, "SLURM_MEM_PER_GPU", "SLURM_GPUS_ON_NODE", 1048576},
    {GT_LIMIT_CORES, NUMBER, "SLURM_CPUS_ON_NODE", NULL, 1},
    {GT_LIMIT_CORES, NUMBER, "SLURM_CPUS_PER_TASK", NULL, 1},
    {GT_LIMIT_CORES, NUMBER, "PBS_NCPUS", NULL, 1},
    {GT_LIMIT_CORES, NUMBER, "NCPUS", NULL, 1},
    {GT_LIMIT_CORES, NUMBER, "PBS_NUM_PPN", NULL, 1},
    {GT_LIMIT_CORES, NUMBER, "LSB_DJOB_NUMPROC", NULL, 1},
    {GT_LIMIT_GPUS, NUMBER, "SLURM_GPUS_ON_NODE", NULL, 1},
    {GT_LIMIT_GPUS, LIST, "SLURM_JOB_GPUS", NULL, 1},
    {GT_LIMIT_GPUS, LIST, "CUDA_VISIBLE_DEVICES", NULL, 1},
    {GT_LIMIT_TIME, MOMENT, "SLURM_JOB_END_TIME", NULL, 1},
    {GT_LIMIT_TIME, NUMBER, "PBS_WALLTIME", NULL, 1},
};

static double number_of(const struct gt_environment *environment, const char *name)
{
    const char *text = gt_environment_find(environment, name);
    double value;
    return text && gt_number_double(text, &value) == 0 && value > 0 ? value : NAN;
}

static double value_of(const struct gt_environment *environment, const struct allocation *allocation,
                       const struct gt_machine *machine)
{
    const char *text = gt_environment_find(environment, allocation->variable);
    if (!text)
        return NAN;
    if (allocation->reading == LIST) {
        double count = *text != '\0';
        for (; *text; text++)
            count += *text == ',';
        return count > 0 ? count : NAN;
    }
    double value = number_of(environment, allocation->variable) * allocation->unit;
    if (allocation->reading == MOMENT)
        return value - (double)machine->start_real_ns / 1e9;
    return allocation->times ? value * number_of(environment, allocation->times) : value;
}

static void set(struct gt_limit *limit, double value, const char *source)
{
    if (!(value > 0) || limit->value > 0)
        return;
    limit->value = value;
    snprintf(limit->source, sizeof limit->source, "%s", source);
}

/* A step of one task among several has that task's share alone. */
static bool is_task(const struct gt_environment *environment)
{
    return gt_environment_find(environment, "SLURM_STEP_ID") || !(number_of(environment, "SLURM_NTASKS") > 1);
}

/* "4(x2),1" are two nodes with four tasks each, and one with one. Returns 0 for a node that the list does not have. */
static double tasks_of_node(const char *list, double node)
{
    char *end;
    for (double first = 0; *list; list = *end == ',' ? end + 1 : end) {
        double tasks = strtod(list, &end), nodes = 1;
        if (end == list)
            return 0;
        if (!strncmp(end, "(x", 2)) {
            nodes = strtod(end + 2, &end);
            end += *end == ')';
        }
        first += nodes;
        if (node < first)
            return tasks;
        if (*end && *end != ',')
            return 0;
    }
    return 0;
}

/* srun without -c: the cores of the step on this node are divided among its tasks there. */
static double cores_of_task(const struct gt_environment *environment)
{
    double own = number_of(environment, "SLURM_CPUS_PER_TASK");
    const char *list = gt_environment_find(environment, "SLURM_STEP_TASKS_PER_NODE"),
               *node = gt_environment_find(environment, "SLURM_NODEID");
    double tasks = list ? tasks_of_node(list, node ? strtod(node, NULL) : 0) : 0;
    return own > 0 || !gt_environment_find(environment, "SLURM_STEP_ID") || tasks < 1
               ? own
               : number_of(environment, "SLURM_CPUS_ON_NODE") / tasks;
}

static void read_tasks(struct gt_machine *machine, const struct gt_environment *environment)
{
    const char *here = gt_environment_find(environment, "SLURM_TASKS_PER_NODE");
    double all = number_of(environment, "SLURM_NTASKS"), on_node = here ? tasks_of_node(here, 0) : all;
    machine->tasks = is_task(environment) ? 1 : on_node >= 1 ? (int)fmin(on_node, all) : (int)all;
    machine->asks_by_core = all > 1 || gt_environment_find(environment, "SLURM_ARRAY_JOB_ID") ||
                            gt_environment_find(environment, "SLURM_MEM_PER_CPU");
}

static void read_environment(struct gt_machine *machine, const struct gt_environment *environment)
{
    for (size_t i = 0; i < sizeof schedulers / sizeof *schedulers && !*machine->scheduler; i++)
        if (gt_environment_find(environment, schedulers[i].variable))
            snprintf(machine->scheduler, sizeof machine->scheduler, "%s", schedulers[i].name);
    if (!*machine->scheduler)
        return;
    if (gt_environment_find(environment, "SLURM_JOB_ID"))
        read_tasks(machine, environment);
    if (is_task(environment))
        set(&machine->limit[GT_LIMIT_CORES], cores_of_task(environment),
            gt_environment_find(environment, "SLURM_CPUS_PER_TASK") ? "SLURM_CPUS_PER_TASK" : "SLURM_CPUS_ON_NODE");
    for (size_t i = 0; i < sizeof allocations / sizeof *allocations; i++)
        set(&machine->limit[allocations[i].kind], value_of(environment, &allocations[i], machine),
            allocations[i].variable);
}

void gt_allocation_read(struct gt_machine *machine, const struct gt_root *root,
                        const struct gt_control_group groups[GT_CONTROLLERS])
{
    struct gt_environment environment = {.pid = machine->pid, .root = root};
    if (gt_environment_read(&environment) != -ENOMEM) {
        read_environment(machine, &environment);
        read_place(machine, root, &environment, groups);
    }
    free(environment.text);
    const struct gt_limit *memory = &machine->limit[GT_LIMIT_GROUP_MEMORY];
    struct gt_limit cores;
    gt_limit_cores(&cores, root, groups, machine->pid, machine->core_count);
    set(&machine->limit[GT_LIMIT_MEMORY], memory->value, memory->source);
    set(&machine->limit[GT_LIMIT_CORES], cores.value, cores.source);
}
