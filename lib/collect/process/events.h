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
 * out its own (sample/membership.h does). Pids are those of the initial PID namespace, which is then the caller's.
 *
 * The order: a FORK comes before anything else about that task. The EXIT of a task may come before its RECORD, by at
 * most one return of 0 from gt_events_next. The kernel keeps what waits unread: some 100,000
 * events with CAP_NET_ADMIN, a few hundred without. */
#ifndef GT_COLLECT_EVENTS_H
#define GT_COLLECT_EVENTS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/root.h"
#include "collect/collector.h"
#include "collect/process/event.h"

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
