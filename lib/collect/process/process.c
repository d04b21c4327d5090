#include "collect/process/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/number.h"
#include "base/os/system.h"
#include "collect/collector.h"
#include "collect/process/placement.h"

struct gt_process_files {
    int root;      /* borrowed, of the machine */
    int directory; /* /proc/PID; negative when descriptors are short: files are then found by number */
    int statm;     /* negative: opened anew each time, when descriptors are short */
    int task;      /* /proc/PID/task; negative: not opened yet */
    int children;  /* of the main thread */
    clockid_t clock;
    bool has_clock;
    bool may_read_io;
    bool stat_is_fresh;    /* stat was read for this sample already; only without a clock, which tells that otherwise */
    double cpu_at_threads; /* CPU clock before threads were last counted */
    double cpu_at_stat;    /* the same of stat; NaN: not read, or without a clock */
    double cpu_at_children;              /* the same of the children of all threads */
    double cpu_when_slow, rss_when_slow; /* as read before the last slow reading; NaN before the first */
};

/* Descriptor or negative errno. */
static int open_file(const struct gt_process *process, const char *name, int flags)
{
    char path[320];
    int directory = process->files->directory;
    snprintf(path, sizeof path, "proc/%d/%s", (int)process->pid, name);
    int fd = openat(directory >= 0 ? directory : process->files->root, directory >= 0 ? name : path,
                    O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags); /* a stored machine may hold anything */
    return fd < 0 ? -errno : fd;
}

static ssize_t read_file(const struct gt_process *process, int kept, const char *name, char *text, size_t size)
{
    if (kept >= 0)
        return gt_root_reread_piece(kept, text, size);
    int fd = open_file(process, name, 0);
    if (fd < 0)
        return fd;
    ssize_t length = gt_root_reread_piece(fd, text, size);
    close(fd);
    return length;
}

ssize_t gt_process_read_text(const struct gt_process *process, const char *name, char *text, size_t size)
{
    return read_file(process, -1, name, text, size);
}

/* PF_KTHREAD, PF_FORKNOEXEC and PF_EXITING of the kernel's include/linux/sched.h. */
static const unsigned long long KERNEL_THREAD = 0x200000, FORKED = 0x40, EXITING = 0x4;

int gt_process_parse_stat(const char *text, struct gt_process_stat *ret)
{
    const char *p = strrchr(text, ')'); /* names may hold blanks and brackets */
    if (!p || p[1] != ' ' || !p[2])
        return -EINVAL;
    double tick = (double)sysconf(_SC_CLK_TCK);
    ret->pid = atoi(text);
    const char *begin = strchr(text, '(');
    size_t length = begin && begin < p ? (size_t)(p - begin) - 1 : 0;
    snprintf(ret->name, sizeof ret->name, "%.*s", (int)length, begin ? begin + 1 : "");
    ret->state = p[2];
    p += 3;
    ret->parent = (pid_t)gt_number_next(&p);
    gt_number_next(&p); /* process group */
    ret->session = (pid_t)gt_number_next(&p);
    p += strspn(p, " ");
    strtol(p, (char **)&p, 10); /* terminal */
    strtol(p, (char **)&p, 10); /* its foreground group, may be -1 */
    unsigned long long flags = gt_number_next(&p);
    ret->is_kernel = flags & KERNEL_THREAD;
    ret->is_forked = flags & FORKED;
    ret->is_exiting = flags & EXITING;
    ret->minor_faults = (double)gt_number_next(&p);
    ret->reaped_minor_faults = (double)gt_number_next(&p);
    ret->major_faults = (double)gt_number_next(&p);
    ret->reaped_major_faults = (double)gt_number_next(&p);
    unsigned long long user = gt_number_next(&p), system = gt_number_next(&p);
    ret->cpu_time = (double)(user + system) / tick;
    unsigned long long reaped_user = gt_number_next(&p), reaped_system = gt_number_next(&p);
    ret->reaped_cpu_time = (double)(reaped_user + reaped_system) / tick;
    strtol(p, (char **)&p, 10); /* priority */
    strtol(p, (char **)&p, 10); /* nice */
    ret->threads = (double)gt_number_next(&p);
    gt_number_next(&p);
    if (!*p)
        return -EINVAL;
    ret->start = gt_number_next(&p);
    return 0;
}

int gt_process_stat_of(const struct gt_root *root, pid_t pid, struct gt_process_stat *ret)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "proc/%d/stat", (int)pid);
    int fd = gt_root_open_file(root, path);
    ssize_t length = fd < 0 ? fd : gt_root_reread_piece(fd, text, sizeof text);
    gt_close_fd(fd);
    return length < 0 ? (int)length : !length ? -ESRCH : gt_process_parse_stat(text, ret);
}

bool gt_process_stat_is_zombie(const struct gt_process_stat *stat)
{
    return (stat->state == 'Z' || stat->state == 'X') && !(stat->threads > 1);
}

bool gt_process_stat_leader_exited(const struct gt_process_stat *stat)
{
    return (stat->state == 'Z' || stat->state == 'X') && stat->threads > 1;
}

static void apply_stat(struct gt_process *process, const struct gt_process_stat *stat)
{
    process->version++;
    process->parent = stat->parent;
    process->session = stat->session;
    process->is_zombie = gt_process_stat_is_zombie(stat);
    process->leader_exited = gt_process_stat_leader_exited(stat);
    process->is_exiting = stat->is_exiting;
    if (process->is_forked && !stat->is_forked) { /* from now on its memory is its own program's */
        process->is_worker = false;
        process->alone_ns = 0;
        process->value[GT_RAM_PEAK] = process->hwm = NAN;
    }
    process->is_forked = stat->is_forked;
    memcpy(process->name, stat->name, sizeof process->name);
    process->is_ours = !strcmp(stat->name, GT_PROGRAM_NAME);
    process->is_sampler = !strcmp(stat->name, GT_SAMPLER_NAME);
    process->value[GT_MINOR_FAULTS] = stat->minor_faults;
    process->value[GT_MAJOR_FAULTS] = stat->major_faults;
    if (process->files->has_clock) {
        process->value[GT_THREADS] = stat->threads - process->leader_exited;
        process->files->cpu_at_threads = process->files->cpu_at_stat;
    }
    process->reaped[GT_CPU_TIME] = stat->reaped_cpu_time;
    process->reaped[GT_MINOR_FAULTS] = stat->reaped_minor_faults;
    process->reaped[GT_MAJOR_FAULTS] = stat->reaped_major_faults;
    if (!process->files->has_clock)
        process->value[GT_CPU_TIME] = stat->cpu_time;
}

static int gone(struct gt_process *process)
{
    process->is_gone = true;
    return -ESRCH;
}

/* That descriptors or memory are short says nothing of the process. */
static bool is_shortage(ssize_t status)
{
    return status == -EMFILE || status == -ENFILE || status == -ENOMEM;
}

/* NaN: it has none. */
static double clock_of(const struct gt_process *process)
{
    struct timespec t;
    if (!process->files->has_clock || clock_gettime(process->files->clock, &t) < 0)
        return NAN;
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void read_clock(struct gt_process *process)
{
    double seconds = clock_of(process);
    if (!isnan(seconds))
        process->value[GT_CPU_TIME] = seconds;
}

/* The threads beside the first, one call of next_other_thread after the other; NULL where they cannot be listed. */
static DIR *list_threads(const struct gt_process *process)
{
    int fd = open_file(process, "task", O_DIRECTORY);
    DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
    if (!tasks)
        gt_close_fd(fd);
    return tasks;
}

/* Writes the path of a file of the next thread, "task/TID/status"; false, and the list is closed, where there is none. */
static bool next_other_thread(const struct gt_process *process, DIR *tasks, const char *folder, const char *name,
                              char path[320])
{
    const struct dirent *entry = tasks ? readdir(tasks) : NULL;
    while (entry && (entry->d_name[0] == '.' || atoi(entry->d_name) == process->pid))
        entry = readdir(tasks);
    if (entry)
        snprintf(path, 320, "%s/%s/%s", folder, entry->d_name, name);
    else if (tasks)
        closedir(tasks);
    return entry;
}

/* Of statm, status and io, the file of a process without memory: "0 0 0 0 0 0 0", no line VmHWM, nothing. */
static bool shows_memory(const char *text)
{
    return *text && *text != '0' && (strncmp(text, "Name:", 5) != 0 || strstr(text, "\nVmHWM:"));
}

/* Read a file of a thread beside the first that shows memory, for processes whose first one has ended. 0: none does. */
static ssize_t read_other_thread(const struct gt_process *process, const char *name, char *text, size_t size)
{
    char path[320];
    ssize_t found = 0;
    for (DIR *tasks = list_threads(process); next_other_thread(process, tasks, "..", name, path);) {
        /* of the whole process, by the thread's number */
        ssize_t length = found ? 0 : read_file(process, -1, path, text, size);
        found = length > 0 && shows_memory(text) ? length : found;
    }
    return found;
}

/* What statm tells. */
struct resident {
    double bytes, file_bytes;
    bool has_space; /* an address space: a kernel thread has none, nor what is ending */
};

static void parse_resident(const char *text, struct resident *ret)
{
    double page = (double)sysconf(_SC_PAGESIZE);
    ret->has_space = gt_number_next(&text) != 0;
    ret->bytes = (double)gt_number_next(&text) * page;
    ret->file_bytes = (double)gt_number_next(&text) * page;
}

/* Returns a length that is 0 or less where it cannot be read. */
static ssize_t read_resident(const struct gt_process *process, struct resident *ret)
{
    char text[128];
    ssize_t length = read_file(process, process->files->statm, "statm", text, sizeof text);
    if (length > 0)
        parse_resident(text, ret);
    return length;
}

static void apply_resident(struct gt_process *process, const struct resident *resident)
{
    process->value[GT_RSS] = resident->bytes;
    process->value[GT_RAM_PEAK] = fmax(resident->bytes, process->value[GT_RAM_PEAK]);
    process->file_bytes = resident->file_bytes;
}

/* Read only stat: parent, faults, and what waited-for children used. Returns 1 where it executes a program now: what was read of its memory
 * before was its parent's, and is read again. */
static int read_stat(struct gt_process *process)
{
    char text[1024];
    struct gt_process_stat stat;
    process->files->cpu_at_stat = clock_of(process);
    ssize_t length = read_file(process, -1, "stat", text, sizeof text);
    if (is_shortage(length) && process->start)
        return 0; /* it is as it was */
    if (length <= 0 || gt_process_parse_stat(text, &stat) < 0)
        return gone(process);
    if (process->start && stat.start != process->start)
        return gone(process);
    process->start = stat.start;
    bool was_forked = process->is_forked;
    apply_stat(process, &stat);
    struct resident resident;
    if (!was_forked || process->is_forked || process->is_zombie || read_resident(process, &resident) <= 0)
        return 0;
    apply_resident(process, &resident);
    return 1;
}

enum { DESCRIPTORS_LEFT_FREE = 64 };

/* Descriptors are kept while enough are left for everything else. */
static int keep(int fd)
{
    struct rlimit limit;
    if (fd < 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0 || (rlim_t)fd + DESCRIPTORS_LEFT_FREE < limit.rlim_cur)
        return fd;
    close(fd);
    return -EMFILE;
}

int gt_process_open(struct gt_process **ret, const struct gt_root *root, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "proc/%d", (int)pid);
    int directory = gt_root_open_directory(root, path);
    if (directory < 0)
        return directory == -ENOENT ? -ESRCH : directory;
    struct gt_process *process = calloc(1, sizeof *process);
    struct gt_process_files *files = calloc(1, sizeof *files);
    if (!process || !files) {
        free(process);
        free(files);
        gt_close_fd(directory);
        return -ENOMEM;
    }
    *process = (struct gt_process){.pid = pid, .files = files, .hwm = NAN, .peak = UINT32_MAX};
    for (int id = 0; id < GT_PROCESS_METRICS; id++)
        process->value[id] = NAN;
    *files = (struct gt_process_files){
        .root = root->fd,
        .directory = keep(directory),
        .may_read_io = true,
        .task = -1,
        .cpu_at_threads = NAN,
        .cpu_at_stat = NAN,
        .cpu_at_children = NAN,
        .cpu_when_slow = NAN,
        .rss_when_slow = NAN,
    };
    snprintf(path, sizeof path, "task/%d/children", (int)pid);
    files->statm = keep(open_file(process, "statm", 0));
    files->children = keep(open_file(process, path, 0));
    files->has_clock = root->is_machine && clock_getcpuclockid(pid, &files->clock) == 0;
    read_clock(process);
    int status = read_stat(process);
    if (status < 0) {
        gt_process_close(process);
        return status;
    }
    *ret = process;
    return 0;
}

void gt_process_close(struct gt_process *process)
{
    if (!process)
        return;
    if (process->files) {
        gt_close_fd(process->files->directory);
        gt_close_fd(process->files->statm);
        gt_close_fd(process->files->task);
        gt_close_fd(process->files->children);
    }
    gt_placement_free(process->placement);
    free(process->files);
    free(process);
}

/* Only a process that runs begins threads or ends them. */
static void read_threads(struct gt_process *process)
{
    struct stat task;
    if (process->value[GT_CPU_TIME] == process->files->cpu_at_threads)
        return;
    process->files->cpu_at_threads = process->files->has_clock ? process->value[GT_CPU_TIME] : NAN;
    int fd = process->files->task >= 0 ? process->files->task : open_file(process, "task", O_DIRECTORY);
    int status = fd < 0 ? fd : fstat(fd, &task);
    if (fd != process->files->task)
        gt_close_fd(fd);
    if (status == 0 && task.st_nlink >= 2)
        process->value[GT_THREADS] = (double)(task.st_nlink - 2) - process->leader_exited;
}

int gt_process_read(struct gt_process *process, const struct gt_root *root)
{
    struct resident resident;
    bool stat_is_fresh = process->files->stat_is_fresh;
    double before = process->value[GT_CPU_TIME];
    process->files->stat_is_fresh = false;
    read_clock(process); /* before statm: statm tells whether the number still was this process */
    ssize_t length = read_resident(process, &resident);
    if (length <= 0) {
        process->value[GT_CPU_TIME] = before;
        return is_shortage(length) ? 0 : gone(process);
    }
    process->version += process->value[GT_CPU_TIME] != before;
    bool is_by_number = process->files->statm < 0 && process->files->directory < 0; /* which may be another's by now */
    int status = is_by_number ? read_stat(process) : 0;
    if (status < 0)
        return -ESRCH;
    if (status == 0)
        apply_resident(process, &resident);
    bool has_no_space = !resident.has_space && !process->is_zombie;
    bool has_new_head = resident.has_space && process->leader_exited; /* another thread has executed a program */
    if (has_no_space || has_new_head || (!process->files->has_clock && !stat_is_fresh))
        read_stat(process);
    char text[128];
    if (has_no_space && process->leader_exited && read_other_thread(process, "statm", text, sizeof text) > 0) {
        parse_resident(text, &resident);
        apply_resident(process, &resident);
    }
    if (root->is_machine)
        read_threads(process);
    return process->is_gone ? -ESRCH : 0;
}

bool gt_process_was_idle(const struct gt_process *process)
{
    return process->files->has_clock && process->value[GT_CPU_TIME] == process->files->cpu_when_slow &&
           process->value[GT_RSS] == process->files->rss_when_slow;
}

double gt_process_number(const char *text, const char *key)
{
    const char *line = strstr(text, key);
    return line ? (double)strtoull(line + strlen(key), NULL, 10) : NAN;
}

static void read_status(struct gt_process *process)
{
    char text[4096];
    if (read_file(process, -1, "status", text, sizeof text) <= 0)
        return;
    process->value[GT_VOLUNTARY_SWITCHES] = gt_process_number(text, "\nvoluntary_ctxt_switches:");
    process->value[GT_INVOLUNTARY_SWITCHES] = gt_process_number(text, "\nnonvoluntary_ctxt_switches:");
    if (isnan(process->value[GT_THREADS]))
        process->value[GT_THREADS] = gt_process_number(text, "\nThreads:");
    if (process->leader_exited && read_other_thread(process, "status", text, sizeof text) <= 0)
        return;
    double hwm = gt_process_number(text, "\nVmHWM:") * 1024;
    if (isnan(hwm))
        return;
    process->value[GT_SWAP] = gt_process_number(text, "\nVmSwap:") * 1024;
    if (hwm < process->hwm)
        process->hwm_before = 0; /* it was set back meanwhile */
    process->hwm = hwm;
    if (hwm > process->hwm_before) /* one that is older than the tracking tells nothing until it rises */
        process->value[GT_RAM_PEAK] = fmax(hwm, process->value[GT_RAM_PEAK]);
}

static void read_io(struct gt_process *process)
{
    char text[512];
    ssize_t length = process->leader_exited ? read_other_thread(process, "io", text, sizeof text)
                                            : read_file(process, -1, "io", text, sizeof text);
    if (!process->is_zombie && (length == -EACCES || length == -EPERM)) {
        process->files->may_read_io = false;
        process->is_denied = true;
    }
    if (length <= 0)
        return;
    process->value[GT_READ_CHARACTERS] = gt_process_number(text, "rchar:");
    process->value[GT_WRITTEN_CHARACTERS] = gt_process_number(text, "wchar:");
    process->value[GT_READ_BYTES] = gt_process_number(text, "\nread_bytes:");
    process->value[GT_WRITTEN_BYTES] = gt_process_number(text, "\nwrite_bytes:");
}

enum { MOST_THREADS_ASKED = 256 };

/* status counts the context switches of one thread: those of the others are added. */
static void add_thread_switches(struct gt_process *process)
{
    double others = process->value[GT_THREADS] - !process->leader_exited;
    if (!(others > 0) || others >= MOST_THREADS_ASKED)
        return;
    char path[320], text[4096];
    for (DIR *tasks = list_threads(process); next_other_thread(process, tasks, "task", "status", path);) {
        if (read_file(process, -1, path, text, sizeof text) <= 0)
            continue;
        process->value[GT_VOLUNTARY_SWITCHES] += gt_process_number(text, "\nvoluntary_ctxt_switches:");
        process->value[GT_INVOLUNTARY_SWITCHES] += gt_process_number(text, "\nnonvoluntary_ctxt_switches:");
    }
}

static void keep_growing(double *value, double before)
{
    if (!isnan(before) && !(*value >= before)) /* threads that ended took their counts with them */
        *value = before;
}

bool gt_process_has_rested(const struct gt_process *process)
{
    return process->files->cpu_at_stat == clock_of(process);
}

bool gt_process_is_at_rest(const struct gt_process *process)
{
    return process->value[GT_CPU_TIME] == clock_of(process);
}

static int read_all(struct gt_process *process, bool with_stat)
{
    process->files->cpu_when_slow = process->value[GT_CPU_TIME];
    process->files->rss_when_slow = process->value[GT_RSS];
    if (with_stat && read_stat(process) < 0)
        return -ESRCH;
    process->version++;
    double voluntary = process->value[GT_VOLUNTARY_SWITCHES], involuntary = process->value[GT_INVOLUNTARY_SWITCHES];
    read_status(process);
    add_thread_switches(process);
    keep_growing(&process->value[GT_VOLUNTARY_SWITCHES], voluntary);
    keep_growing(&process->value[GT_INVOLUNTARY_SWITCHES], involuntary);
    if (process->files->may_read_io)
        read_io(process);
    return 0;
}

int gt_process_read_slowly(struct gt_process *process)
{
    return read_all(process, true);
}

int gt_process_read_first(struct gt_process *process)
{
    return read_all(process, !gt_process_has_rested(process));
}

int gt_process_read_faults(struct gt_process *process)
{
    if (process->files->stat_is_fresh || gt_process_has_rested(process))
        return 0;
    int status = read_stat(process);
    process->files->stat_is_fresh = status >= 0 && !process->files->has_clock;
    return status;
}

/* vfork(2) lends the child the address space of its parent until it executes a program. */
static bool shares_memory(const struct gt_process *process, const struct gt_process *parent, const struct gt_root *root)
{
    if (!root->is_machine || !parent || process->leader_exited || parent->leader_exited) /* their numbers show none */
        return false;
    long order = syscall(SYS_kcmp, process->pid, parent->pid, KCMP_VM, 0, 0);
    if (order >= 0)
        return order == 0;
    return process->value[GT_RSS] == parent->value[GT_RSS] && process->file_bytes == parent->file_bytes;
}

static const int64_t LAUNCH_NS = GT_SECOND / 50, YOUNG_NS = 2 * GT_SECOND;

void gt_process_look_at_fork(struct gt_process *process, const struct gt_process *parent, const struct gt_root *root,
                             int64_t now_ns)
{
    int64_t age = now_ns - process->met_ns;
    if (!process->is_forked || (process->is_worker && age > YOUNG_NS))
        return;
    if (gt_process_read_faults(process) < 0)
        return;
    if (!process->is_forked || process->is_worker)
        return;
    if (shares_memory(process, parent, root))
        process->alone_ns = 0;
    else if (!process->alone_ns)
        process->alone_ns =
            now_ns; /* or it executes another program just now, and has yet to lose the mark of a fork */
    process->is_worker = process->alone_ns && now_ns - process->alone_ns >= LAUNCH_NS;
}

/* It has not given itself the name when it was just executed, and no command line while execve(2) is under way. */
bool gt_process_is_sampler(struct gt_process *process)
{
    char text[4096];
    if (process->is_sampler)
        return true;
    if (!process->is_ours || process->comm_checked)
        return false;
    ssize_t length = read_file(process, -1, "cmdline", text, sizeof text);
    const char *second = length > 0 ? text + strlen(text) + 1 : text;
    process->comm_checked = length > 0 || process->is_zombie;
    return length > 0 && second < text + length && !strcmp(second, GT_SAMPLER_WORD);
}

/* A children file can be longer than any buffer on the stack: read it in pieces that end at a blank. */
static size_t read_children(int fd, pid_t *pids, size_t count, size_t capacity)
{
    char text[4096];
    off_t offset = 0;
    for (;;) {
        ssize_t length = pread(fd, text, sizeof text - 1, offset);
        if (length <= 0)
            return count;
        while (length && text[length - 1] != ' ')
            length--;
        if (!length)
            return count;
        text[length] = '\0';
        for (const char *at = text; *(at += strspn(at, " \n")) && count < capacity;)
            pids[count++] = (pid_t)gt_number_next(&at);
        offset += length;
    }
}

bool gt_process_may_have_forked(const struct gt_process *process)
{
    return process->value[GT_CPU_TIME] != process->files->cpu_at_children;
}

int gt_process_children(struct gt_process *process, bool every_thread, pid_t *pids, size_t count, size_t capacity)
{
    int fd = process->files->children;
    char path[320];
    DIR *others = NULL;
    if (every_thread && process->files->has_clock)
        process->files->cpu_at_children = process->value[GT_CPU_TIME];
    if (fd < 0) {
        snprintf(path, sizeof path, "task/%d/children", (int)process->pid);
        fd = open_file(process, path, 0);
        if (fd < 0)
            return fd == -ENOENT && read_file(process, -1, "stat", path, sizeof path) > 0 ? -ENOENT : (int)count;
    }
    count = read_children(fd, pids, count, capacity);
    if (fd != process->files->children)
        close(fd);
    if (every_thread && process->value[GT_THREADS] + process->leader_exited > 1)
        others = list_threads(process);
    while (next_other_thread(process, others, "task", "children", path)) {
        fd = open_file(process, path, 0);
        if (fd >= 0)
            count = read_children(fd, pids, count, capacity);
        gt_close_fd(fd);
    }
    return (int)count;
}

int gt_pidfd_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

void gt_pidfd_survey(struct gt_availability *ret)
{
    *ret = (struct gt_availability){.state = GT_READY};
    int fd = gt_pidfd_open(getpid());
    snprintf(ret->source, sizeof ret->source, "pidfd (Linux 5.3)");
    if (fd < 0)
        gt_unavailable(ret, errno == ENOSYS ? GT_ABSENT : GT_DENIED, NULL,
                       "%s: the end of a process that attach follows is seen at the next sample, not at once",
                       strerror(errno));
    else
        close(fd);
}

/* ---- The collector ------------------------------------------------------------------------------------------------ */

/* The collector "proc": one reading of every process of the snapshot. */

enum { SLOW_PERIOD_MS = 950 };

struct state {
    const struct gt_root *root;
    int64_t slow_ns;  /* last time all files were read */
    uint64_t members; /* who was in the snapshot then */
};

static int proc_open(void *opaque, const struct gt_collect_options *options, struct gt_snapshot *snapshot,
                     struct gt_availability *availability, struct gt_error *error)
{
    (void)snapshot, (void)error;
    const struct gt_pid_namespace_fault *fault = gt_pid_namespace_fault(options->root);
    ((struct state *)opaque)->root = options->root;
    return fault ? gt_unavailable(availability, GT_BROKEN, fault->remedy, "%s", fault->reason) : 0;
}

/* A number for the processes of the snapshot: all, or those that were there at the last slow reading. */
static uint64_t who(const struct gt_snapshot *snapshot, bool only_known)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < snapshot->process_count; i++)
        if (!only_known || snapshot->process[i]->is_counted)
            sum += ((uint64_t)snapshot->process[i]->pid << 40 ^ snapshot->process[i]->start) *
                   UINT64_C(0x9e3779b97f4a7c15);
    return sum;
}

/* All files are read of those that have run, and of every process when one went that was there at the last slow reading: then another may
 * have a new parent. */
static int proc_collect(void *opaque, struct gt_snapshot *snapshot, struct gt_error *error)
{
    struct state *state = opaque;
    (void)error;
    bool slowly = snapshot->is_last || !state->slow_ns ||
                  snapshot->monotonic_ns - state->slow_ns >= SLOW_PERIOD_MS * (GT_SECOND / 1000);
    bool every = slowly && who(snapshot, true) != state->members;
    if (slowly) {
        state->members = who(snapshot, false);
        state->slow_ns = snapshot->monotonic_ns;
    }
    for (size_t i = 0; i < snapshot->process_count; i++) {
        struct gt_process *process = snapshot->process[i];
        bool is_new = isnan(process->value[GT_RSS]);
        process->is_counted |= slowly;
        if (gt_process_read(process, state->root) == 0 && (slowly || is_new) &&
            (every || !gt_process_was_idle(process)))
            gt_process_read_slowly(process);
    }
    return 0;
}

static const struct gt_origin origins[] = {
    {GT_RSS, GT_SAMPLED, "/proc/PID/statm", ""},
    {GT_RAM_PEAK, GT_EXACT, "/proc/PID/status VmHWM, wait4", "high-water mark of the kernel"},
    {GT_SWAP, GT_SAMPLED, "/proc/PID/status VmSwap", ""},
    {GT_CPU_TIME, GT_EXACT, "CPU clocks of the processes, wait4", "children that were waited for included"},
    {GT_CPU_UTILIZATION, GT_DERIVED, "CPU clocks of the processes", "CPU time of an interval over its length"},
    {GT_THREADS, GT_SAMPLED, "/proc/PID/task", ""},
    {GT_PROCESSES, GT_SAMPLED, "/proc/PID/task/TID/children", ""},
    {GT_MINOR_FAULTS, GT_EXACT, "/proc/PID/stat, wait4", ""},
    {GT_MAJOR_FAULTS, GT_EXACT, "/proc/PID/stat, wait4", ""},
    {GT_VOLUNTARY_SWITCHES, GT_EXACT, "/proc/PID/task/TID/status, wait4", ""},
    {GT_INVOLUNTARY_SWITCHES, GT_EXACT, "/proc/PID/task/TID/status, wait4", ""},
    {GT_READ_BYTES, GT_EXACT, "/proc/PID/io, wait4", ""},
    {GT_WRITTEN_BYTES, GT_EXACT, "/proc/PID/io, wait4", ""},
    {GT_READ_CHARACTERS, GT_SAMPLED, "/proc/PID/io", "up to the last reading of each process"},
    {GT_WRITTEN_CHARACTERS, GT_SAMPLED, "/proc/PID/io", "up to the last reading of each process"},
};

const struct gt_collector_type gt_collector_proc = {
    .name = "proc",
    .help = "Processes: memory, CPU time, threads, faults, switches, bytes",
    .source = "/proc/PID/{statm,stat,status,io} and the process's CPU clock",
    .state_size = sizeof(struct state),
    .origins = origins,
    .origin_count = sizeof origins / sizeof *origins,
    .open = proc_open,
    .collect = proc_collect,
};
