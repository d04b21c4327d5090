/* The job's processes: found, remembered until they end, never confused when a number is used again.
 *
 * A process once found stays a member, whoever its parent becomes. New ones are found as children of members, as children
 * that the tracker adopted (subreaper), and, where /proc has no children files, by a search through all processes. */
#ifndef GT_SAMPLE_TREE_H
#define GT_SAMPLE_TREE_H

#include "base/map.h"
#include "collect/collector.h"
#include "sample/job_peak.h"

struct gt_tree {
    const struct gt_root *root;
    struct gt_process **process; /* the main process first while it lives */
    size_t count, capacity;
    struct gt_map places; /* in `process`, by PID */
    size_t slots;         /* above that of any process so far */
    size_t *free_slot;    /* those of processes that were dropped */
    size_t free_slots, free_capacity;
    pid_t *found; /* scratch of one search */
    size_t found_capacity;
    struct gt_process *tracker; /* ourselves, when ended parents leave us their children; else NULL */
    bool has_left_out;          /* a member, which its parent may wait for */
    struct gt_map left_out;     /* processes that are no part of the job, by the low bits of their start */
    struct gt_job_peak *peak;   /* told of ends where the kernel's events do; else NULL */
    pid_t main;
    pid_t own;        /* ourselves: a tracker that is a child of what it tracks is no part of it */
    uint64_t started; /* processes seen so far */
    bool has_children_files;
    bool follows_session; /* the main process leads a session: its processes belong to the job */
    bool hears_forks;     /* the kernel tells of each: a search through all processes is only a check */
    int64_t searched_ns;  /* last search through all processes */
    /* The processes that were dropped so far had divided a CPU second over packages so: sums, and the bound part. */
    double left_on[GT_PACKAGES], left_bound[GT_PACKAGES];
};

/* -ESRCH, -EACCES: the main process cannot be followed. */
int gt_tree_open(struct gt_tree *tree, const struct gt_root *root, pid_t main, bool adopts_orphans,
                 struct gt_error *error);
void gt_tree_close(struct gt_tree *tree);

struct gt_process *gt_tree_find(const struct gt_tree *tree, pid_t pid);
/* Add `pid` unless it is a member; 1 added, 0 known or gone, negative without memory. */
int gt_tree_add(struct gt_tree *tree, pid_t pid);
/* Look for new members. `thorough`: ask every thread of every process, not only the main threads. */
int gt_tree_discover(struct gt_tree *tree, bool thorough, int64_t now_ns);
/* A member, not the main process, that turned out to be no part of the job. */
void gt_tree_leave_out(struct gt_tree *tree, struct gt_process *process);
/* A process that is no part of the job, and never was a member. */
void gt_tree_keep_out(struct gt_tree *tree, pid_t pid);
/* Process `pid`, a zombie or living, was left out. */
bool gt_tree_was_left_out(struct gt_tree *tree, pid_t pid);
/* Orders pointers to processes for qsort, the youngest first: children come before their parents. */
int gt_process_younger_first(const void *a, const void *b);
/* Drop the members that are marked is_gone. */
void gt_tree_drop_gone(struct gt_tree *tree);

/* ---- All processes of a machine ------------------------------------------------------------------------------------ */

/* Every process of the machine that this user may see; the kernel's own threads are none. */
/* All zero before the first search. */
struct gt_all_processes {
    struct gt_map kernel; /* threads of the kernel, not to be looked at again for a while */
    int64_t renewed_ns;
};

/* Add to the tree what has come up since the last search. 0, -ENOMEM, or why /proc cannot be listed. */
int gt_all_processes_find(struct gt_all_processes *processes, struct gt_tree *tree, int64_t now_ns);
void gt_all_processes_release(struct gt_all_processes *processes);

#endif
