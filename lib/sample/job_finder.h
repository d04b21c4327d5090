/* Finding the processes of the job: by the kernel's events where they may be had, checked once a second against the tree of
 * children; by that tree alone otherwise. In a job of Slurm also the tasks that its srun started. */
#ifndef GT_SAMPLE_JOB_FINDER_H
#define GT_SAMPLE_JOB_FINDER_H

#include "collect/cgroup/slurm.h"
#include "sample/account.h"
#include "sample/membership.h"
#include "sample/tree.h"

struct gt_job_finder {
    struct gt_events *events; /* NULL: the kernel's events may not be had */
    struct gt_availability availability[GT_EVENTS_SOURCES];
    struct gt_membership *membership;
    struct gt_job_peak peak;
    struct gt_slurm *slurm;             /* NULL: no job of Slurm, or not one that starts tasks */
    struct gt_membership_counts counts; /* as of the last look; zeros without events */
    pid_t *pid;                         /* scratch */
    size_t capacity;
    uint64_t added;      /* counts.started when the tree last took over all members */
    uint64_t born;       /* processes heard of, or found */
    int64_t thorough_ns; /* last search through every thread of every process */
    bool has_lost;       /* events, since the last look */
    bool may_narrow;     /* the events, once those that wait are read: all members are marked */
    int64_t lost_ns;     /* when events were last lost; 0: never */
};

/* Before the tree is opened, so that no fork is missed. */
int gt_job_finder_open(struct gt_job_finder *finder, const struct gt_root *root, struct gt_error *error);
void gt_job_finder_close(struct gt_job_finder *finder);

/* Find the tasks of srun as well: see gt_slurm_open. No groups of that job: 0, and nothing changes. */
int gt_job_finder_slurm(struct gt_job_finder *finder, const struct gt_root *root, const char *job, const char *mark,
                        struct gt_error *error);

/* Find new members, and give each process its handle in the peak. */
int gt_job_finder_look(struct gt_job_finder *finder, struct gt_tree *tree, struct gt_account *account, int64_t now_ns,
                       struct gt_error *error);
/* Take in what waits, so that a short queue does not overflow between two looks. */
int gt_job_finder_drain(struct gt_job_finder *finder, const struct gt_tree *tree, struct gt_account *account,
                        struct gt_error *error);
/* Readable when events wait; -1: the kernel tells none. */
int gt_job_finder_fd(const struct gt_job_finder *finder);
/* After the processes were read: account for what those that have ended used, as the kernel's records tell. */
void gt_job_finder_account(const struct gt_job_finder *finder, const struct gt_tree *tree, struct gt_account *account);
/* The process of the job that forked `process`, if it lives; else the main process. */
struct gt_process *gt_job_finder_origin(const struct gt_job_finder *finder, const struct gt_tree *tree,
                                        const struct gt_process *process);
/* The process is no part of the job. */
void gt_job_finder_leave_out(struct gt_job_finder *finder, struct gt_tree *tree, struct gt_process *process);
/* Returns true where exit records have what each process of the job used until its end, whether or not another one waited for it. */
bool gt_job_finder_hears_all(const struct gt_job_finder *finder);
/* After the last wait4: events may still be on their way. Waits 10 ms at most. */
void gt_job_finder_last(struct gt_job_finder *finder, struct gt_tree *tree, struct gt_account *account);

#endif
