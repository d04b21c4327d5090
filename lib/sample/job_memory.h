/* The memory of a job at one moment: each page counts once, also where several processes map it.
 *
 * Memory is the sum of two parts: anonymous pages, and pages of files and shared memory.
 *
 * Anonymous pages
 *   group    The job's own control group counts them exactly, also those that forked processes copied.
 *   faults   Otherwise they follow from what every user may read. A process that executed its program owns all it has. A forked
 *            process began with the pages of its parent, and owns one page for each minor fault since; or as much as its resident set has
 *            grown, where that is more (huge pages). It shares the rest with its parent. Pages that the parent has written to since
 *            are kept by its children: the parent's faults since the fork less the growth of its resident set, at most what a child
 *            shares, once for each parent. Children keep what they share beyond the smallest resident set of the parent since the
 *            fork, too: it has freed that. A parent that has ended counts for what its children still share with it.
 *            Each reading of smaps_rollup replaces the estimate, and the part of the faults that it confirms is the
 *            weight of later ones. A control group that others share is an upper bound.
 *   rss      The sum of resident sets.
 * Pages of files and shared memory
 *   Proportional set sizes of the last readings, and growth since: of files the growth of one process, of shared memory the growth
 *   of all, but no more than the kernel counts for the machine, or for the job's own group. Never less than what that group counts
 *   as mapped.
 *
 * Readings of smaps_rollup are made by a thread of their own. All processes are read in turn; over 10 s, readings take at most 1 % of a
 * core. A reading during which files changed says nothing about files: one process was read before the change, another after. An
 * estimate that rose since the last reading is confirmed or corrected by the next one. */
#ifndef GT_SAMPLE_JOB_MEMORY_H
#define GT_SAMPLE_JOB_MEMORY_H

#include "collect/cgroup/control_group.h"
#include "collect/process/memory.h"

/* Bytes; NaN: not known. */
struct gt_scope_memory {
    double rss;           /* sum of resident sets */
    double ram;           /* each page once */
    double anonymous;     /* the part of it that is of no file and no shared memory */
    double private_bytes; /* pages that one process has alone */
    double shared_bytes;  /* the rest of `ram` */
    double guess; /* the only part of `ram` that a reading of smaps_rollup may correct; NaN: it may correct all */
};

/* The memory of a job after the last update or poll. */
struct gt_memory_figures {
    struct gt_scope_memory scope[GT_SCOPE_COMBINED + 1]; /* of MAIN, DESCENDANTS and COMBINED */
    double excess[GT_SCOPE_COMBINED +
                  1]; /* bytes by which readings found estimates since the last confirmed one too high */
    /* What the whole job had between the last two readings of its own group, by the group's high-water mark: bytes; 0: no more than at
     * these readings. */
    double between;
    double uncharged;  /* the most bytes of files in use that were charged to other groups than the job's own */
    bool is_confirmed; /* no reading of smaps_rollup is under way, or would correct the estimate */
    enum gt_memory_method method;
};

struct gt_job_memory;

/* `best` is the method to use where it can be had; the next ones follow. `root` and `clock` stay the caller's. 0 or -ENOMEM. */
int gt_job_memory_open(struct gt_job_memory **ret, const struct gt_root *root, const struct gt_clock *clock,
                       enum gt_memory_method best, struct gt_error *error);
void gt_job_memory_close(struct gt_job_memory *memory);

/* Take in a process that was just found and read. `parent` is the process that forked it, which was taken in before, or NULL; it is read
 * here. 0 or -ENOMEM. */
int gt_job_memory_meet(struct gt_job_memory *memory, struct gt_process *process, struct gt_process *parent);
/* Read the page faults of a process, where they say what it shares; before its resident set, which may grow meanwhile. */
void gt_job_memory_read_faults(const struct gt_job_memory *memory, struct gt_process *process);
/* Returns true if a reading of smaps_rollup is under way, or one is due. */
bool gt_job_memory_is_due(const struct gt_job_memory *memory);
/* After resident sets of all processes were read: fill their GT_RAM, GT_RAM_PRIVATE and GT_RAM_SHARED, and the scopes. A process
 * that is missing in the snapshot has ended. `group`: NaN where the processes are not all in one group; `is_own`: it is the job's alone.
 * Starts a reading of smaps_rollup when one is due and waits for it at most `patience_ns`. 0 or -ENOMEM. */
int gt_job_memory_update(struct gt_job_memory *memory, const struct gt_snapshot *snapshot,
                         const struct gt_group_reading *group, bool is_own, int64_t patience_ns);
/* Bring the memory of the whole job alone up to date by another reading of its own group. */
void gt_job_memory_poll(struct gt_job_memory *memory, const struct gt_group_reading *group);

/* All unknown where `memory` is NULL. */
const struct gt_memory_figures *gt_job_memory_figures(const struct gt_job_memory *memory);

#endif
