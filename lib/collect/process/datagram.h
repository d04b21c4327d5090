/* The datagrams of a netlink socket are received many at a time, up to 64 of them with one system call. */
#ifndef GT_COLLECT_PROCESS_DATAGRAM_H
#define GT_COLLECT_PROCESS_DATAGRAM_H

#include <stdbool.h>
#include <stddef.h>

enum { GT_DATAGRAM_BATCH = 64 };

struct gt_datagrams;

/* Datagrams longer than `size` are cut off. Returns NULL without memory. */
struct gt_datagrams *gt_datagrams_new(int fd, size_t size);
void gt_datagrams_free(struct gt_datagrams *datagrams);

/* Ask the kernel for more, without waiting. Returns how many came; -ENOBUFS where some were lost before or among those that wait, and the
 * caller should ask again; or another negative errno. The datagrams of the previous call are gone. */
int gt_datagrams_receive(struct gt_datagrams *datagrams);
/* Returns the next datagram of the batch, aligned for netlink headers, or NULL at its end. */
const void *gt_datagrams_next(struct gt_datagrams *datagrams, size_t *length);

/* Make the socket's queue as long as this user may, at most `bytes` of the kernel's accounting: 896 for an event, 1408 for a record
 * (measured). */
void gt_datagrams_queue(int fd, int bytes);

#endif
