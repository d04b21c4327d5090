/* The place of a run: its rank and job, and the machine that it shares with others, by which recordings of one job are joined. */
#ifndef GT_RECORD_PLACE_H
#define GT_RECORD_PLACE_H

#include "base/rank.h"
#include "base/root.h"
#include "collect/cgroup/cgroup_place.h"
#include "collect/cgroup/control_group.h"
#include "sample/machine.h"

/* Fill in what machine.h says that recordings are joined by, for the process machine->pid with this environment. */
void gt_place_read(struct gt_machine *machine, const struct gt_root *root,
                   const struct gt_rank_environment *environment, const struct gt_control_group groups[GT_CONTROLLERS]);
/* The job has a group of its own, into which the process may only move a moment later. */
void gt_place_take_group(struct gt_machine *machine, const struct gt_cgroup_place *place,
                         const struct gt_control_group groups[GT_CONTROLLERS]);

#endif
