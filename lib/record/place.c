#include "record/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

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

static void read_rank(struct gt_machine *machine, const struct gt_rank_environment *environment)
{
    struct gt_rank_place place;
    gt_rank_place(&place, environment);
    snprintf(machine->launcher, sizeof machine->launcher, "%s", place.launcher ? place.launcher : "");
    machine->rank = (int)place.rank + 1;
    machine->local_rank = (int)place.local + 1;
    machine->world = place.size > 0 ? (int)place.size : 0;
    gt_rank_job_name(machine->job, sizeof machine->job, environment);
}

static void read_node(struct gt_machine *machine, const struct gt_root *root,
                      const struct gt_rank_environment *environment)
{
    static const char *const names[] = {"SLURMD_NODENAME",
                                        "NODE_NAME"}; /* of Slurm; as Kubernetes' downward API is used */
    for (size_t i = 0; i < sizeof names / sizeof *names && !*machine->node_name; i++) {
        const char *name = environment->find(environment->context, names[i]);
        snprintf(machine->node_name, sizeof machine->node_name, "%s", name ? name : "");
    }
    if (gt_root_read(root, "proc/sys/kernel/random/boot_id", machine->node, sizeof machine->node) > 0)
        machine->node[strcspn(machine->node, "\n")] = '\0';
    else
        *machine->node = '\0';
}

/* "net:[4026531840]" */
static void read_network(struct gt_machine *machine, const struct gt_root *root)
{
    char path[64], text[64];
    snprintf(path, sizeof path, "proc/%d/ns/net", (int)machine->pid);
    if (gt_root_readlink(root, path, text, sizeof text) > 0 && !strncmp(text, "net:[", 5))
        machine->network = strtod(text + 5, NULL);
}

void gt_place_read(struct gt_machine *machine, const struct gt_root *root,
                   const struct gt_rank_environment *environment, const struct gt_control_group groups[GT_CONTROLLERS])
{
    const struct gt_control_group *group = &groups[GT_CONTROLLER_MEMORY];
    read_rank(machine, environment);
    read_node(machine, root, environment);
    read_network(machine, root);
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
