/* An event is what the kernel tells of one task. */
#ifndef GT_COLLECT_PROCESS_EVENTS_H
#define GT_COLLECT_PROCESS_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/os/root.h"
#include "collect/collector.h"

enum gt_event_source { GT_EVENTS_FORKS, GT_EVENTS_RECORDS, GT_EVENTS_SOURCES };
enum gt_event_kind { GT_EVENT_FORK, GT_EVENT_EXECUTE, GT_EVENT_EXIT, GT_EVENT_RECORD, GT_EVENT_LOST };

/* A task had used this much when it ended. The scheduler counts CPU time when it interrupts a task, so `cpu_ns` lacks what the task ran
 * since, at most a tick; `ran_ns` has that, too, of a task that never slept: it ran whenever it did not wait for a processor. What the
 * kernel then needs to take the task down is in neither. The counters of bytes are cut down to whole KiB by the kernel. */
struct gt_exit_record {
    uint64_t cpu_ns, ran_ns;
    uint64_t minor_faults, major_faults;
    uint64_t voluntary_switches, involuntary_switches;
    uint64_t read_bytes, written_bytes;           /* storage */
    uint64_t read_characters, written_characters; /* system calls */
    uint64_t peak_rss;                            /* bytes: VmHWM of the address space, shared by all its threads */
};

struct gt_event {
    enum gt_event_kind kind;
    enum gt_event_source source;  /* which source lost something, for LOST */
    pid_t pid;                    /* the task; differs from tgid for threads beside the first */
    pid_t tgid;                   /* its process */
    pid_t parent;                 /* the parent process: FORK (for threads, of their process) and RECORD */
    int64_t monotonic_ns;         /* FORK, EXECUTE and EXIT: when */
    int wait_status;              /* EXIT: as wait(2) gives it */
    bool is_forked;               /* RECORD of a first thread: it never executed a program */
    bool is_ours;                 /* RECORD: it executed a program of the name of ours */
    bool is_sampler;              /* RECORD: it had the name of a sampler */
    char name[32];                /* RECORD: the last that the task had, as ps shows it */
    struct gt_exit_record record; /* RECORD */
};

/* The kernel tells of every fork and exit of its own accord, and of what each task had used when it ended. Nothing is sampled,
 * so processes that live a millisecond are seen, too.
 *
 *   GT_EVENTS_FORKS    process events connector (netlink(7) NETLINK_CONNECTOR, group CN_IDX_PROC, linux/cn_proc.h):
 *                      FORK and EXIT of every task, threads included. From Linux 6.6 for every user, earlier with
 *                      CAP_NET_ADMIN.
 *   GT_EVENTS_RECORDS  exit records (generic netlink family TASKSTATS, linux/taskstats.h, from Linux 5.18): one RECORD
 *                      for each task that ends. With CAP_NET_ADMIN.
 *
 * Both work only in the initial user, PID and network namespaces, and tell of the whole machine, so the reader sorts
 * out its own (sample/job_finder.h does). Pids are those of the initial PID namespace, which is then the caller's.
 *
 * The order: a FORK comes before anything else about that task. The EXIT of a task may come before its RECORD, by at
 * most one return of 0 from gt_events_next. The kernel keeps what waits unread: some 100,000
 * events with CAP_NET_ADMIN, a few hundred without. */

struct gt_events;

/* `wanted` has bit 1 << source for each source. availability[source] is filled for all sources. *ret is NULL when none of
 * them is ready, which is not an error. Negative only for ENOMEM and the like. */
int gt_events_open(struct gt_events **ret, const struct gt_root *root, unsigned wanted,
                   struct gt_availability availability[GT_EVENTS_SOURCES], struct gt_error *error);
/* For a program that gives up its privileges: listen now. The first gt_events_open of this machine gets it, and once that is closed
 * the next. */
void gt_events_open_early(const struct gt_root *root);
bool gt_events_has_early(enum gt_event_source source);
/* Returns a descriptor that becomes readable when events wait, or a negative number when that source is not open. */
int gt_events_fd(const struct gt_events *events, enum gt_event_source source);
/* Returns 1 with the next event in *ret, or 0 when nothing waits; it never waits itself. The event LOST tells that the kernel had to drop
 * events of `source` because they were not read in time; it comes before those that were kept. */
int gt_events_next(struct gt_events *events, struct gt_event *ret, struct gt_error *error);
/* Returns false where none has come since all were read, as the filter of gt_events_narrow counts. It makes no system call. An event that
 * comes just now may be told of a call later. */
bool gt_events_may_wait(struct gt_events *events);
void gt_events_close(struct gt_events *events);

/* Only events that concern marked tasks, or a few others, are told after gt_events_narrow(events, true), where the kernel can sort them
 * out; at first all are. What a marked task forks is marked by the kernel. A caller that narrows has marked all tasks it follows, and has
 * then read all that waited, and marked what those had forked, so it misses nothing. Returns false where the kernel tells all. */
void gt_events_mark(struct gt_events *events, pid_t task);
bool gt_events_narrow(struct gt_events *events, bool is_narrow);

#endif
