/* Marking code blocks, and the files of this process: its own, and those that it shares with the ones it was forked from. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "blocks/block.h"
#include "base/buffer.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/os/system.h"
#include "base/utf8.h"
#include "blocks/block_notes.h"

const char *const gt_block_event_columns[GT_BLOCK_EVENT_COLUMNS] = {
    "process_id", "code_block_name", "position", "timestamp", "thread_id", "call", "total", "monotonic", "cpu_time",
};

const char *const gt_block_event_types[GT_BLOCK_EVENT_COLUMNS] = {
    "INTEGER", "VARCHAR", "INTEGER", "FLOAT", "INTEGER", "INTEGER", "INTEGER", "FLOAT", "FLOAT",
};

/* ---- the process ---- */

struct gt_block_thread {
    struct gt_block_thread *next;
    uint64_t identity;
    pid_t id;
    atomic_bool busy;
};

/* A macro that marks a scope has no object to hand over, so the process's own state is found here. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct gt_block_process *process;
static pthread_key_t thread_key;
static _Thread_local struct gt_block_thread *current;

static void forget(void)
{
    memset(process, 0, sizeof *process);
}

static void leave_thread(void *argument);

/* The library that hooks have brought into this process (see inject/), when this is another copy of it: the process's own file is its,
 * so that blocks of both lie in one. */
static struct {
    struct gt_block (*begin)(const char *name, uint64_t total);
    void (*end)(struct gt_block *block, double cpu_seconds);
} host;

static void find_host(void)
{
    void *library = dlopen("libgputracker-blocks.so", RTLD_LAZY | RTLD_NOLOAD);
    void *begin = library ? dlsym(library, "gt_hook_begin_of") : NULL;
    void *end = library ? dlsym(library, "gt_hook_end_with_children") : NULL;
    Dl_info its, mine;
    if (!begin || !end ||
        (dladdr(begin, &its) && dladdr(&host, &mine) && its.dli_fbase == mine.dli_fbase)) /* it is this copy */
        return;
    memcpy(&host.begin, &begin, sizeof begin);
    memcpy(&host.end, &end, sizeof end);
}

static void begin_library(void)
{
    find_host();
    struct gt_block_process *memory = gt_fork_memory(sizeof *memory, forget);
    if (memory && pthread_key_create(&thread_key, leave_thread) == 0)
        process = memory;
}

_Atomic(struct gt_block_file *) gt_block_known;

struct gt_block_process *gt_block_process_begin(void)
{
    pthread_once(&once, begin_library);
    if (!process || atomic_load_explicit(&process->identity, memory_order_acquire))
        return process;
    pthread_mutex_lock(&process->mutex);
    if (!atomic_load(&process->identity)) {
        const char *cpu = secure_getenv(GT_BLOCKS_CPU_ENVIRONMENT);
        process->pid = getpid();
        process->without_cpu = cpu && strcmp(cpu, "no") == 0;
        for (struct gt_block_file *file = atomic_load(&gt_block_known); file; file = file->older) {
            int status = file->writer->disown(file);
            file->failed = status < 0 ? status : 0;
        }
        atomic_store(&process->identity, (uint64_t)gt_clock_ns(CLOCK_MONOTONIC) ^ ((uint64_t)process->pid << 40));
    }
    pthread_mutex_unlock(&process->mutex);
    return process;
}

/* ---- threads ---- */

static struct gt_block_thread *begin_thread(void)
{
    struct gt_block_thread *thread = calloc(1, sizeof *thread);
    free(current); /* of the process that this one was forked from */
    current = NULL;
    if (!thread)
        return NULL;
    thread->id = (pid_t)syscall(SYS_gettid);
    thread->identity = atomic_load(&process->identity);
    pthread_mutex_lock(&process->mutex);
    thread->next = process->threads;
    process->threads = thread;
    pthread_mutex_unlock(&process->mutex);
    pthread_setspecific(thread_key, thread);
    return current = thread;
}

/* The calling thread, entered: marked busy so that the end of the process waits for it. NULL when it may not write. */
static struct gt_block_thread *enter(void)
{
    if (!gt_block_process_begin())
        return NULL;
    struct gt_block_thread *thread = current;
    if (!thread || thread->identity != atomic_load_explicit(&process->identity, memory_order_relaxed))
        thread = begin_thread();
    if (!thread || atomic_exchange(&thread->busy, true))
        return NULL;
    if (!atomic_load(&process->closed))
        return thread;
    atomic_store(&thread->busy, false);
    return NULL;
}

static void leave(struct gt_block_thread *thread)
{
    atomic_store_explicit(&thread->busy, false, memory_order_release);
}

static void leave_thread(void *argument)
{
    struct gt_block_thread *thread = argument;
    current = NULL;
    if (thread->identity == atomic_load(&process->identity)) { /* not of the process that this one was forked from */
        pthread_mutex_lock(&process->mutex);
        for (struct gt_block_thread **link = &process->threads; *link; link = &(*link)->next)
            if (*link == thread) {
                *link = thread->next;
                break;
            }
        pthread_mutex_unlock(&process->mutex);
    }
    free(thread);
}

/* ---- making ---- */

int gt_block_absolute_path(char *ret, const char *path, struct gt_error *error)
{
    char folder[PATH_MAX] = "";
    if (*path != '/' && !getcwd(folder, sizeof folder))
        return gt_error_system(error, errno, "the current folder");
    int length = snprintf(ret, PATH_MAX, "%s%s%s", folder, *folder ? "/" : "", path);
    return length < PATH_MAX ? 0 : gt_error_set(error, ENAMETOOLONG, "%s: the path is too long", path);
}

int gt_block_make(const char *path, const struct gt_block_writer *writer, bool replace, bool may_clear,
                  void (*sign)(int fd), struct gt_error *error)
{
    struct gt_new_file file;
    int status = gt_new_file_begin(&file, path);
    if (status < 0)
        return status;
    status = writer->make(file.fd, file.hidden, NULL); /* errors are about the name that was asked for */
    if (status < 0) {
        gt_new_file_drop(&file);
        return status;
    }
    if (sign)
        sign(file.fd);
    if (writer->clear && (replace || access(path, F_OK) < 0) && writer->clear(path, may_clear, error) < 0) {
        gt_new_file_drop(&file);
        return -ENOTEMPTY;
    }
    status = gt_new_file_place(&file, replace);
    if (status == 0)
        close(file.fd);
    return status;
}

/* Make "STEM.csv", or "STEM-2.csv" and so on when that is taken. */
static int make_numbered(char *ret, const char *stem, struct gt_error *error)
{
    const char *suffix = gt_block_csv.suffix;
    int status = -EEXIST;
    for (int number = 1; status == -EEXIST && number < 10000; number++) {
        int length = number == 1 ? snprintf(ret, PATH_MAX, "%s%s", stem, suffix)
                                 : snprintf(ret, PATH_MAX, "%s-%d%s", stem, number, suffix);
        status = length >= PATH_MAX       ? -ENAMETOOLONG
                 : access(ret, F_OK) == 0 ? -EEXIST
                                          : gt_block_make(ret, &gt_block_csv, false, false, NULL, error);
    }
    return status < 0 ? gt_error_system(error, -status, "%s", ret) : 0;
}

/* ---- opening ---- */

int gt_block_add_file(struct gt_block_file **ret, const struct gt_block_writer *writer, const char *origin,
                      const char *path, bool is_new, struct gt_error *error)
{
    struct stat facts;
    struct gt_block_file *file = calloc(1, sizeof *file);
    int status = !file ? -ENOMEM : stat(path, &facts) < 0 ? -errno : 0;
    if (status == 0) {
        file->identity = atomic_load(&process->identity);
        file->is_shared = *origin;
        file->is_new = is_new;
        file->device = facts.st_dev;
        file->inode = facts.st_ino;
        file->writer = writer;
        snprintf(file->origin, sizeof file->origin, "%s", origin);
        snprintf(file->path, sizeof file->path, "%s", path);
        status = file->writer->open(file, error);
    }
    if (status < 0) {
        free(file);
        return gt_error_system(error, -status, "%s", path);
    }
    file->next = process->files;
    process->files = file;
    file->older = atomic_load(&gt_block_known);
    atomic_store(&gt_block_known, file);
    *ret = file;
    return 0;
}

struct gt_block_file *gt_block_find_path(struct gt_block_file *files, const char *path)
{
    while (files && strcmp(files->path, path) != 0)
        files = files->next;
    return files;
}

int gt_block_join(struct gt_block_file **ret, const struct gt_block_file *parents, struct gt_error *error)
{
    struct stat facts;
    const char *path = parents->path;
    if (parents->failed)
        return gt_error_system(error, -parents->failed, "%s", path);
    if (stat(path, &facts) < 0 || facts.st_dev != parents->device || facts.st_ino != parents->inode)
        return gt_error_system(error, ENOENT, "%s", path);
    return gt_block_add_file(ret, parents->writer, parents->origin, path, false, error);
}

/* ---- the process's own file ---- */

static struct gt_block_file *open_standard(void)
{
    char name[PATH_MAX], stem[PATH_MAX], path[PATH_MAX];
    struct gt_error *error = &process->trouble;
    const char *folder = secure_getenv(GT_BLOCKS_ENVIRONMENT);
    bool has_folder = folder && *folder;
    int length = snprintf(name, sizeof name, "%s%s%d", has_folder ? folder : "", has_folder ? "/" : "",
                          (int)process->pid);
    if (length >= (int)sizeof name || gt_block_absolute_path(stem, name, error) < 0 ||
        snprintf(path, sizeof path, "%s%s", stem, gt_block_csv.suffix) >= (int)sizeof path)
        return NULL;
    struct gt_block_file *file = gt_block_find_path(process->files, path); /* opened by its name before */
    if (!file && make_numbered(path, stem, error) == 0)
        gt_block_add_file(&file, &gt_block_csv, "", path, true, error);
    return file;
}

static struct gt_block_file *standard_file(void)
{
    struct gt_block_file *file = atomic_load_explicit(&process->standard, memory_order_acquire);
    if (file || atomic_load_explicit(&process->tried_standard,
                                     memory_order_acquire)) /* what failed is not tried at every block */
        return file ? file : atomic_load(&process->standard);
    pthread_mutex_lock(&process->mutex);
    file = atomic_load(&process->standard);
    if (!file && !process->tried_standard) {
        file = open_standard();
        atomic_store_explicit(&process->standard, file, memory_order_release);
        atomic_store_explicit(&process->tried_standard, true, memory_order_release);
    }
    pthread_mutex_unlock(&process->mutex);
    return file;
}

/* ---- after fork ---- */

static struct gt_block_file *open_child_file(struct gt_block_file *parents)
{
    struct gt_block_file *file = gt_block_find_path(process->files, parents->path);
    int status = parents->failed; /* in this process: its parent's memory is its own */
    if (!file && !status) {
        status = gt_block_join(&file, parents, &process->trouble);
        parents->failed = status < 0 ? status : 0;
    }
    return file;
}

static struct gt_block_file *child_file_of(struct gt_block_file *file)
{
    if (!file->is_shared)
        return standard_file();
    uint64_t identity = atomic_load_explicit(&process->identity, memory_order_relaxed);
    struct gt_block_file *child_file = atomic_load_explicit(&file->child_file, memory_order_acquire);
    if (child_file && child_file->identity == identity)
        return child_file;
    pthread_mutex_lock(&process->mutex);
    child_file = open_child_file(file);
    atomic_store_explicit(&file->child_file, child_file, memory_order_release);
    pthread_mutex_unlock(&process->mutex);
    return child_file;
}

/* ---- what became of a file ---- */

static const struct gt_block_file *current_of(const struct gt_block_file *file)
{
    if (!gt_block_process_begin())
        return NULL;
    if (!file)
        return host.begin ? NULL : standard_file();
    /* The child's file is remembered in the file, which is the library's to change. */
    return file->identity == atomic_load(&process->identity) ? file : child_file_of((struct gt_block_file *)file);
}

const char *gt_block_file_path(const struct gt_block_file *file)
{
    file = current_of(file);
    return file ? file->path : NULL;
}

/* Asking does not make a file. */
int gt_block_file_status(const struct gt_block_file *file, struct gt_error *error)
{
    gt_block_process_begin();
    const struct gt_block_file *now = file ? current_of(file) : process ? atomic_load(&process->standard) : NULL;
    now = now ? now : file;
    int status = now ? now->failed : !process || process->tried_standard ? -EIO : 0;
    const char *path = now ? now->path : "code blocks";
    if (status == -ENOENT)
        return gt_error_set(error, ENOENT, "The file %s was removed in the middle of writing data to it", path);
    return status < 0 ? gt_error_system(error, -status, "%s", path) : 0;
}

/* ---- marking ---- */

enum { HASH_LENGTH = 9 };

const char *gt_block_name(const char *name, char *cut)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    size_t length = GT_BLOCK_NAME_MAX - HASH_LENGTH;
    if (strnlen(name, GT_BLOCK_NAME_MAX + 1) <= GT_BLOCK_NAME_MAX)
        return name;
    for (const char *at = name; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    while (length && ((unsigned char)name[length] & 0xc0) == 0x80)
        length--;
    snprintf(cut, GT_BLOCK_NAME_MAX + 1, "%.*s~%08x", (int)length, name, hash);
    return cut;
}

/* Files are valid UTF-8, or their readers fail. */
static int write_valid(struct gt_block_file *file, struct gt_block_event_row *row)
{
    char cut[GT_BLOCK_NAME_MAX + 1];
    struct gt_buffer valid = {0};
    const char *name = row->name;
    int status = gt_utf8_is_valid(name) ? 0 : gt_utf8_valid(&valid, name);
    if (status == 0) {
        row->name = gt_block_name(valid.data ? valid.data : name, cut);
        status = file->writer->write(file, row);
        row->name = name;
    }
    gt_buffer_release(&valid);
    return status;
}

static int write_row(struct gt_block_file *file, struct gt_block_event_row *row)
{
    int status = file->failed ? file->failed : write_valid(file, row);
    if (status < 0 && !file->failed) {
        pthread_mutex_lock(&process->mutex);
        file->failed = status;
        gt_error_system(&process->trouble, -status, "%s", file->path);
        pthread_mutex_unlock(&process->mutex);
    }
    return status;
}

/* gpu-tracker run shall know, also when this process is killed: of half of them at least. */
static void tell_lost(uint64_t count)
{
    pthread_mutex_lock(&process->mutex);
    gt_block_note("lost %llu %s", (unsigned long long)count, process->trouble.text);
    pthread_mutex_unlock(&process->mutex);
}

static void count_lost(void)
{
    uint64_t count = atomic_fetch_add_explicit(&process->lost, 1, memory_order_relaxed) + 1;
    if ((count & (count - 1)) == 0)
        tell_lost(count);
}

static void read_clocks(struct gt_block_event_row *row)
{
    row->cpu_ns = process->without_cpu ? -1 : gt_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    row->monotonic_ns = gt_clock_ns(CLOCK_MONOTONIC);
    row->real_ns = gt_clock_ns(CLOCK_REALTIME);
}

static struct gt_block begin_in(struct gt_block_thread *thread, struct gt_block_file *file, const char *name,
                                uint64_t total)
{
    struct gt_block block = {.name = name && *name ? name : "(unnamed)", .thread = thread->id};
    struct gt_block_event_row row = {
        .name = block.name,
        .process = process->pid,
        .thread = thread->id,
        .position = GT_START,
        .total = total,
    };
    if (!file || file->failed) /* which costs next to nothing then */
        return block;
    read_clocks(&row);
    if (write_row(file, &row) == 0) {
        block.file = file;
        block.process = thread->identity;
        block.call = row.call;
    }
    return block;
}

struct gt_block gt_block_begin(const char *name)
{
    return gt_block_begin_of(name, 0);
}

struct gt_block gt_block_begin_of(const char *name, uint64_t total)
{
    struct gt_block_thread *thread = enter();
    if (!thread)
        return (struct gt_block){.name = name};
    if (host.begin) {
        leave(thread);
        return host.begin(name, total);
    }
    struct gt_block block = begin_in(thread, standard_file(), name, total);
    if (!block.file)
        count_lost();
    leave(thread);
    return block;
}

struct gt_block gt_block_begin_in(struct gt_block_file *file, const char *name, uint64_t total)
{
    struct gt_block_thread *thread = enter();
    if (!thread)
        return (struct gt_block){.name = name};
    if (file->identity != thread->identity)
        file = child_file_of(file);
    struct gt_block block = begin_in(thread, file, name, total);
    leave(thread);
    return block;
}

void gt_block_end_with_children(struct gt_block *block, double cpu_seconds)
{
    struct gt_block_event_row row = {
        .name = block->name, .position = GT_STOP, .thread = block->thread, .call = block->call};
    if (!block->file)
        return;
    if (host.end && block->process != atomic_load_explicit(&process->identity, memory_order_relaxed)) {
        host.end(block, cpu_seconds);
        return;
    }
    read_clocks(&row);
    row.cpu_ns += row.cpu_ns < 0 ? 0 : (int64_t)(cpu_seconds * 1e9);
    struct gt_block_thread *thread = enter();
    if (!thread)
        return;
    row.process = process->pid;
    if (block->process == thread->identity && write_row(block->file, &row) < 0 && !*block->file->origin)
        count_lost();
    block->file = NULL;
    leave(thread);
}

void gt_block_add_past(const char *name, int64_t begin_ns, int64_t end_ns)
{
    struct gt_block_thread *thread = enter();
    struct gt_block_file *file = thread ? standard_file() : NULL;
    if (file && !file->failed) {
        struct gt_block_event_row row = {
            .name = name, .process = process->pid, .thread = thread->id, .position = GT_START, .cpu_ns = -1};
        int64_t behind = gt_clock_ns(CLOCK_REALTIME) - gt_clock_ns(CLOCK_MONOTONIC);
        row.monotonic_ns = begin_ns;
        row.real_ns = begin_ns + behind;
        int status = write_row(file, &row);
        row.position = GT_STOP;
        row.monotonic_ns = end_ns;
        row.real_ns = end_ns + behind;
        if (status == 0)
            write_row(file, &row);
    }
    if (thread)
        leave(thread);
}

void gt_block_end(struct gt_block *block)
{
    gt_block_end_with_children(block, 0);
}

const char *gt_block_trouble(void)
{
    if (!gt_block_process_begin())
        return "out of memory";
    pthread_mutex_lock(&process->mutex);
    const char *text = process->trouble.code ? process->trouble.text : NULL;
    pthread_mutex_unlock(&process->mutex);
    return text;
}

/* ---- the end of the process ---- */

/* Wait a moment for threads that are inside a mark; true when none is. */
static bool is_quiet(void)
{
    int64_t patience = gt_clock_ns(CLOCK_MONOTONIC) + 20000000;
    for (struct gt_block_thread *thread = process->threads; thread; thread = thread->next)
        while (atomic_load(&thread->busy)) {
            if (gt_clock_ns(CLOCK_MONOTONIC) > patience)
                return false;
            sched_yield();
        }
    return true;
}

/* At a normal end of the process. */
__attribute__((destructor)) static void end_process(void)
{
    if (!process || !atomic_load(&process->identity))
        return;
    atomic_store(&process->closed, true);
    if (atomic_load(&process->lost))
        tell_lost(atomic_load(&process->lost));
    pthread_mutex_lock(&process->mutex);
    if (is_quiet())
        for (struct gt_block_file *file = process->files; file; file = file->next)
            file->writer->close(file);
    pthread_mutex_unlock(&process->mutex);
}
