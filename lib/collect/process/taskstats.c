#include "collect/process/taskstats.h"

#include <errno.h>
#include <linux/acct.h>
#include <linux/futex.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own_name.h"
#include "collect/collector.h"
#include "collect/process/datagram.h"
#include "collect/process/process.h"

enum {
    STACK_BYTES = 4096,
    QUEUE_BYTES = 64 << 20,
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
static int request(int fd, unsigned short family, unsigned char command, unsigned short attribute, const char *text)
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
static int answer(int fd, char *bytes, size_t size, size_t *ret)
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
    int result = request(fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME);
    if (result < 0)
        return result;
    result = answer(fd, bytes, sizeof bytes, &length);
    if (result < 0)
        return result;
    const char *family = length < ATTRIBUTES_AT ? NULL
                                                : find_attribute(bytes + ATTRIBUTES_AT, length - ATTRIBUTES_AT,
                                                                 CTRL_ATTR_FAMILY_ID, &size);
    if (!family || size < sizeof *ret)
        return -EBADMSG;
    memcpy(ret, family, sizeof *ret);
    return answer(fd, bytes, sizeof bytes, &length);
}

static int listen_on(int fd, unsigned short family, const char *cpus)
{
    char bytes[256];
    size_t length = 0;
    int result = request(fd, family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, cpus);
    return result < 0 ? result : answer(fd, bytes, sizeof bytes, &length);
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
static bool tells_of_own_thread(struct gt_taskstats *taskstats)
{
    struct gt_event event;
    pid_t number = let_thread_end();
    if (number < 0)
        return false;
    for (int count; (count = gt_taskstats_receive(taskstats)) != 0;) {
        if (count < 0 && count != -ENOBUFS)
            return false;
        while (gt_taskstats_next(taskstats, &event))
            if (event.pid == number)
                return event.tgid == getpid();
    }
    return false;
}

static int subscribe(struct gt_taskstats *taskstats, struct gt_availability *availability)
{
    int result = find_family(taskstats->fd, &taskstats->family);
    if (result < 0)
        return gt_unavailable(availability, GT_ABSENT, NULL, "no exit records in this kernel: %s", strerror(-result));
    result = listen_on(taskstats->fd, taskstats->family, taskstats->cpus);
    if (result == -EPERM)
        return gt_unavailable(availability, GT_DENIED, gt_remedy_net_admin, "this user may not read exit records");
    if (result == -EINVAL)
        return gt_unavailable(availability, GT_ABSENT, NULL,
                              "the kernel tells exit records only in its first user and PID namespaces");
    if (result < 0)
        return gt_unavailable(availability, GT_BROKEN, NULL, "exit records: %s", strerror(-result));
    gt_datagrams_queue(taskstats->fd, QUEUE_BYTES);
    if (!tells_of_own_thread(taskstats))
        return gt_unavailable(availability, GT_ABSENT, NULL,
                              "no readable exit record came: needs the first network namespace and Linux 5.18");
    return 1;
}

static void read_cpus(struct gt_taskstats *taskstats, const struct gt_root *root)
{
    ssize_t length = gt_root_read(root, "sys/devices/system/cpu/possible", taskstats->cpus, sizeof taskstats->cpus);
    if (length <= 0)
        snprintf(taskstats->cpus, sizeof taskstats->cpus, "0-%u", (unsigned)sysconf(_SC_NPROCESSORS_CONF) - 1);
    taskstats->cpus[strcspn(taskstats->cpus, "\n")] = '\0';
}

int gt_taskstats_open(struct gt_taskstats *taskstats, const struct gt_root *root, struct gt_availability *availability,
                      struct gt_error *error)
{
    *availability = (struct gt_availability){.state = GT_READY, .source = "exit records (taskstats netlink)"};
    struct gt_taskstats opened = {.fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_GENERIC)};
    if (opened.fd < 0)
        return gt_unavailable(availability, GT_ABSENT, NULL, "no exit records in this kernel: %s", strerror(errno));
    opened.datagrams = gt_datagrams_new(opened.fd, DATAGRAM_SIZE);
    if (!opened.datagrams) {
        close(opened.fd);
        return gt_error_system(error, ENOMEM, "exit records");
    }
    read_cpus(&opened, root);
    if (subscribe(&opened, availability))
        *taskstats = opened;
    else
        gt_taskstats_close(&opened);
    return 0;
}

int gt_taskstats_receive(struct gt_taskstats *taskstats)
{
    return gt_datagrams_receive(taskstats->datagrams);
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

static bool convert(const char *bytes, size_t size, struct gt_event *ret)
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

int gt_taskstats_next(struct gt_taskstats *taskstats, struct gt_event *ret)
{
    size_t length;
    const char *bytes;
    while ((bytes = gt_datagrams_next(taskstats->datagrams, &length))) {
        struct nlmsghdr header;
        if (length < ATTRIBUTES_AT)
            continue;
        memcpy(&header, bytes, sizeof header);
        if (header.nlmsg_type != taskstats->family)
            continue;
        bytes = find_attribute(bytes + ATTRIBUTES_AT, length - ATTRIBUTES_AT, TASKSTATS_TYPE_AGGR_PID, &length);
        bytes = bytes ? find_attribute(bytes, length, TASKSTATS_TYPE_STATS, &length) : NULL;
        if (bytes && convert(bytes, length, ret))
            return 1;
    }
    return 0;
}

void gt_taskstats_close(struct gt_taskstats *taskstats)
{
    if (taskstats->family)
        request(taskstats->fd, taskstats->family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_DEREGISTER_CPUMASK,
                taskstats->cpus);
    close(taskstats->fd);
    gt_datagrams_free(taskstats->datagrams);
}
