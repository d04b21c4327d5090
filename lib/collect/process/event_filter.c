#include "collect/process/event_filter.h"

#include <arpa/inet.h>
#include <linux/bpf.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TASKS = 1 << 16 };

/* Shared with the kernel, which reads and writes it while we do. */
struct marks {
    uint32_t is_open;
    uint32_t passed; /* datagrams that were let through */
    uint8_t task[TASKS];
};

struct gt_event_filter {
    struct marks *marks;
};

/* ---- The programs ------------------------------------------------------------------------------------------------ */

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

/* ---- The filter -------------------------------------------------------------------------------------------------- */

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

static bool load(int map, int forks, int records)
{
    int program = load_program(map);
    if (program < 0)
        return false;
    bool is_attached = attach(forks, program);
    if (is_attached)
        attach(records, program);
    close(program);
    return is_attached;
}

struct gt_event_filter *gt_event_filter_new(int forks, int records)
{
    struct gt_event_filter *filter = calloc(1, sizeof *filter);
    int map = filter ? make_map() : -1;
    if (map < 0) {
        free(filter);
        return NULL;
    }
    void *marks = mmap(NULL, sizeof(struct marks), PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
    filter->marks = marks == MAP_FAILED ? NULL : marks;
    bool is_attached = false;
    if (filter->marks) {
        gt_event_filter_narrow(filter, false); /* the kernel made the marks, all of them unset */
        is_attached = load(map, forks, records);
    }
    close(map);
    if (is_attached)
        return filter;
    gt_event_filter_free(filter);
    return NULL;
}

void gt_event_filter_free(struct gt_event_filter *filter)
{
    if (filter && filter->marks)
        munmap(filter->marks, sizeof *filter->marks);
    free(filter);
}

void gt_event_filter_reset(struct gt_event_filter *filter)
{
    gt_event_filter_narrow(filter, false);
    memset(filter->marks->task, 0, sizeof filter->marks->task);
}

uint32_t gt_event_filter_passed(const struct gt_event_filter *filter)
{
    return __atomic_load_n(&filter->marks->passed, __ATOMIC_ACQUIRE);
}

void gt_event_filter_mark(struct gt_event_filter *filter, pid_t task)
{
    uint8_t *mark = &filter->marks->task[task & (TASKS - 1)];
    __atomic_store_n(mark, 1, __ATOMIC_RELEASE);
}

void gt_event_filter_narrow(struct gt_event_filter *filter, bool is_narrow)
{
    __atomic_store_n(&filter->marks->is_open, !is_narrow, __ATOMIC_RELEASE);
}
