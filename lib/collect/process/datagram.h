/* Receives the datagrams of a netlink socket many at a time: one system call for up to 64 of them. */
#ifndef GT_COLLECT_DATAGRAM_H
#define GT_COLLECT_DATAGRAM_H

#include <stdbool.h>
#include <stddef.h>

enum { GT_DATAGRAM_BATCH = 64 };

struct gt_datagrams;

/* `size`: the longest datagram that matters; longer ones are cut off. NULL without memory. */
struct gt_datagrams *gt_datagrams_new(int fd, size_t size);
void gt_datagrams_free(struct gt_datagrams *datagrams);

/* Ask the kernel for more, without waiting. How many came: 0 when there are none; -ENOBUFS: some were lost before or
 * among those that wait, ask again; another negative errno. The datagrams of the previous call are gone. */
int gt_datagrams_receive(struct gt_datagrams *datagrams);
/* The next datagram of the batch that came from the kernel, NULL at its end. Aligned for netlink headers. */
const void *gt_datagrams_next(struct gt_datagrams *datagrams, size_t *length);

/* Make the socket's queue as long as this user may, at most `bytes` of the kernel's accounting: 896 for an event, 1408 for a record
 * (measured). */
void gt_datagrams_queue(int fd, int bytes);

#endif
