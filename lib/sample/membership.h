/* The membership tells which processes belong to a job, from the kernel's events: exact, however short they live.
 *
 * A member is every process that was seeded, and every process that a member forked, whoever its parent is later. A process lives until
 * its last thread has ended (a zombie does not); threads are counted by their numbers, so that hearing of one twice does no harm.
 *
 * How a sampler uses it
 *   1. gt_events_open before the job starts (or, attaching, before the first look at the tree), then gt_membership_new.
 *   2. gt_membership_seed with the processes found: the main process that waits for its exec, or the tree attached to.
 *   3. At each sample gt_membership_update. When it returns 1, events were lost: look for the tree by other means, and
 *      gt_membership_seed with what was found. Counts of the present are right again then, peaks and sums no longer exact.
 *   4. Between samples: wait for gt_events_fd; when it is readable, update, and leave it out of the wait for 5 ms: idle it costs
 *      nothing, and no storm outruns it.
 *   5. The EXIT of a child that wait4 has returned may be on its way for some microseconds. Before the last figures are
 *      taken, update until gt_membership_counts says that no process is left, for 10 ms at most. */
#ifndef GT_SAMPLE_MEMBERSHIP_H
#define GT_SAMPLE_MEMBERSHIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/root.h"
#include "collect/process/events.h"
#include "sample/job_peak.h"

struct gt_member {
    pid_t pid;
    pid_t parent;   /* when it was forked; 0 for seeded processes */
    size_t threads; /* living */
    uint32_t peak;  /* its handle in the job's peak */
    bool has_ended;
    bool seen_from_fork;  /* so `record` will hold all it used; false: seeded */
    int wait_status;      /* of the first thread that ended with the process's number */
    uint64_t tasks_ended; /* its threads that ended, and those of them whose record came */
    uint64_t records;
    struct gt_exit_record record; /* of its ended threads together; peak_rss is the process's */
};

struct gt_membership_counts {
    size_t processes, threads;           /* living now */
    size_t processes_peak, threads_peak; /* at one time */
    size_t main_threads_peak, descendant_threads_peak;
    uint64_t started;              /* processes the job has consisted of so far */
    uint64_t tasks_ended, records; /* all members' threads that ended; those whose record came */
    uint64_t lost;                 /* how many times the kernel dropped events */
    bool is_exact;                 /* no fork or exit was lost, so every count above is the kernel's own */
};

struct gt_membership;

/* An empty job. `root` is read when seeding; `peak` hears of every beginning and end. Both stay the caller's. -ENOMEM. */
int gt_membership_new(struct gt_membership **ret, const struct gt_root *root, struct gt_job_peak *peak,
                      struct gt_error *error);
void gt_membership_free(struct gt_membership *membership);

struct gt_seed {
    pid_t pid;
    bool is_single; /* it is known to live, with one thread */
};
/* What this process forks is the job's, too: it adopts the job's orphans, and they may make brothers of their own (CLONE_PARENT). */
void gt_membership_adopt(struct gt_membership *membership, pid_t tracker);
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
/* CPU time, ns, that such processes have left to members, as far as their records have come. */
uint64_t gt_membership_excluded_cpu(const struct gt_membership *membership);
/* From now on every member's tasks are marked in `events`, so that those may be narrowed. */
void gt_membership_mark(struct gt_membership *membership, struct gt_events *events);
/* What the records tell of the members that were seen from their fork to their end, added up; `peak_rss` says nothing. */
const struct gt_exit_record *gt_membership_ended(const struct gt_membership *membership);
/* Exit records come, too: members that have ended are kept a little for theirs. */
void gt_membership_await_records(struct gt_membership *membership);
/* From now on the history hears of the members' events. The caller keeps owning it. */
struct gt_process_history;
void gt_membership_listen(struct gt_membership *membership, struct gt_process_history *history);

struct gt_membership_counts gt_membership_counts(const struct gt_membership *membership);
/* The numbers of the living members, in no order; returns how many there are, also when `capacity` is less. */
size_t gt_membership_pids(const struct gt_membership *membership, pid_t *pids, size_t capacity);
/* A member that lives, or that ended since the settle before the last; NULL for others. Valid until the next change. */
const struct gt_member *gt_membership_find(const struct gt_membership *membership, pid_t pid);

#endif
