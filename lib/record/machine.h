/* These describe what is constant during a run: the machine, and what the job was given, by the control groups that it lies in and by
 * the scheduler that started it, as its environment tells. Sources: sbatch(1) "OUTPUT ENVIRONMENT VARIABLES", qsub(1B) of PBS and
 * Torque, bsub(1) of LSF. */
#ifndef GT_RECORD_MACHINE_H
#define GT_RECORD_MACHINE_H

#include "base/os/root.h"
#include "collect/cgroup/control_group.h"
#include "sample/machine.h"

struct gt_recorder;

/* Fill recorder->machine, and find the groups of the job. For gt_recorder_open. */
int gt_recorder_describe(struct gt_recorder *recorder, struct gt_error *error);
/* Fill in its GPUs and sources of energy again: a driver was opened late. 0 or -ENOMEM. */
int gt_recorder_describe_gpus(struct gt_recorder *recorder);

/* Fill in scheduler and limits of `machine`, whose cores, memory, start and pid are known, and the limit of its groups on memory; of whose
 * job these are the groups. */
void gt_allocation_read(struct gt_machine *machine, const struct gt_root *root,
                        const struct gt_control_group groups[GT_CONTROLLERS]);

/* The job has a group of its own, into which the process may only move a moment later. */
void gt_place_take_group(struct gt_machine *machine, const struct gt_cgroup_place *place,
                         const struct gt_control_group groups[GT_CONTROLLERS]);

#endif
