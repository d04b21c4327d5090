#include "collect/process/datagram.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <sys/socket.h>

struct gt_datagrams {
    int fd;
    unsigned count, next;
    struct mmsghdr header[GT_DATAGRAM_BATCH];
    struct iovec vector[GT_DATAGRAM_BATCH];
    struct sockaddr_nl sender[GT_DATAGRAM_BATCH];
    _Alignas(8) char bytes[];
};

struct gt_datagrams *gt_datagrams_new(int fd, size_t size)
{
    size = (size + 7) & ~(size_t)7;
    struct gt_datagrams *datagrams = calloc(1, sizeof *datagrams + GT_DATAGRAM_BATCH * size);
    if (!datagrams)
        return NULL;
    datagrams->fd = fd;
    for (size_t i = 0; i < GT_DATAGRAM_BATCH; i++) {
        datagrams->vector[i] = (struct iovec){datagrams->bytes + i * size, size};
        datagrams->header[i].msg_hdr = (struct msghdr){
            .msg_name = &datagrams->sender[i],
            .msg_namelen = sizeof *datagrams->sender,
            .msg_iov = &datagrams->vector[i],
            .msg_iovlen = 1,
        };
    }
    return datagrams;
}

void gt_datagrams_free(struct gt_datagrams *datagrams)
{
    free(datagrams);
}

int gt_datagrams_receive(struct gt_datagrams *datagrams)
{
    int count;
    for (size_t i = 0; i < datagrams->count; i++) /* the others still have it: what lay idle is best not touched */
        datagrams->header[i].msg_hdr.msg_namelen = sizeof *datagrams->sender;
    datagrams->count = datagrams->next = 0;
    do {
        count = recvmmsg(datagrams->fd, datagrams->header, GT_DATAGRAM_BATCH, MSG_DONTWAIT, NULL);
    } while (count < 0 && errno == EINTR);
    if (count < 0)
        return errno == EAGAIN ? 0 : -errno;
    datagrams->count = (unsigned)count;
    return count;
}

const void *gt_datagrams_next(struct gt_datagrams *datagrams, size_t *length)
{
    while (datagrams->next < datagrams->count) {
        unsigned i = datagrams->next++;
        if (datagrams->sender[i].nl_pid)
            continue;
        *length = datagrams->header[i].msg_len;
        return datagrams->vector[i].iov_base;
    }
    return NULL;
}

void gt_datagrams_queue(int fd, int bytes)
{
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) < 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}
