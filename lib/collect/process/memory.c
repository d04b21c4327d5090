#include "collect/process/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/grow.h"
#include "collect/process/process.h"

/* What shows the memory of a process: its number, or, when its first thread has ended, that of another. */
static pid_t task_with_memory(const struct gt_root *root, pid_t pid)
{
    char path[64], text[128];
    struct gt_process_stat stat;
    snprintf(path, sizeof path, "proc/%d/statm", (int)pid);
    if (gt_root_read(root, path, text, sizeof text) <= 0 || *text != '0' || gt_process_stat_of(root, pid, &stat) < 0 ||
        !gt_process_stat_leader_exited(&stat))
        return pid;
    snprintf(path, sizeof path, "proc/%d/task", (int)pid);
    DIR *tasks = gt_root_list(root, path);
    pid_t found = pid;
    for (struct dirent *entry; tasks && found == pid && (entry = readdir(tasks));) {
        snprintf(path, sizeof path, "proc/%d/task/%.20s/statm", (int)pid, entry->d_name);
        if (gt_root_read(root, path, text, sizeof text) > 0 && *text != '0')
            found = (pid_t)atoi(entry->d_name);
    }
    if (tasks)
        closedir(tasks);
    return found;
}

int gt_process_file_open(const struct gt_root *root, pid_t pid, const char *name)
{
    char path[96];
    pid_t task = task_with_memory(root, pid);
    snprintf(path, sizeof path, "proc/%d/%s", (int)pid, name);
    if (task != pid)
        snprintf(path, sizeof path, "proc/%d/task/%d/%s", (int)pid, (int)task, name);
    struct gt_process_stat stat;
    int fd = gt_root_open_file(root, path);
    return fd == -ENOENT && gt_process_stat_of(root, pid, &stat) < 0 ? -ESRCH : fd;
}

static int fill(struct gt_line_reader *reader)
{
    memmove(reader->buffer, reader->buffer + reader->begin, reader->end - reader->begin);
    reader->end -= reader->begin;
    reader->begin = 0;
    ssize_t got;
    do
        got = read(reader->fd, reader->buffer + reader->end, reader->size - 1 - reader->end);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -errno;
    reader->end += (size_t)got;
    return got > 0;
}

int gt_line_reader_next(struct gt_line_reader *reader, char **ret)
{
    for (;;) {
        char *line = reader->buffer + reader->begin;
        char *line_end = memchr(line, '\n', reader->end - reader->begin);
        if (line_end) {
            *line_end = '\0';
            reader->begin = (size_t)(line_end + 1 - reader->buffer);
            *ret = line;
            return 1;
        }
        bool is_full = reader->end - reader->begin >= reader->size - 1;
        int filled = is_full ? 0 : fill(reader);
        if (filled > 0)
            continue;
        if (filled < 0 || reader->begin == reader->end)
            return filled;
        reader->buffer[reader->end] = '\0';
        *ret = reader->buffer + reader->begin;
        reader->begin = reader->end;
        return 1;
    }
}

/* "Shared_Clean:   0 kB" and the like. Lines of hugetlb are separate and are not resident memory to the kernel. */
static void add_field(struct gt_smaps *smaps, const char *line)
{
    const struct {
        const char *name;
        double *sum;
    } fields[] = {
        {"Rss:", &smaps->rss},
        {"Pss:", &smaps->pss},
        {"Shared_Clean:", &smaps->shared_bytes},
        {"Shared_Dirty:", &smaps->shared_bytes},
        {"Private_Clean:", &smaps->private_bytes},
        {"Private_Clean:", &smaps->private_clean},
        {"Private_Dirty:", &smaps->private_bytes},
        {"Swap:", &smaps->swap},
        {"Anonymous:", &smaps->anonymous},
        {"Pss_File:", &smaps->pss_files},
        {"Pss_Shmem:", &smaps->pss_shmem},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        size_t length = strlen(fields[i].name);
        if (!strncmp(line, fields[i].name, length))
            *fields[i].sum += 1024.0 * (double)strtoull(line + length, NULL, 10);
    }
}

/* Private pages of files are clean ones. Of the rest a page that others map adds at most half of itself to the PSS: what the PSS has more
 * is of dirty private pages of shared memory. Before Linux 5.4 that is not known. */
static double private_anonymous(const struct gt_smaps *smaps)
{
    double files = smaps->private_clean, pss = smaps->pss_files + smaps->pss_shmem;
    double most = pss > 0 ? fmin(smaps->anonymous, smaps->pss - pss) : smaps->anonymous;
    files += fmax(0, 2 * (pss - files) - (smaps->rss - smaps->anonymous - files));
    return fmin(fmax(smaps->private_bytes - files, 0), most);
}

static int add_up(int fd, struct gt_smaps *ret)
{
    char buffer[8192], *line;
    struct gt_line_reader reader = {.fd = fd, .buffer = buffer, .size = sizeof buffer};
    int result, lines = 0;
    *ret = (struct gt_smaps){0};
    while ((result = gt_line_reader_next(&reader, &line)) > 0) {
        add_field(ret, line);
        lines = 1;
    }
    ret->private_anonymous = private_anonymous(ret);
    ret->file_bytes = fmax(0, ret->rss - ret->anonymous);
    return result < 0 || lines ? result : -ESRCH;
}

int gt_smaps_read(const struct gt_root *root, pid_t pid, uint64_t start, struct gt_smaps *ret)
{
    struct gt_process_stat stat;
    int fd = gt_process_file_open(root, pid, "smaps_rollup");
    if (fd == -ENOENT)
        fd = gt_process_file_open(root, pid, "smaps");
    if (fd < 0)
        return fd;
    int status = gt_process_stat_of(root, pid, &stat); /* the descriptor stays with the process it was opened for */
    bool is_same = start ? status == 0 && stat.start == start : status == 0 || status == -EINVAL;
    int result = is_same ? add_up(fd, ret) : -ESRCH;
    close(fd);
    if (result >= 0)
        ret->faults = status == 0 ? stat.minor_faults : NAN;
    return result;
}

static const struct {
    const char *label, *source;
} methods[] = {
    [GT_MEMORY_GROUP] = {"control group of the job", "memory.stat of the job's control group, /proc/PID/statm"},
    [GT_MEMORY_FAULTS] = {"resident sets and page faults", "/proc/PID/{statm,stat,smaps_rollup}"},
    [GT_MEMORY_RSS] = {"sum of resident sets", "/proc/PID/statm"},
};

static const struct {
    const char *name;
    enum gt_memory_method best;
} names[] = {{"auto", GT_MEMORY_GROUP}, {"pss", GT_MEMORY_FAULTS}, {"rss", GT_MEMORY_RSS}};

const char *gt_memory_method_name(size_t index)
{
    return index < sizeof names / sizeof *names ? names[index].name : NULL;
}

int gt_memory_method_find(const char *name, struct gt_error *error)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!name || !strcmp(names[i].name, name))
            return (int)names[i].best;
    return gt_error_set(error, EINVAL, "\"%s\" is not a memory method; choose one of auto, pss, rss%s", name,
                        strcmp(name, "unique") ? "" : " (\"auto\" replaces \"unique\")");
}

const char *gt_memory_method_label(enum gt_memory_method method)
{
    return methods[method].label;
}

const char *gt_memory_method_source(enum gt_memory_method method)
{
    return methods[method].source;
}

/* ---- Peaks of the calling process ---------------------------------------------------------------------------------- */

struct window {
    int number;
    double bytes;
};

/* Global, as the mark is. */
static struct {
    pthread_mutex_t lock;
    struct window *window;
    size_t count, capacity;
    int last_number;
    bool watches_forks;
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void forget(void)
{
    pthread_mutex_init(&own.lock, NULL); /* a thread that is not in the child may have held it */
    own.count = 0;
}

int gt_own_memory(double *ret_resident, double *ret_hwm)
{
    char text[8192];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t length = read(fd, text, sizeof text - 1);
    int status = length < 0 ? -errno : 0;
    close(fd);
    text[length < 0 ? 0 : length] = '\0';
    *ret_resident = gt_process_number(text, "\nVmRSS:") * 1024;
    *ret_hwm = gt_process_number(text, "\nVmHWM:") * 1024;
    return status;
}

/* Bytes, or negative errno. */
static double read_hwm(void)
{
    double resident, hwm;
    int status = gt_own_memory(&resident, &hwm);
    return status < 0 ? status : isnan(hwm) ? -ENODATA : hwm;
}

double gt_own_hwm(void)
{
    double hwm = read_hwm();
    return hwm > 0 ? hwm : INFINITY;
}

static int set_back(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int result = write(fd, "5", 1) == 1 ? 0 : -errno;
    close(fd);
    return result;
}

static void hand_out(double hwm)
{
    for (size_t i = 0; i < own.count; i++)
        own.window[i].bytes = fmax(own.window[i].bytes, hwm);
}

static int begin(void)
{
    double before = read_hwm();
    int result = before < 0 ? (int)before : GT_GROW_TO(own.window, own.capacity, own.count + 1);
    if (result == 0)
        result = set_back();
    if (result < 0)
        return result;
    hand_out(before);
    own.last_number = own.last_number < 1 << 30 ? own.last_number + 1 : 1;
    own.window[own.count++] = (struct window){own.last_number, fmax(0, read_hwm())};
    return own.last_number;
}

int gt_own_peak_begin(void)
{
    pthread_mutex_lock(&own.lock);
    if (!own.watches_forks)
        own.watches_forks = pthread_atfork(NULL, NULL, forget) == 0;
    int result = own.watches_forks ? begin() : -ENOMEM;
    pthread_mutex_unlock(&own.lock);
    return result;
}

double gt_own_peak_end(int window)
{
    double bytes = NAN;
    pthread_mutex_lock(&own.lock);
    double hwm = read_hwm();
    if (hwm >= 0)
        hand_out(hwm);
    for (size_t i = 0; i < own.count; i++) {
        if (own.window[i].number != window)
            continue;
        bytes = hwm < 0 ? NAN : own.window[i].bytes;
        own.window[i] = own.window[--own.count];
        break;
    }
    pthread_mutex_unlock(&own.lock);
    return bytes;
}

/* ---- A thread that reads smaps_rollup ----------------------------------------------------------------------------- */

enum { STACK_BYTES = 256 * 1024 };

double gt_smaps_machine_shmem(const struct gt_root *root)
{
    char text[8192];
    return gt_root_read(root, "proc/meminfo", text, sizeof text) > 0 ? gt_process_number(text, "\nShmem:") * 1024 : NAN;
}

static void *run(void *opaque)
{
    struct gt_smaps_reader *reader = opaque;
    prctl(PR_SET_TIMERSLACK, 1);
    pthread_mutex_lock(&reader->lock);
    while (!reader->is_stopping) {
        if (!reader->is_asked) {
            pthread_cond_wait(&reader->wake, &reader->lock);
            continue;
        }
        bool stops = false;
        pthread_mutex_unlock(&reader->lock);
        int64_t began_ns = gt_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        for (size_t i = 0; i < reader->count && !stops; i++) {
            struct gt_smaps_reading *one = &reader->reading[i];
            one->status = gt_smaps_read(reader->root, one->pid, one->start, &one->smaps);
            pthread_mutex_lock(&reader->lock);
            stops = reader->is_stopping;
            pthread_mutex_unlock(&reader->lock);
        }
        reader->shmem = gt_smaps_machine_shmem(reader->root);
        reader->used_ns = gt_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
        pthread_mutex_lock(&reader->lock);
        reader->is_asked = false;
        pthread_cond_signal(&reader->finished);
    }
    pthread_mutex_unlock(&reader->lock);
    return NULL;
}

/* Signals are the program's: this thread, which the program does not know, must not get any. */
static int start_thread(struct gt_smaps_reader *reader)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    int result = pthread_attr_init(&attributes);
    if (result)
        return -result;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    result = pthread_create(&reader->thread, &attributes, run, reader);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    reader->has_thread = result == 0;
    return -result;
}

void gt_smaps_reader_open(struct gt_smaps_reader *reader, const struct gt_root *root)
{
    pthread_condattr_t attributes;
    *reader = (struct gt_smaps_reader){.root = root};
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&reader->lock, NULL);
    pthread_cond_init(&reader->wake, NULL);
    pthread_cond_init(&reader->finished, &attributes);
    pthread_condattr_destroy(&attributes);
}

void gt_smaps_reader_close(struct gt_smaps_reader *reader)
{
    if (reader->has_thread) {
        pthread_mutex_lock(&reader->lock);
        reader->is_stopping = true;
        pthread_cond_signal(&reader->wake);
        pthread_mutex_unlock(&reader->lock);
        pthread_join(reader->thread, NULL);
    }
    pthread_mutex_destroy(&reader->lock);
    pthread_cond_destroy(&reader->wake);
    pthread_cond_destroy(&reader->finished);
    free(reader->reading);
}

/* Processes are read in turn. A page that another process maps meanwhile must not count in full in the one and in
 * part in the other, so the processes that have the fewest pages, which may map more, are read first. */
static int by_files(const void *a, const void *b)
{
    const struct gt_smaps_reading *one = a, *other = b;
    return (one->files > other->files) - (one->files < other->files);
}

int gt_smaps_reader_start(struct gt_smaps_reader *reader)
{
    int status = reader->has_thread ? 0 : start_thread(reader);
    if (status < 0)
        return status;
    qsort(reader->reading, reader->count, sizeof *reader->reading, by_files);
    pthread_mutex_lock(&reader->lock);
    reader->is_asked = true;
    pthread_cond_signal(&reader->wake);
    pthread_mutex_unlock(&reader->lock);
    return 0;
}

bool gt_smaps_reader_await(struct gt_smaps_reader *reader, int64_t patience_ns)
{
    int64_t until = gt_clock_monotonic(&gt_clock_system) + patience_ns;
    const struct timespec deadline = {until / GT_SECOND, until % GT_SECOND};
    pthread_mutex_lock(&reader->lock);
    while (reader->is_asked && patience_ns > 0)
        if (pthread_cond_timedwait(&reader->finished, &reader->lock, &deadline))
            break;
    bool has_ended = !reader->is_asked;
    pthread_mutex_unlock(&reader->lock);
    return has_ended;
}
