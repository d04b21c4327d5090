/* The processes of a job: by the kernel's events where they may be had, checked once a second against the tree of children; by that tree
 * alone otherwise. In a job of Slurm also the tasks that its srun started. */
#ifndef GT_SAMPLE_JOB_FINDER_H
#define GT_SAMPLE_JOB_FINDER_H

#include "collect/cgroup/slurm.h"
#include "sample/account.h"
#include "sample/tree.h"

/* ---- Members by the kernel's events ------------------------------------------------------------------------------ */

/* A member is every process that was seeded, and every process that a member forked, whoever its parent is later: exact, however short
 * it lives. A process lives until its last thread has ended (a zombie does not); threads are counted by their numbers, so that hearing
 * of one twice does no harm.
 *
 * After events were lost the tree is searched, and the processes found are seeded. Counts of the present are right again then, peaks and
 * sums no longer exact. */
struct gt_member {
    pid_t pid;
    pid_t parent;   /* when it was forked; 0 for seeded processes */
    size_t threads; /* living */
    uint32_t peak;  /* its handle in the job's peak */
    bool has_ended;
    bool seen_from_fork;  /* so `record` will hold all it used; false: seeded */
    uint64_t tasks_ended; /* its threads that ended, and those of them whose record came */
    uint64_t records;
    struct gt_exit_record record; /* of its ended threads together; peak_rss is the process's */
};

/* All zero without events. */
struct gt_membership_counts {
    size_t processes, threads;           /* living now */
    size_t processes_peak, threads_peak; /* at one time */
    size_t main_threads_peak, descendant_threads_peak;
    uint64_t started;              /* processes the job has consisted of so far */
    uint64_t tasks_ended, records; /* all members' threads that ended; those whose record came */
    uint64_t lost;                 /* how many times the kernel dropped events */
    bool has_lost_forks;           /* or exits: not every count above is the kernel's own */
};

struct gt_member_entry;

/* An empty job is all zero but for the first members, which stay the caller's. */
struct gt_membership {
    const struct gt_root *root;         /* read when seeding */
    struct gt_job_peak *peak;           /* hears of every beginning and end */
    struct gt_process_history *history; /* hears of the members' events; NULL: nobody listens */
    struct gt_events *marks; /* every member's tasks are marked in them, so that they may be narrowed; NULL: none */
    bool awaits_records;     /* exit records come: members that have ended are kept a little for theirs */
    pid_t tracker; /* what it forks is the job's: it adopts orphans, and they may make brothers (CLONE_PARENT); 0 */
    pid_t main;    /* 0: not seeded yet */
    struct gt_map processes; /* process number -> index into `entry` */
    struct gt_map threads;   /* thread number -> index into `entry` */
    struct gt_member_entry *entry;
    size_t capacity;
    uint32_t entries, free; /* 1 + the first unused one; 0: none */
    uint32_t ended_kept;    /* entries that ended and are not forgotten */
    struct gt_membership_counts counts;
    struct gt_map excluded; /* processes whose records are to come; the values say nothing */
    uint64_t excluded_cpu;  /* CPU time, ns, that they have left to members, as far as their records have come */
    /* What the records tell of the members that were seen from their fork to their end, added up; `peak_rss` says nothing. */
    struct gt_exit_record ended;
};

struct gt_seed {
    pid_t pid;
    bool is_single; /* it is known to live, with one thread */
};
/* These processes are the living members, at first the main process before all others: others end here, new ones begin. Their threads are
 * read from /proc/PID/task; what vanished or is a zombie is left out. 0 or -ENOMEM. */
int gt_membership_seed(struct gt_membership *membership, const struct gt_seed *seed, size_t count,
                       struct gt_error *error);
/* Take in one event; the caller then calls gt_membership_settle when gt_events_next has returned 0. 0 or -ENOMEM. */
int gt_membership_feed(struct gt_membership *membership, const struct gt_event *event);
/* Forget members that ended before the last settle, whose records have come by now. */
void gt_membership_settle(struct gt_membership *membership);
/* Take in all that waits, and settle. 1: forks or exits were lost; 0; negative errno. */
int gt_membership_update(struct gt_membership *membership, struct gt_events *events, struct gt_error *error);
/* `pid` is no member, and never was, nor is the helper that forked it, if it executes the same program. `is_awaited`: its parent is a
 * member, to whom the kernel hands its CPU time. */
void gt_membership_exclude(struct gt_membership *membership, pid_t pid, bool is_awaited);
/* A member that lives, or that ended since the settle before the last; NULL for others. Valid until the next change. */
const struct gt_member *gt_membership_find(const struct gt_membership *membership, pid_t pid);
void gt_membership_release(struct gt_membership *membership);

/* ---- Members by events and by the tree --------------------------------------------------------------------------- */

struct gt_job_finder {
    struct gt_events *events; /* NULL: the kernel's events may not be had */
    struct gt_availability availability[GT_EVENTS_SOURCES];
    struct gt_membership members;
    struct gt_job_peak peak;
    struct gt_slurm *slurm; /* NULL: no job of Slurm, or not one that starts tasks */
    uint64_t added;         /* processes that had started when the tree last took over all members */
    uint64_t born;          /* processes heard of, or found: when it grows, one was born */
    int64_t thorough_ns;    /* last search through every thread of every process */
    bool has_lost;          /* events, since the last look */
    bool may_narrow;        /* the events, once those that wait are read: all members are marked */
    int64_t lost_ns;        /* when events were last lost; 0: never */
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
