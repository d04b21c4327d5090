/* A filter in the kernel (bpf(2), socket filter) that lets through only what concerns tasks of the job, so that the forks and exits of
 * the rest of the machine neither wake the tracker nor fill its queue.
 *
 * Tasks are marked by the low 16 bits of their numbers, in memory shared with the kernel. Whatever a marked task forks the kernel marks
 * at once, before it runs. Marks are never taken away, so some strangers come through; none of the job is held back. */
#ifndef GT_COLLECT_PROCESS_EVENT_FILTER_H
#define GT_COLLECT_PROCESS_EVENT_FILTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct gt_event_filter;

/* Filter the sockets of the process events and, unless it is negative, of the exit records. At first the filter lets everything through.
 * Returns NULL where this kernel or user has no such filters (Linux 5.5 and CAP_BPF); the sockets are then as they were. */
struct gt_event_filter *gt_event_filter_new(int forks, int records);
/* Free it; the sockets keep their filters. */
void gt_event_filter_free(struct gt_event_filter *filter);
/* Let it be as it was at first. */
void gt_event_filter_reset(struct gt_event_filter *filter);

void gt_event_filter_mark(struct gt_event_filter *filter, pid_t task);
/* Returns how many datagrams it has let through, of both sockets together. They are queued a moment later. */
uint32_t gt_event_filter_passed(const struct gt_event_filter *filter);
/* Let through marked tasks only, or all. */
void gt_event_filter_narrow(struct gt_event_filter *filter, bool is_narrow);

#endif
