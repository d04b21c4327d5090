#include "collect/process/proc_events.h"

#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collect/collector.h"
#include "collect/process/datagram.h"

enum {
    QUEUE_BYTES = 64 << 20,
    EVENT_AT = NLMSG_HDRLEN + sizeof(struct cn_msg),
};

/* Let through only acknowledgements, forks, execs and exits: the others (uid, comm, ...) never enter the queue. */
static int filter_events(int fd)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, EVENT_AT + offsetof(struct proc_event, what)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __builtin_bswap32(PROC_EVENT_FORK), 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __builtin_bswap32(PROC_EVENT_EXEC), 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __builtin_bswap32(PROC_EVENT_EXIT), 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROC_EVENT_NONE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    };
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    code[1].k = PROC_EVENT_FORK;
    code[2].k = PROC_EVENT_EXEC;
    code[3].k = PROC_EVENT_EXIT;
#endif
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) < 0 ? -errno : 0;
}

static int control(int fd, enum proc_cn_mcast_op operation)
{
    char request[EVENT_AT + sizeof operation];
    struct nlmsghdr header = {.nlmsg_len = sizeof request, .nlmsg_type = NLMSG_DONE};
    struct cn_msg message = {.id = {CN_IDX_PROC, CN_VAL_PROC}, .ack = (uint32_t)getpid(), .len = sizeof operation};
    memcpy(request, &header, sizeof header);
    memcpy(request + NLMSG_HDRLEN, &message, sizeof message);
    memcpy(request + EVENT_AT, &operation, sizeof operation);
    return send(fd, request, sizeof request, 0) < 0 ? -errno : 0;
}

/* The event in a datagram; false for anything else. */
static bool parse(const void *bytes, size_t length, struct cn_msg *message, struct proc_event *event)
{
    if (length < EVENT_AT + sizeof *event)
        return false;
    memcpy(message, (const char *)bytes + NLMSG_HDRLEN, sizeof *message);
    memcpy(event, (const char *)bytes + EVENT_AT, sizeof *event);
    return message->id.idx == CN_IDX_PROC && message->id.val == CN_VAL_PROC;
}

/* The kernel answers LISTEN before send returns, or not at all. Events that come before the answer are not ours to tell.
 * 0, -ENOMSG without an answer, or the errno in it. */
static int acknowledged(struct gt_datagrams *datagrams)
{
    int count;
    while ((count = gt_datagrams_receive(datagrams)) != 0) {
        size_t length;
        const void *bytes;
        if (count < 0 && count != -ENOBUFS)
            return count;
        while ((bytes = gt_datagrams_next(datagrams, &length))) {
            struct cn_msg message;
            struct proc_event event;
            if (parse(bytes, length, &message, &event) && event.what == PROC_EVENT_NONE &&
                message.ack == (uint32_t)getpid() + 1)
                return -(int)event.event_data.ack.err;
        }
    }
    return -ENOMSG;
}

static int subscribe(struct gt_proc_events *events, struct gt_availability *availability)
{
    static const char denied[] = "this user may not listen to process events";
    struct sockaddr_nl group = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
    if (bind(events->fd, (struct sockaddr *)&group, sizeof group) < 0)
        return gt_unavailable(availability, GT_DENIED, gt_remedy_net_admin, denied);
    int result = filter_events(events->fd);
    if (result < 0)
        return gt_unavailable(availability, GT_BROKEN, NULL, "no socket filter: %s", strerror(-result));
    gt_datagrams_queue(events->fd, QUEUE_BYTES);
    result = control(events->fd, PROC_CN_MCAST_LISTEN);
    if (result == -ECONNREFUSED)
        return gt_unavailable(availability, GT_ABSENT, NULL,
                              "the kernel tells process events only in its first network namespace");
    if (result == 0)
        result = acknowledged(events->datagrams);
    if (result == -ENOMSG)
        return gt_unavailable(availability, GT_ABSENT, NULL,
                              "the kernel tells process events only in its first user and PID namespaces");
    if (result == -EPERM)
        return gt_unavailable(availability, GT_DENIED, gt_remedy_net_admin, denied);
    if (result < 0)
        return gt_unavailable(availability, GT_BROKEN, NULL, "process events: %s", strerror(-result));
    return 1;
}

int gt_proc_events_open(struct gt_proc_events *events, struct gt_availability *availability, struct gt_error *error)
{
    *availability = (struct gt_availability){.state = GT_READY, .source = "process events connector (netlink)"};
    struct gt_proc_events opened = {
        .fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR)};
    if (opened.fd < 0)
        return gt_unavailable(availability, GT_ABSENT, NULL, "no process events in this kernel: %s", strerror(errno));
    opened.datagrams = gt_datagrams_new(opened.fd, EVENT_AT + sizeof(struct proc_event));
    if (!opened.datagrams) {
        close(opened.fd);
        return gt_error_system(error, ENOMEM, "process events");
    }
    if (subscribe(&opened, availability))
        *events = opened;
    else
        gt_proc_events_close(&opened);
    return 0;
}

static bool convert(const struct proc_event *event, struct gt_event *ret)
{
    if (event->what == PROC_EVENT_FORK) {
        *ret = (struct gt_event){
            .kind = GT_EVENT_FORK,
            .pid = event->event_data.fork.child_pid,
            .tgid = event->event_data.fork.child_tgid,
            .parent = event->event_data.fork.parent_tgid,
            .monotonic_ns = (int64_t)event->timestamp_ns,
        };
        return true;
    }
    if (event->what == PROC_EVENT_EXEC) {
        *ret = (struct gt_event){
            .kind = GT_EVENT_EXECUTE,
            .pid = event->event_data.exec.process_pid,
            .tgid = event->event_data.exec.process_tgid,
            .monotonic_ns = (int64_t)event->timestamp_ns,
        };
        return true;
    }
    if (event->what == PROC_EVENT_EXIT) {
        *ret = (struct gt_event){
            .kind = GT_EVENT_EXIT,
            .pid = event->event_data.exit.process_pid,
            .tgid = event->event_data.exit.process_tgid,
            .monotonic_ns = (int64_t)event->timestamp_ns,
            .wait_status = (int)event->event_data.exit.exit_code,
        };
        return true;
    }
    return false;
}

int gt_proc_events_next(struct gt_proc_events *events, struct gt_event *ret)
{
    for (;;) {
        size_t length;
        const void *bytes;
        while ((bytes = gt_datagrams_next(events->datagrams, &length))) {
            struct cn_msg message;
            struct proc_event event;
            if (parse(bytes, length, &message, &event) && convert(&event, ret))
                return 1;
        }
        int count = gt_datagrams_receive(events->datagrams);
        if (count == -ENOBUFS) {
            *ret = (struct gt_event){.kind = GT_EVENT_LOST, .source = GT_EVENTS_FORKS};
            return 1;
        }
        if (count <= 0)
            return count;
    }
}

void gt_proc_events_close(struct gt_proc_events *events)
{
    /* Kernels before 6.6 count listeners by these requests, and go on making events until the last one says so. */
    control(events->fd, PROC_CN_MCAST_IGNORE);
    close(events->fd);
    gt_datagrams_free(events->datagrams);
}
