#include "collect/process/events.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/acct.h>
#include <linux/bpf.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/os/system.h"
#include "collect/collector.h"
#include "collect/process/process.h"

/* ---- Datagrams --------------------------------------------------------------------------------------------------- */

/* The length of a socket's queue in bytes of the kernel's accounting: 896 for an event, 1408 for a record (measured). */
enum { DATAGRAM_BATCH = 64, QUEUE_BYTES = 64 << 20 };

/* The datagrams of a netlink socket, received many at a time with one system call. */
struct datagrams {
    int fd;
    unsigned count, next;
    struct mmsghdr header[DATAGRAM_BATCH];
    struct iovec vector[DATAGRAM_BATCH];
    struct sockaddr_nl sender[DATAGRAM_BATCH];
    _Alignas(8) char bytes[];
};

/* Datagrams longer than `size` are cut off. Returns NULL without memory. */
static struct datagrams *datagrams_new(int fd, size_t size)
{
    size = (size + 7) & ~(size_t)7;
    struct datagrams *datagrams = calloc(1, sizeof *datagrams + DATAGRAM_BATCH * size);
    if (!datagrams)
        return NULL;
    datagrams->fd = fd;
    for (size_t i = 0; i < DATAGRAM_BATCH; i++) {
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

/* Get what waits. Returns how many came; -ENOBUFS where some were lost, and the caller should ask again; or another negative errno. The
 * datagrams of the previous call are gone. */
static int datagrams_receive(struct datagrams *datagrams)
{
    int count;
    for (size_t i = 0; i < datagrams->count; i++) /* the others still have it: what lay idle is best not touched */
        datagrams->header[i].msg_hdr.msg_namelen = sizeof *datagrams->sender;
    datagrams->count = datagrams->next = 0;
    do {
        count = recvmmsg(datagrams->fd, datagrams->header, DATAGRAM_BATCH, MSG_DONTWAIT, NULL);
    } while (count < 0 && errno == EINTR);
    if (count < 0)
        return errno == EAGAIN ? 0 : -errno;
    datagrams->count = (unsigned)count;
    return count;
}

/* Returns the next datagram of the batch, aligned for netlink headers, or NULL at its end. */
static const void *datagrams_next(struct datagrams *datagrams, size_t *length)
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

/* Up to the length that this user may have. */
static void lengthen_queue(int fd)
{
    const int bytes = QUEUE_BYTES;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) < 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

/* ---- Exit records ------------------------------------------------------------------------------------------------ */

struct records {
    int fd;
    unsigned short family; /* the number that generic netlink gave the family */
    char cpus[128];        /* the mask that was registered: "0-7" */
    struct datagrams *datagrams;
};

enum {
    STACK_BYTES = 4096,
    /* Two records of at most 1 KB each: the last task of a process is told together with sums that are not needed. */
    DATAGRAM_SIZE = 2048,
    ATTRIBUTES_AT = NLMSG_HDRLEN + GENL_HDRLEN,
    /* ac_tgid came with version 12; headers of older kernels end before it. */
    VERSION_WITH_TGID = 12,
    TGID_AT = offsetof(struct taskstats, thrashing_delay_total) + 8 + 8 + 16,
};
#if TASKSTATS_VERSION >= 12
_Static_assert((int)TGID_AT == (int)offsetof(struct taskstats, ac_tgid), "where ac_tgid lies");
#endif

/* Send a generic netlink command with one attribute and ask for an answer. */
static int send_request(int fd, unsigned short family, unsigned char command, unsigned short attribute,
                        const char *text)
{
    struct {
        struct nlmsghdr header;
        struct genlmsghdr generic;
        struct nlattr attribute;
        char text[128];
    } message = {
        .header = {.nlmsg_type = family, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
        .generic = {.cmd = command, .version = 1},
    };
    size_t size = strlen(text) + 1;
    if (size > sizeof message.text)
        return -ENAMETOOLONG;
    memcpy(message.text, text, size);
    message.attribute = (struct nlattr){(unsigned short)(NLA_HDRLEN + size), attribute};
    message.header.nlmsg_len = (unsigned)(offsetof(__typeof__(message), text) + NLA_ALIGN(size));
    return send(fd, &message, message.header.nlmsg_len, 0) < 0 ? -errno : 0;
}

/* The contents of attribute `type` among those in `bytes`, or NULL. */
static const char *find_attribute(const char *bytes, size_t length, int type, size_t *ret)
{
    size_t at = 0;
    while (at + NLA_HDRLEN <= length) {
        struct nlattr attribute;
        memcpy(&attribute, bytes + at, sizeof attribute);
        if (attribute.nla_len < NLA_HDRLEN || attribute.nla_len > length - at)
            return NULL;
        if ((attribute.nla_type & NLA_TYPE_MASK) == type) {
            *ret = attribute.nla_len - (size_t)NLA_HDRLEN;
            return bytes + at + NLA_HDRLEN;
        }
        at += NLA_ALIGN(attribute.nla_len);
    }
    return NULL;
}

/* The kernel has answered when send returns. 0, or what it says is wrong as a negative errno. */
static int receive_answer(int fd, char *bytes, size_t size, size_t *ret)
{
    ssize_t length = recv(fd, bytes, size, MSG_DONTWAIT);
    if (length < 0)
        return -errno;
    struct nlmsghdr header;
    struct nlmsgerr error;
    if ((size_t)length < sizeof header)
        return -EBADMSG;
    memcpy(&header, bytes, sizeof header);
    *ret = (size_t)length;
    if (header.nlmsg_type != NLMSG_ERROR)
        return 0;
    if ((size_t)length < NLMSG_HDRLEN + sizeof error.error)
        return -EBADMSG;
    memcpy(&error.error, bytes + NLMSG_HDRLEN, sizeof error.error);
    return error.error;
}

static int find_family(int fd, unsigned short *ret)
{
    char bytes[DATAGRAM_SIZE];
    size_t length = 0, size = 0;
    int result = send_request(fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME);
    if (result < 0)
        return result;
    result = receive_answer(fd, bytes, sizeof bytes, &length);
    if (result < 0)
        return result;
    const char *family = length < ATTRIBUTES_AT ? NULL
                                                : find_attribute(bytes + ATTRIBUTES_AT, length - ATTRIBUTES_AT,
                                                                 CTRL_ATTR_FAMILY_ID, &size);
    if (!family || size < sizeof *ret)
        return -EBADMSG;
    memcpy(ret, family, sizeof *ret);
    return receive_answer(fd, bytes, sizeof bytes, &length);
}

/* A task that slept is told of as the scheduler has it: for how long it slept is not known. No clock tick is longer than 10 ms, and what
 * the machine below us took for others is none of the task's. */
static uint64_t ran_ns(const struct taskstats *task)
{
    const uint64_t longest_tick_ns = 10000000, counted_ns = task->cpu_run_virtual_total;
    uint64_t lived_ns = task->ac_etime * 1000, waited_ns = task->cpu_delay_total;
    bool never_slept = task->cpu_count && !task->nvcsw; /* 0: the kernel does not count waiting */
    if (!never_slept || lived_ns < waited_ns || lived_ns - waited_ns < counted_ns)
        return counted_ns;
    uint64_t more_ns = lived_ns - waited_ns - counted_ns;
    return counted_ns + (more_ns < longest_tick_ns ? more_ns : longest_tick_ns);
}

static bool convert_record(const char *bytes, size_t size, struct gt_event *ret)
{
    struct taskstats task;
    uint32_t tgid;
    if (size < TGID_AT + sizeof tgid)
        return false;
    memcpy(&task, bytes, size < sizeof task ? size : sizeof task);
    memcpy(&tgid, bytes + TGID_AT, sizeof tgid);
    if (task.version < VERSION_WITH_TGID)
        return false;
    *ret = (struct gt_event){
        .kind = GT_EVENT_RECORD,
        .source = GT_EVENTS_RECORDS,
        .pid = (pid_t)task.ac_pid,
        .tgid = (pid_t)tgid,
        .parent = (pid_t)task.ac_ppid,
        .wait_status = (int)task.ac_exitcode,
        .is_forked = task.ac_flag & AFORK,
        .is_ours = !strncmp(task.ac_comm, GT_PROGRAM_NAME, sizeof task.ac_comm),
        .is_sampler = !strncmp(task.ac_comm, GT_SAMPLER_NAME, sizeof task.ac_comm),
        .record =
            {
                .cpu_ns = task.cpu_run_virtual_total,
                .ran_ns = ran_ns(&task),
                .minor_faults = task.ac_minflt,
                .major_faults = task.ac_majflt,
                .voluntary_switches = task.nvcsw,
                .involuntary_switches = task.nivcsw,
                .read_bytes = task.read_bytes,
                .written_bytes = task.write_bytes,
                .read_characters = task.read_char,
                .written_characters = task.write_char,
                .peak_rss = task.hiwater_rss * 1024,
            },
    };
    snprintf(ret->name, sizeof ret->name, "%.*s", (int)sizeof task.ac_comm, task.ac_comm);
    return true;
}

/* Returns 1 with the next RECORD of the batch, or 0 at its end. */
static int records_next(struct records *records, struct gt_event *ret)
{
    size_t length;
    const char *bytes;
    while ((bytes = datagrams_next(records->datagrams, &length))) {
        struct nlmsghdr header;
        if (length < ATTRIBUTES_AT)
            continue;
        memcpy(&header, bytes, sizeof header);
        if (header.nlmsg_type != records->family)
            continue;
        bytes = find_attribute(bytes + ATTRIBUTES_AT, length - ATTRIBUTES_AT, TASKSTATS_TYPE_AGGR_PID, &length);
        bytes = bytes ? find_attribute(bytes, length, TASKSTATS_TYPE_STATS, &length) : NULL;
        if (bytes && convert_record(bytes, length, ret))
            return 1;
    }
    return 0;
}

static void records_close(struct records *records)
{
    if (records->family)
        send_request(records->fd, records->family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_DEREGISTER_CPUMASK,
                     records->cpus);
    close(records->fd);
    free(records->datagrams);
}

static int end_at_once(void *unused)
{
    (void)unused;
    return 0;
}

/* Returns the number of a thread that has begun and ended, or negative errno. It needs nothing of the C library's, which takes twice as
 * long to make one of its own. */
static pid_t let_thread_end(void)
{
    _Alignas(64) char stack[STACK_BYTES];
    sigset_t all, before;
    pid_t lives = 1; /* the kernel clears it, and wakes us */
    const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                      CLONE_CHILD_CLEARTID;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t number = clone(end_at_once, stack + sizeof stack, flags, NULL, NULL, NULL, &lives);
    int code = errno;
    while (number > 0 && __atomic_load_n(&lives, __ATOMIC_ACQUIRE))
        syscall(SYS_futex, &lives, FUTEX_WAIT, 1, NULL, NULL, 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return number < 0 ? -code : number;
}

/* The kernel accepts listeners in every network namespace and then tells only those in the first one, and two versions of
 * its structure (14 and 15) had fields moved. So let a thread of our own end, and see whether its record comes and reads
 * right. */
static bool tells_of_own_thread(struct records *records)
{
    struct gt_event event;
    pid_t number = let_thread_end();
    if (number < 0)
        return false;
    for (int count; (count = datagrams_receive(records->datagrams)) != 0;) {
        if (count < 0 && count != -ENOBUFS)
            return false;
        while (records_next(records, &event))
            if (event.pid == number)
                return event.tgid == getpid();
    }
    return false;
}

static int subscribe_to_records(struct records *records, struct gt_availability *availability)
{
    int result = find_family(records->fd, &records->family);
    if (result < 0)
        return gt_unavailable(availability, GT_ABSENT, NULL, "no exit records in this kernel: %s", strerror(-result));
    char bytes[256];
    size_t length;
    result = send_request(records->fd, records->family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK,
                          records->cpus);
    if (result == 0)
        result = receive_answer(records->fd, bytes, sizeof bytes, &length);
    if (result == -EPERM)
        return gt_unavailable(availability, GT_DENIED, gt_remedy_net_admin, "this user may not read exit records");
    if (result == -EINVAL)
        return gt_unavailable(availability, GT_ABSENT, NULL,
                              "the kernel tells exit records only in its first user and PID namespaces");
    if (result < 0)
        return gt_unavailable(availability, GT_BROKEN, NULL, "exit records: %s", strerror(-result));
    lengthen_queue(records->fd);
    if (!tells_of_own_thread(records))
        return gt_unavailable(availability, GT_ABSENT, NULL,
                              "no readable exit record came: needs the first network namespace and Linux 5.18");
    return 1;
}

static int records_open(struct records *records, const struct gt_root *root, struct gt_availability *availability,
                        struct gt_error *error)
{
    *availability = (struct gt_availability){.state = GT_READY, .source = "exit records (taskstats netlink)"};
    struct records opened = {.fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_GENERIC)};
    if (opened.fd < 0)
        return gt_unavailable(availability, GT_ABSENT, NULL, "no exit records in this kernel: %s", strerror(errno));
    opened.datagrams = datagrams_new(opened.fd, DATAGRAM_SIZE);
    if (!opened.datagrams) {
        close(opened.fd);
        return gt_error_system(error, ENOMEM, "exit records");
    }
    if (gt_root_read_line(root, opened.cpus, sizeof opened.cpus, "sys/devices/system/cpu/possible") <= 0)
        snprintf(opened.cpus, sizeof opened.cpus, "0-%u", (unsigned)sysconf(_SC_NPROCESSORS_CONF) - 1);
    if (subscribe_to_records(&opened, availability))
        *records = opened;
    else
        records_close(&opened);
    return 0;
}

/* ---- The filter -------------------------------------------------------------------------------------------------- */

enum { TASKS = 1 << 16 };

/* A filter in the kernel (bpf(2), socket filter) lets through only events of tasks of the job, so that the forks and exits of the rest of
 * the machine neither wake the tracker nor fill its queue.
 *
 * Tasks are marked by the low 16 bits of their numbers, in memory shared with the kernel, which reads and writes it while we do. The kernel
 * marks each child of a marked task before it runs. Marks are never removed, so some strangers pass; no task of the job is held back. */
struct marks {
    uint32_t is_open;
    uint32_t passed; /* datagrams that passed, of both sockets together; they are queued a moment later */
    uint8_t task[TASKS];
};

/* r6 is the datagram, as LD_ABS wants it; r7 says whether to let it through; r8 is the marks; r9 is the kind of event. LD_ABS leaves in
 * r0 what it read, from network order, and spoils r1 to r5. */
enum { NUMBER = BPF_REG_0, AT = BPF_REG_1, MARK = BPF_REG_2, DATAGRAM = BPF_REG_6, PASSES = BPF_REG_7 };
enum { MARKS = BPF_REG_8, KIND = BPF_REG_9 };

#define CODE(operation, to, from, jump, value)                                                 \
    {                                                                                          \
        .code = (operation), .dst_reg = (to), .src_reg = (from), .off = (jump), .imm = (value) \
    }
#define MOVE(to, from) CODE(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0)
#define SET(to, value) CODE(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value)
#define SET_MARKS(map) CODE(BPF_LD | BPF_DW | BPF_IMM, MARKS, BPF_PSEUDO_MAP_VALUE, 0, map), CODE(0, 0, 0, 0, 0)
#define READ(size, at) CODE(BPF_LD | (size) | BPF_ABS, 0, 0, 0, (int)(at))
#define SKIP_IF(to, value, count) CODE(BPF_JMP32 | BPF_JEQ | BPF_K, to, 0, count, (int)(value))
#define SKIP_UNLESS(to, value, count) CODE(BPF_JMP32 | BPF_JNE | BPF_K, to, 0, count, (int)(value))
#define ADD_TO_PASSES(from) CODE(BPF_ALU64 | BPF_OR | BPF_X, PASSES, from, 0, 0)
#ifndef BPF_ATOMIC
#define BPF_ATOMIC 0xc0 /* BPF_XADD, as older headers call it */
#endif

#define EXIT CODE(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

/* 6 instructions: the mark of task number r0 is added to r7; r1 is where it lies. */
#define LOOK_UP                                                                                  \
    CODE(BPF_ALU | BPF_END | BPF_TO_BE, NUMBER, 0, 0, 32), /* back to the machine's own order */ \
        CODE(BPF_ALU64 | BPF_AND | BPF_K, NUMBER, 0, 0, TASKS - 1), MOVE(AT, MARKS),             \
        CODE(BPF_ALU64 | BPF_ADD | BPF_X, AT, NUMBER, 0, 0),                                     \
        CODE(BPF_LDX | BPF_MEM | BPF_B, MARK, AT, offsetof(struct marks, task), 0), ADD_TO_PASSES(MARK)
/* 2 instructions: mark it, if the datagram passes. */
#define MARK_IF_PASSES SKIP_IF(PASSES, 0, 1), CODE(BPF_ST | BPF_MEM | BPF_B, AT, 0, offsetof(struct marks, task), 1)
/* The verdict: all of the datagram, which is counted, or nothing. */
#define END_OF_PROGRAM                                                                                             \
    CODE(BPF_LDX | BPF_MEM | BPF_W, MARK, MARKS, offsetof(struct marks, is_open), 0), ADD_TO_PASSES(MARK),         \
        SET(NUMBER, 0), SKIP_IF(PASSES, 0, 3), SET(MARK, 1),                                                       \
        CODE(BPF_STX | BPF_ATOMIC | BPF_W, MARKS, MARK, offsetof(struct marks, passed), BPF_ADD), SET(NUMBER, -1), \
        EXIT

enum {
    EVENT_AT = NLMSG_HDRLEN + sizeof(struct cn_msg),
    KIND_AT = EVENT_AT + offsetof(struct proc_event, what),
    PARENT_AT = EVENT_AT + offsetof(struct proc_event, event_data.fork.parent_tgid),
    CHILD_TASK_AT = EVENT_AT + offsetof(struct proc_event, event_data.fork.child_pid),
    CHILD_AT = EVENT_AT + offsetof(struct proc_event, event_data.fork.child_tgid),
    /* An exit record begins with the number of its task: attribute AGGR_PID, in it attribute PID. */
    OUTER_AT = NLMSG_HDRLEN + GENL_HDRLEN,
    INNER_AT = OUTER_AT + NLA_HDRLEN,
    TASK_AT = INNER_AT + NLA_HDRLEN,
};
_Static_assert(offsetof(struct proc_event, event_data.fork.parent_tgid) ==
                       offsetof(struct proc_event, event_data.exec.process_tgid) &&
                   offsetof(struct proc_event, event_data.fork.parent_tgid) ==
                       offsetof(struct proc_event, event_data.exit.process_tgid),
               "forks, execs and exits have the process at the same place");

/* One program for both sockets, which the kernel checks and compiles once: events of forks come as NLMSG_DONE, records never do. */
static int load_program(int map)
{
    enum { FORK_CODE = 41 };
    const struct bpf_insn code[] = {
        MOVE(DATAGRAM, BPF_REG_1),
        SET(PASSES, 0),
        SET_MARKS(map),
        READ(BPF_H, offsetof(struct nlmsghdr, nlmsg_type)),
        SKIP_UNLESS(NUMBER, htons(NLMSG_DONE), FORK_CODE),
        READ(BPF_W, KIND_AT),
        MOVE(KIND, NUMBER),
        SKIP_IF(KIND, htonl(PROC_EVENT_FORK), 4),
        SKIP_IF(KIND, htonl(PROC_EVENT_EXEC), 3),
        SKIP_IF(KIND, htonl(PROC_EVENT_EXIT), 2),
        SET(NUMBER, 0), /* acknowledgements of other listeners, too */
        EXIT,
        READ(BPF_W, PARENT_AT),
        LOOK_UP,
        SKIP_UNLESS(KIND, htonl(PROC_EVENT_FORK), 18),
        READ(BPF_W, CHILD_AT), /* a thread's process, or a number that had been of the job */
        LOOK_UP,
        MARK_IF_PASSES,
        READ(BPF_W, CHILD_TASK_AT),
        LOOK_UP,
        MARK_IF_PASSES,
        END_OF_PROGRAM,
        SET(PASSES, 1), /* whatever else it is */
        READ(BPF_H, OUTER_AT + offsetof(struct nlattr, nla_type)),
        SKIP_UNLESS(NUMBER, htons(TASKSTATS_TYPE_AGGR_PID), 10),
        READ(BPF_H, INNER_AT + offsetof(struct nlattr, nla_type)),
        SKIP_UNLESS(NUMBER, htons(TASKSTATS_TYPE_PID), 8),
        SET(PASSES, 0),
        READ(BPF_W, TASK_AT),
        LOOK_UP,
        END_OF_PROGRAM,
    };
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
    attributes.insns = (uint64_t)(uintptr_t)code;
    attributes.insn_cnt = sizeof code / sizeof *code;
    attributes.license = (uint64_t)(uintptr_t) "";
    return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof attributes);
}

static int make_map(void)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.map_type = BPF_MAP_TYPE_ARRAY;
    attributes.key_size = sizeof(uint32_t);
    attributes.value_size = sizeof(struct marks);
    attributes.max_entries = 1;
    attributes.map_flags = BPF_F_MMAPABLE;
    return (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes);
}

/* A program replaces the filter that a socket has. */
static bool attach(int fd, int program)
{
    return fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_ATTACH_BPF, &program, sizeof program) == 0;
}

/* Let through marked tasks only, or all. */
static void filter_narrow(struct marks *marks, bool is_narrow)
{
    __atomic_store_n(&marks->is_open, !is_narrow, __ATOMIC_RELEASE);
}

/* Filter the sockets of the process events and, unless it is negative, of the exit records. At first everything passes. Returns NULL where
 * this kernel or user has no such filters (Linux 5.5 and CAP_BPF); the sockets then stay as they are. */
static struct marks *filter_sockets(int forks, int records)
{
    int map = make_map();
    if (map < 0)
        return NULL;
    struct marks *marks = mmap(NULL, sizeof *marks, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
    bool is_attached = false;
    if (marks != MAP_FAILED) {
        filter_narrow(marks, false); /* the kernel made the marks, all of them unset */
        int program = load_program(map);
        is_attached = program >= 0 && attach(forks, program);
        if (is_attached)
            attach(records, program);
        gt_close_fd(program);
        if (!is_attached)
            munmap(marks, sizeof *marks);
    }
    close(map);
    return is_attached ? marks : NULL;
}

/* ---- Process events ---------------------------------------------------------------------------------------------- */

struct proc_events {
    int fd;
    struct datagrams *datagrams;
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
static bool parse_event(const void *bytes, size_t length, struct cn_msg *message, struct proc_event *event)
{
    if (length < EVENT_AT + sizeof *event)
        return false;
    memcpy(message, (const char *)bytes + NLMSG_HDRLEN, sizeof *message);
    memcpy(event, (const char *)bytes + EVENT_AT, sizeof *event);
    return message->id.idx == CN_IDX_PROC && message->id.val == CN_VAL_PROC;
}

/* The kernel answers LISTEN before send returns, or not at all. Events that come before the answer are not ours to tell.
 * 0, -ENOMSG without an answer, or the errno in it. */
static int acknowledged(struct datagrams *datagrams)
{
    int count;
    while ((count = datagrams_receive(datagrams)) != 0) {
        size_t length;
        const void *bytes;
        if (count < 0 && count != -ENOBUFS)
            return count;
        while ((bytes = datagrams_next(datagrams, &length))) {
            struct cn_msg message;
            struct proc_event event;
            if (parse_event(bytes, length, &message, &event) && event.what == PROC_EVENT_NONE &&
                message.ack == (uint32_t)getpid() + 1)
                return -(int)event.event_data.ack.err;
        }
    }
    return -ENOMSG;
}

static int subscribe_to_forks(struct proc_events *events, struct gt_availability *availability)
{
    static const char denied[] = "this user may not listen to process events";
    struct sockaddr_nl group = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
    if (bind(events->fd, (struct sockaddr *)&group, sizeof group) < 0)
        return gt_unavailable(availability, GT_DENIED, gt_remedy_net_admin, denied);
    int result = filter_events(events->fd);
    if (result < 0)
        return gt_unavailable(availability, GT_BROKEN, NULL, "no socket filter: %s", strerror(-result));
    lengthen_queue(events->fd);
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

static void proc_events_close(struct proc_events *events)
{
    /* Kernels before 6.6 count listeners by these requests, and go on making events until the last one says so. */
    control(events->fd, PROC_CN_MCAST_IGNORE);
    close(events->fd);
    free(events->datagrams);
}

static int proc_events_open(struct proc_events *events, struct gt_availability *availability, struct gt_error *error)
{
    *availability = (struct gt_availability){.state = GT_READY, .source = "process events connector (netlink)"};
    struct proc_events opened = {
        .fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR)};
    if (opened.fd < 0)
        return gt_unavailable(availability, GT_ABSENT, NULL, "no process events in this kernel: %s", strerror(errno));
    opened.datagrams = datagrams_new(opened.fd, EVENT_AT + sizeof(struct proc_event));
    if (!opened.datagrams) {
        close(opened.fd);
        return gt_error_system(error, ENOMEM, "process events");
    }
    if (subscribe_to_forks(&opened, availability))
        *events = opened;
    else
        proc_events_close(&opened);
    return 0;
}

static bool convert_event(const struct proc_event *event, struct gt_event *ret)
{
    *ret = (struct gt_event){.monotonic_ns = (int64_t)event->timestamp_ns};
    switch (event->what) {
    case PROC_EVENT_FORK:
        ret->kind = GT_EVENT_FORK;
        ret->pid = event->event_data.fork.child_pid;
        ret->tgid = event->event_data.fork.child_tgid;
        ret->parent = event->event_data.fork.parent_tgid;
        return true;
    case PROC_EVENT_EXEC:
        ret->kind = GT_EVENT_EXECUTE;
        ret->pid = event->event_data.exec.process_pid;
        ret->tgid = event->event_data.exec.process_tgid;
        return true;
    case PROC_EVENT_EXIT:
        ret->kind = GT_EVENT_EXIT;
        ret->pid = event->event_data.exit.process_pid;
        ret->tgid = event->event_data.exit.process_tgid;
        ret->wait_status = (int)event->event_data.exit.exit_code;
        return true;
    default: return false;
    }
}

static int proc_events_next(struct proc_events *events, struct gt_event *ret)
{
    for (;;) {
        size_t length;
        const void *bytes;
        while ((bytes = datagrams_next(events->datagrams, &length))) {
            struct cn_msg message;
            struct proc_event event;
            if (parse_event(bytes, length, &message, &event) && convert_event(&event, ret))
                return 1;
        }
        int count = datagrams_receive(events->datagrams);
        if (count == -ENOBUFS) {
            *ret = (struct gt_event){.kind = GT_EVENT_LOST, .source = GT_EVENTS_FORKS};
            return 1;
        }
        if (count <= 0)
            return count;
    }
}

/* ---- Events of both sources -------------------------------------------------------------------------------------- */

/* gt_events_next does one of these now. A record is fetched before, and told after, all the forks that wait: so the fork of its task
 * has been told by then. */
enum stage { FETCH_RECORDS, TELL_FORKS, TELL_RECORDS };

struct gt_events {
    bool has_forks, has_records;
    struct proc_events proc_events;
    struct records records;
    struct marks *filter; /* NULL: the events of the whole machine come */
    uint32_t passed;      /* what it had counted when gt_events_may_wait was last asked */
    bool is_settled;      /* as many as the time before: all that was counted had been queued when it was read */
    enum stage stage;
    bool fetched; /* the last FETCH_RECORDS brought some: there may be more */
};

static int open_sources(struct gt_events *events, const struct gt_root *root, unsigned wanted,
                        struct gt_availability availability[GT_EVENTS_SOURCES], struct gt_error *error)
{
    int result = 0;
    if (wanted & 1u << GT_EVENTS_FORKS) {
        result = proc_events_open(&events->proc_events, &availability[GT_EVENTS_FORKS], error);
        events->has_forks = result == 0 && availability[GT_EVENTS_FORKS].state == GT_READY;
    }
    if (result == 0 && wanted & 1u << GT_EVENTS_RECORDS) {
        result = records_open(&events->records, root, &availability[GT_EVENTS_RECORDS], error);
        events->has_records = result == 0 && availability[GT_EVENTS_RECORDS].state == GT_READY;
    }
    if (events->has_forks)
        events->filter = filter_sockets(events->proc_events.fd, events->has_records ? events->records.fd : -1);
    return result;
}

/* This was opened early, and may be in use. */
static struct {
    struct gt_events *events;
    struct gt_availability availability[GT_EVENTS_SOURCES];
    atomic_flag is_taken;
} early = {.is_taken = ATOMIC_FLAG_INIT};

void gt_events_open_early(const struct gt_root *root)
{
    gt_events_open(&early.events, root, 1u << GT_EVENTS_FORKS | 1u << GT_EVENTS_RECORDS, early.availability, NULL);
}

bool gt_events_has_early(enum gt_event_source source)
{
    return early.events && early.availability[source].state == GT_READY;
}

int gt_events_open(struct gt_events **ret, const struct gt_root *root, unsigned wanted,
                   struct gt_availability availability[GT_EVENTS_SOURCES], struct gt_error *error)
{
    *ret = NULL;
    for (int source = 0; source < GT_EVENTS_SOURCES; source++) {
        availability[source] = (struct gt_availability){.source = "kernel events about processes"};
        gt_unavailable(&availability[source], GT_ABSENT, NULL,
                       root->is_machine ? "not asked for" : "a stored machine has no events");
    }
    if (!root->is_machine)
        return 0;
    if (early.events && !atomic_flag_test_and_set(&early.is_taken)) {
        memcpy(availability, early.availability, sizeof early.availability);
        *ret = early.events;
        struct marks *filter = early.events->filter;
        if (filter) {
            filter_narrow(filter, false);
            memset(filter->task, 0, sizeof filter->task);
        }
        early.events->is_settled = false;
        return 0;
    }
    struct gt_events *events = calloc(1, sizeof *events);
    if (!events)
        return gt_error_system(error, ENOMEM, "process events");
    int result = open_sources(events, root, wanted, availability, error);
    if (result < 0 || (!events->has_forks && !events->has_records))
        gt_events_close(events);
    else
        *ret = events;
    return result;
}

int gt_events_fd(const struct gt_events *events, enum gt_event_source source)
{
    if (source == GT_EVENTS_FORKS)
        return events->has_forks ? events->proc_events.fd : -1;
    return events->has_records ? events->records.fd : -1;
}

void gt_events_mark(struct gt_events *events, pid_t task)
{
    if (events->filter)
        __atomic_store_n(&events->filter->task[task & (TASKS - 1)], 1, __ATOMIC_RELEASE);
}

bool gt_events_narrow(struct gt_events *events, bool is_narrow)
{
    if (events->filter)
        filter_narrow(events->filter, is_narrow);
    return events->filter;
}

/* An event is counted just before it is queued: so it is looked for twice. */
bool gt_events_may_wait(struct gt_events *events)
{
    if (!events->filter)
        return true;
    uint32_t passed = __atomic_load_n(&events->filter->passed, __ATOMIC_ACQUIRE);
    bool is_same = passed == events->passed, may_wait = !(is_same && events->is_settled);
    events->passed = passed;
    events->is_settled = is_same;
    return may_wait;
}

/* 1: *ret says that records were lost; 0: fetched what there is, perhaps nothing. */
static int fetch_records(struct gt_events *events, struct gt_event *ret)
{
    int count = events->has_records ? datagrams_receive(events->records.datagrams) : 0;
    if (count == -ENOBUFS) {
        *ret = (struct gt_event){.kind = GT_EVENT_LOST, .source = GT_EVENTS_RECORDS};
        return 1;
    }
    if (count < 0)
        return count;
    events->fetched = count > 0;
    events->stage = TELL_FORKS;
    return 0;
}

int gt_events_next(struct gt_events *events, struct gt_event *ret, struct gt_error *error)
{
    for (;;) {
        int result = 0;
        switch (events->stage) {
        case FETCH_RECORDS: result = fetch_records(events, ret); break;
        case TELL_FORKS:
            result = events->has_forks ? proc_events_next(&events->proc_events, ret) : 0;
            if (result == 0)
                events->stage = TELL_RECORDS;
            break;
        case TELL_RECORDS:
            result = events->fetched ? records_next(&events->records, ret) : 0;
            if (result == 0) {
                events->stage = FETCH_RECORDS;
                if (!events->fetched)
                    return 0;
            }
            break;
        }
        if (result < 0)
            return gt_error_system(error, -result, "process events");
        if (result > 0)
            return 1;
    }
}

void gt_events_close(struct gt_events *events)
{
    if (!events)
        return;
    if (events == early.events) {
        atomic_flag_clear(&early.is_taken);
        return;
    }
    if (events->has_forks)
        proc_events_close(&events->proc_events);
    if (events->has_records)
        records_close(&events->records);
    if (events->filter)
        munmap(events->filter, sizeof *events->filter);
    free(events);
}
