/* Marking code blocks, and the sub-tracking files of this process: where they lie, and who makes, joins or replaces them. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/utf8.h"
#include "blocks/block_family.h"
#include "blocks/block.h"

const char *const gt_block_event_columns[GT_BLOCK_EVENT_COLUMNS] = {
    "process_id", "code_block_name", "position", "timestamp", "thread_id", "call", "total", "monotonic", "cpu_time",
};

const char *const gt_block_event_types[GT_BLOCK_EVENT_COLUMNS] = {
    "INTEGER", "VARCHAR", "INTEGER", "FLOAT", "INTEGER", "INTEGER", "INTEGER", "FLOAT", "FLOAT",
};

/* ---- the process ---- */

struct thread {
    struct thread *next;
    uint64_t identity;
    pid_t id;
    atomic_bool busy;
};

/* It is all zero in a new process, also in one made by fork: see block.h. */
struct process {
    atomic_uint_fast64_t identity; /* 0: not begun; else the moment of its beginning */
    atomic_bool closed;
    bool without_cpu; /* its clock is not read */
    pid_t pid;
    pthread_mutex_t mutex; /* files, threads, trouble */
    struct gt_block_file *files;
    _Atomic(struct gt_block_file *) standard;
    atomic_bool tried_standard;
    struct thread *threads;
    struct gt_error trouble;
};

/* A macro that marks a scope has no object to hand over, so the process's own state is found here. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct process *process;
static pthread_key_t thread_key;
static _Thread_local struct thread *current;

static void forget(void)
{
    memset(process, 0, sizeof *process);
}

static void leave_thread(void *argument);

/* The leak sanitizer, when there is one, does not look into mapped memory by itself. */
extern void __lsan_register_root_region(const void *memory, size_t size) __attribute__((weak));

static void begin_library(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (sizeof *process + page - 1) / page * page;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || pthread_key_create(&thread_key, leave_thread) != 0)
        return;
    process = memory;
    if (__lsan_register_root_region)
        __lsan_register_root_region(memory, size);
    if (madvise(memory, size, MADV_WIPEONFORK) < 0)
        pthread_atfork(NULL, NULL, forget);
}

/* The newest of all files that this process or one that it was forked from has opened. Survives fork. */
static _Atomic(struct gt_block_file *) known;

static void disown_all(void)
{
    for (struct gt_block_file *file = atomic_load(&known); file; file = file->older) {
        int status = file->writer->disown(file);
        file->failed = status < 0 ? status : 0;
    }
}

static struct process *begin_process(void)
{
    pthread_once(&once, begin_library);
    if (!process || atomic_load_explicit(&process->identity, memory_order_acquire))
        return process;
    pthread_mutex_lock(&process->mutex);
    if (!atomic_load(&process->identity)) {
        const char *cpu = secure_getenv(GT_BLOCKS_CPU_ENVIRONMENT);
        process->pid = getpid();
        process->without_cpu = cpu && strcmp(cpu, "no") == 0;
        disown_all();
        atomic_store(&process->identity, (uint64_t)gt_clock_ns(CLOCK_MONOTONIC) ^ ((uint64_t)process->pid << 40));
    }
    pthread_mutex_unlock(&process->mutex);
    return process;
}

/* ---- threads ---- */

static struct thread *begin_thread(void)
{
    struct thread *thread = calloc(1, sizeof *thread);
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
static struct thread *enter(void)
{
    if (!begin_process())
        return NULL;
    struct thread *thread = current;
    if (!thread || thread->identity != atomic_load_explicit(&process->identity, memory_order_relaxed))
        thread = begin_thread();
    if (!thread || atomic_exchange(&thread->busy, true))
        return NULL;
    if (!atomic_load(&process->closed))
        return thread;
    atomic_store(&thread->busy, false);
    return NULL;
}

static void leave(struct thread *thread)
{
    atomic_store_explicit(&thread->busy, false, memory_order_release);
}

static void leave_thread(void *argument)
{
    struct thread *thread = argument;
    current = NULL;
    if (thread->identity == atomic_load(&process->identity)) { /* not of the process that this one was forked from */
        pthread_mutex_lock(&process->mutex);
        for (struct thread **link = &process->threads; *link; link = &(*link)->next)
            if (*link == thread) {
                *link = thread->next;
                break;
            }
        pthread_mutex_unlock(&process->mutex);
    }
    free(thread);
}

/* ---- files ---- */

static const struct gt_block_writer *const writers[] = {&gt_block_csv, &gt_block_sqlite};

const struct gt_block_writer *gt_block_writer_of(const char *path)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        size_t suffix = strlen(writers[i]->suffix);
        if (length > suffix && strcmp(path + length - suffix, writers[i]->suffix) == 0)
            return writers[i];
    }
    return NULL;
}

static int absolute_path(char *ret, const char *path, struct gt_error *error)
{
    char folder[PATH_MAX] = "";
    if (*path != '/' && !getcwd(folder, sizeof folder))
        return gt_error_system(error, errno, "the current folder");
    int length = snprintf(ret, PATH_MAX, "%s%s%s", folder, *folder ? "/" : "", path);
    return length < PATH_MAX ? 0 : gt_error_set(error, ENAMETOOLONG, "%s: the path is too long", path);
}

/* ---- making ---- */

/* A new file with what it begins with. -EEXIST without `replace`; -ENOTEMPTY: files of others lie beside it, see `error`. */
static int make(const char *path, bool replace, bool may_clear, bool is_shared, struct gt_error *error)
{
    struct gt_new_file file;
    const struct gt_block_writer *writer = gt_block_writer_of(path);
    int status = gt_new_file_begin(&file, path);
    if (status < 0)
        return status;
    status = writer->make(file.fd, file.hidden, NULL); /* errors are about the name that was asked for */
    if (status < 0) {
        gt_new_file_drop(&file);
        return status;
    }
    if (is_shared)
        gt_family_sign(file.fd);
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
static int make_numbered(char *ret, const char *stem, const char *suffix, struct gt_error *error)
{
    int status = -EEXIST;
    for (int number = 1; status == -EEXIST && number < 10000; number++) {
        int length = number == 1 ? snprintf(ret, PATH_MAX, "%s%s", stem, suffix)
                                 : snprintf(ret, PATH_MAX, "%s-%d%s", stem, number, suffix);
        status = length >= PATH_MAX       ? -ENAMETOOLONG
                 : access(ret, F_OK) == 0 ? -EEXIST
                                          : make(ret, false, false, false, error);
    }
    return status < 0 ? gt_error_system(error, -status, "%s", ret) : 0;
}

/* ---- opening ---- */

/* Caller holds the mutex; the file exists. */
static int add_file(struct gt_block_file **ret, const char *origin, const char *path, bool is_new,
                    struct gt_error *error)
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
        file->writer = gt_block_writer_of(path);
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
    file->older = atomic_load(&known);
    atomic_store(&known, file);
    *ret = file;
    return 0;
}

static struct gt_block_file *find_path(struct gt_block_file *files, const char *path)
{
    while (files && strcmp(files->path, path) != 0)
        files = files->next;
    return files;
}

/* Under another name, or through a link. */
static struct gt_block_file *find_inode(struct gt_block_file *files, const struct stat *facts)
{
    while (files && (files->device != facts->st_dev || files->inode != facts->st_ino))
        files = files->next;
    return files;
}

/* The parents' file of this name. */
static struct gt_block_file *find_known(const char *path)
{
    struct gt_block_file *file = atomic_load(&known);
    while (file && (!file->is_shared || strcmp(file->path, path) != 0))
        file = file->older;
    return file;
}

/* The file that a parent has opened. */
static int join_known(struct gt_block_file **ret, const struct gt_block_file *parents, struct gt_error *error)
{
    struct stat facts;
    const char *path = parents->path;
    if (parents->failed)
        return gt_error_system(error, -parents->failed, "%s", path);
    if (stat(path, &facts) < 0 || facts.st_dev != parents->device || facts.st_ino != parents->inode)
        return gt_error_system(error, ENOENT, "%s", path);
    return add_file(ret, parents->origin, path, false, error);
}

/* A file of that name is there. It is joined when it is this run's, or replaced when that is wanted. */
static int settle(struct gt_block_file **ret, const char *path, bool overwrite, struct gt_error *error)
{
    int made = gt_family_made(path);
    if (made > 0)
        return add_file(ret, path, path, false, error);
    if (!overwrite)
        return gt_error_set(error, EEXIST, "%s exists; it is replaced only when overwriting is asked for", path);
    if (made < 0 && gt_family_is_child())
        return gt_error_set(
            error, EEXIST,
            "%s exists; its file system does not tell whether this run of the program made it, so it is "
            "not replaced by a process that another one started",
            path);
    int status = make(path, true, true, true, error);
    if (status < 0)
        return gt_error_system(error, -status, "%s", path);
    return add_file(ret, path, path, true, error);
}

/* A lock among all who make files in the folder, without which two would replace each other's. A descriptor to close, or
 * negative: not every file system has it, and nobody waits for ever. */
static int lock_folder(const char *path)
{
    char folder[PATH_MAX];
    const struct timespec pause = {.tv_nsec = 1000000};
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path + 1), path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < 2000 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK; i++)
        nanosleep(&pause, NULL);
    return fd;
}

static int open_anew(struct gt_block_file **ret, const char *path, bool overwrite, struct gt_error *error)
{
    struct stat facts;
    if (lstat(path, &facts) == 0)
        return settle(ret, path, overwrite, error);
    int status = make(path, false, overwrite, true, error);
    if (status == -EEXIST)
        return settle(ret, path, overwrite, error);
    if (status < 0)
        return gt_error_system(error, -status, "%s", path);
    return add_file(ret, path, path, true, error);
}

static int open_file(struct gt_block_file **ret, const char *path, bool overwrite, struct gt_error *error)
{
    struct stat facts;
    *ret = find_path(process->files, path);
    if (!*ret && stat(path, &facts) == 0)
        *ret = find_inode(process->files, &facts);
    if (*ret)
        return 0;
    const struct gt_block_file *parents = find_known(path);
    if (parents)
        return join_known(ret, parents, error);
    int lock = lock_folder(path);
    int status = open_anew(ret, path, overwrite, error);
    if (lock >= 0) {
        flock(lock, LOCK_UN); /* closing is not enough when another thread has forked meanwhile */
        close(lock);
    }
    return status;
}

int gt_block_file_open(struct gt_block_file **ret, const char *path, int overwrite, struct gt_error *error)
{
    char origin[PATH_MAX];
    if (!gt_block_writer_of(path))
        return gt_error_set(error, EINVAL, "%s: a sub-tracking file ends in .csv or .sqlite", path);
    int status = absolute_path(origin, path, error);
    if (status < 0)
        return status;
    if (!begin_process())
        return gt_error_system(error, ENOMEM, "%s", path);
    pthread_mutex_lock(&process->mutex);
    status = open_file(ret, origin, overwrite, error);
    pthread_mutex_unlock(&process->mutex);
    return status;
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
    if (length >= (int)sizeof name || absolute_path(stem, name, error) < 0 ||
        snprintf(path, sizeof path, "%s%s", stem, gt_block_csv.suffix) >= (int)sizeof path)
        return NULL;
    struct gt_block_file *file = find_path(process->files, path); /* opened by its name before */
    if (!file && make_numbered(path, stem, gt_block_csv.suffix, error) == 0)
        add_file(&file, "", path, true, error);
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
    struct gt_block_file *file = find_path(process->files, parents->path);
    int status = parents->failed; /* in this process: its parent's memory is its own */
    if (!file && !status) {
        status = join_known(&file, parents, &process->trouble);
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
    if (!begin_process())
        return NULL;
    if (!file)
        return standard_file();
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
    begin_process();
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

static void read_clocks(struct gt_block_event_row *row)
{
    row->cpu_ns = process->without_cpu ? -1 : gt_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    row->monotonic_ns = gt_clock_ns(CLOCK_MONOTONIC);
    row->real_ns = gt_clock_ns(CLOCK_REALTIME);
}

static struct gt_block begin_in(struct thread *thread, struct gt_block_file *file, const char *name, uint64_t total)
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
    struct thread *thread = enter();
    if (!thread)
        return (struct gt_block){.name = name};
    struct gt_block block = begin_in(thread, standard_file(), name, total);
    leave(thread);
    return block;
}

struct gt_block gt_block_begin_in(struct gt_block_file *file, const char *name, uint64_t total)
{
    struct thread *thread = enter();
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
    read_clocks(&row);
    row.cpu_ns += row.cpu_ns < 0 ? 0 : (int64_t)(cpu_seconds * 1e9);
    struct thread *thread = enter();
    if (!thread)
        return;
    row.process = process->pid;
    if (block->process == thread->identity)
        write_row(block->file, &row);
    block->file = NULL;
    leave(thread);
}

void gt_block_end(struct gt_block *block)
{
    gt_block_end_with_children(block, 0);
}

const char *gt_block_trouble(void)
{
    if (!begin_process())
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
    for (struct thread *thread = process->threads; thread; thread = thread->next)
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
    pthread_mutex_lock(&process->mutex);
    if (is_quiet())
        for (struct gt_block_file *file = process->files; file; file = file->next)
            file->writer->close(file);
    pthread_mutex_unlock(&process->mutex);
}
