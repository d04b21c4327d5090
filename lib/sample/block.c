#include "sample/block.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

const char *const gt_border_columns[GT_BORDER_COLUMNS] = {
    "process_id", "code_block_name", "position", "timestamp", "thread_id", "call", "monotonic", "cpu_time",
};

const char *const gt_border_types[GT_BORDER_COLUMNS] = {
    "INTEGER", "VARCHAR", "INTEGER", "FLOAT", "INTEGER", "INTEGER", "FLOAT", "FLOAT",
};

static const struct gt_block_writer *const writers[] = {&gt_block_csv, &gt_block_sqlite};

struct thread;

/* What belongs to one process. It is all zero in a new process, also in one made by fork: see block.h. */
struct process {
    atomic_uint_fast64_t identity; /* 0: not begun; else the moment of its beginning */
    atomic_bool closed;
    pid_t pid;
    pthread_mutex_t mutex; /* files, threads */
    struct gt_block_file *files;
    _Atomic(struct gt_block_file *) standard;
    struct thread *threads;
    struct gt_error trouble;
};

struct place {
    struct place *next;
    struct gt_block_file *file;
    void *memory; /* the writer's */
};

struct thread {
    struct thread *next;
    uint64_t identity;
    pid_t id;
    atomic_bool busy;
    struct place *places;
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

static int64_t clock_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static bool begin_process(void)
{
    pthread_once(&once, begin_library);
    if (!process)
        return false;
    if (atomic_load_explicit(&process->identity, memory_order_acquire))
        return true;
    pthread_mutex_lock(&process->mutex);
    if (!atomic_load(&process->identity)) {
        process->pid = getpid();
        atomic_store(&process->identity, (uint64_t)clock_ns(CLOCK_MONOTONIC) ^ ((uint64_t)process->pid << 40));
    }
    pthread_mutex_unlock(&process->mutex);
    return true;
}

static struct thread *begin_thread(void)
{
    struct thread *thread = calloc(1, sizeof *thread);
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

static void free_thread(struct thread *thread)
{
    while (thread->places) {
        struct place *place = thread->places;
        thread->places = place->next;
        free(place);
    }
    free(thread);
}

static void leave_thread(void *argument)
{
    struct thread *thread = argument;
    current = NULL;
    if (thread->identity != atomic_load(&process->identity)) {
        free_thread(thread); /* of the process that this one was forked from */
        return;
    }
    pthread_mutex_lock(&process->mutex);
    bool closed = atomic_load(&process->closed);
    for (struct place *place = thread->places; place && !closed; place = place->next)
        place->file->writer->leave(place->file, place->memory);
    for (struct thread **link = &process->threads; *link; link = &(*link)->next)
        if (*link == thread) {
            *link = thread->next;
            break;
        }
    pthread_mutex_unlock(&process->mutex);
    free_thread(thread);
}

/* ---- files ---- */

static const struct gt_block_writer *writer_of(const char *path)
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

static int create(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    close(fd);
    return 0;
}

/* Create "STEM.csv", or "STEM-2.csv" and so on when that is taken. */
static int create_numbered(char *ret, const char *stem, const char *suffix)
{
    int status = -EEXIST;
    for (int number = 1; status == -EEXIST && number < 10000; number++) {
        int length = number == 1 ? snprintf(ret, PATH_MAX, "%s%s", stem, suffix)
                                 : snprintf(ret, PATH_MAX, "%s-%d%s", stem, number, suffix);
        status = length < PATH_MAX ? create(ret) : -ENAMETOOLONG;
    }
    return status;
}

/* Caller holds the mutex and has created file->path. */
static int add_file(struct gt_block_file **ret, struct gt_block_file *file, struct gt_error *error)
{
    file->identity = atomic_load(&process->identity);
    file->writer = writer_of(file->path);
    int status = file->writer->open(file, error);
    if (status < 0)
        return status;
    file->next = process->files;
    process->files = file;
    *ret = file;
    return 0;
}

/* By the path that was asked for, or else by that of the file itself. */
static struct gt_block_file *find_file(const char *path)
{
    struct gt_block_file *file = process->files;
    while (file && strcmp(file->origin, path) != 0)
        file = file->next;
    if (file)
        return file;
    for (file = process->files; file && strcmp(file->path, path) != 0;)
        file = file->next;
    return file;
}

static int open_file(struct gt_block_file **ret, const char *origin, bool overwrite, struct gt_error *error)
{
    *ret = find_file(origin);
    if (*ret)
        return 0;
    if (overwrite && unlink(origin) < 0 && errno != ENOENT)
        return gt_error_system(error, errno, "%s", origin);
    int status = create(origin);
    if (status == -EEXIST)
        return gt_error_set(error, EEXIST, "%s exists; it is replaced only when overwriting is asked for", origin);
    if (status < 0)
        return gt_error_system(error, -status, "%s", origin);
    struct gt_block_file *file = calloc(1, sizeof *file);
    if (!file)
        return gt_error_system(error, ENOMEM, "%s", origin);
    strcpy(file->origin, origin);
    strcpy(file->path, origin);
    status = add_file(ret, file, error);
    if (status < 0)
        free(file);
    return status;
}

int gt_block_file_open(struct gt_block_file **ret, const char *path, int overwrite, struct gt_error *error)
{
    char origin[PATH_MAX];
    if (!writer_of(path))
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

/* Caller holds the mutex. `stem` is the file's path without its suffix. */
static struct gt_block_file *open_numbered(const char *origin, const char *stem, const char *suffix)
{
    char path[PATH_MAX];
    struct gt_block_file *file = find_file(origin);
    if (!file && snprintf(path, sizeof path, "%s%s", stem, suffix) < (int)sizeof path)
        file = find_file(path);
    if (file)
        return file;
    file = calloc(1, sizeof *file);
    if (!file)
        return NULL;
    snprintf(file->origin, sizeof file->origin, "%s", origin);
    int status = create_numbered(file->path, stem, suffix);
    if (status < 0)
        gt_error_system(&process->trouble, -status, "%s", file->path);
    struct gt_block_file *ret;
    if (status < 0 || add_file(&ret, file, &process->trouble) < 0) {
        free(file);
        return NULL;
    }
    return ret;
}

static struct gt_block_file *open_standard(void)
{
    char name[PATH_MAX], stem[PATH_MAX];
    const char *folder = secure_getenv(GT_BLOCKS_ENVIRONMENT);
    bool has_folder = folder && *folder;
    int length = snprintf(name, sizeof name, "%s%s%d", has_folder ? folder : "", has_folder ? "/" : "",
                          (int)process->pid);
    if (length >= (int)sizeof name || absolute_path(stem, name, &process->trouble) < 0)
        return NULL;
    return open_numbered("", stem, gt_block_csv.suffix);
}

static struct gt_block_file *standard_file(void)
{
    struct gt_block_file *file = atomic_load_explicit(&process->standard, memory_order_acquire);
    if (file)
        return file;
    pthread_mutex_lock(&process->mutex);
    file = atomic_load(&process->standard);
    if (!file && !process->trouble.code) { /* what failed once is not tried at every block */
        file = open_standard();
        atomic_store_explicit(&process->standard, file, memory_order_release);
    }
    pthread_mutex_unlock(&process->mutex);
    return file;
}

/* A file that the parent of this process opened: this process's own in its stead. */
static struct gt_block_file *own_file(const struct gt_block_file *parents)
{
    char stem[PATH_MAX];
    const char *suffix = parents->writer->suffix;
    int length = (int)(strlen(parents->origin) - strlen(suffix));
    if (!*parents->origin)
        return standard_file();
    if (snprintf(stem, sizeof stem, "%.*s-%d", length, parents->origin, (int)process->pid) >= (int)sizeof stem)
        return NULL;
    pthread_mutex_lock(&process->mutex);
    struct gt_block_file *file = open_numbered(parents->origin, stem, suffix);
    pthread_mutex_unlock(&process->mutex);
    return file;
}

/* ---- marking ---- */

static void **place_of(struct thread *thread, struct gt_block_file *file)
{
    struct place *place = thread->places;
    while (place && place->file != file)
        place = place->next;
    if (place)
        return &place->memory;
    place = calloc(1, sizeof *place);
    if (!place)
        return NULL;
    *place = (struct place){.next = thread->places, .file = file};
    thread->places = place;
    return &place->memory;
}

static int write_row(struct thread *thread, struct gt_block_file *file, struct gt_border_row *row)
{
    void **place = place_of(thread, file);
    int status = !place ? -ENOMEM : file->failed ? file->failed : file->writer->write(file, place, row);
    if (status < 0 && !file->failed) {
        pthread_mutex_lock(&process->mutex);
        file->failed = status;
        gt_error_system(&process->trouble, -status, "%s", file->path);
        pthread_mutex_unlock(&process->mutex);
    }
    return status;
}

static void read_clocks(struct gt_border_row *row)
{
    row->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    row->monotonic_ns = clock_ns(CLOCK_MONOTONIC);
    row->real_ns = clock_ns(CLOCK_REALTIME);
}

static struct gt_block begin_in(struct thread *thread, struct gt_block_file *file, const char *name)
{
    struct gt_block block = {.name = name && *name ? name : "(unnamed)", .thread = thread->id};
    struct gt_border_row row = {
        .name = block.name,
        .process = process->pid,
        .thread = thread->id,
        .position = GT_START,
    };
    read_clocks(&row);
    if (file && write_row(thread, file, &row) == 0) {
        block.file = file;
        block.process = thread->identity;
        block.call = row.call;
    }
    return block;
}

struct gt_block gt_block_begin(const char *name)
{
    struct thread *thread = enter();
    if (!thread)
        return (struct gt_block){.name = name};
    struct gt_block block = begin_in(thread, standard_file(), name);
    leave(thread);
    return block;
}

struct gt_block gt_block_begin_in(struct gt_block_file *file, const char *name)
{
    struct thread *thread = enter();
    if (!thread)
        return (struct gt_block){.name = name};
    if (file->identity != thread->identity)
        file = own_file(file);
    struct gt_block block = begin_in(thread, file, name);
    leave(thread);
    return block;
}

void gt_block_end_with_children(struct gt_block *block, double cpu_seconds)
{
    struct gt_border_row row = {.name = block->name, .position = GT_STOP, .thread = block->thread, .call = block->call};
    if (!block->file)
        return;
    read_clocks(&row);
    row.cpu_ns += (int64_t)(cpu_seconds * 1e9);
    struct thread *thread = enter();
    if (!thread)
        return;
    row.process = process->pid;
    if (block->process == thread->identity)
        write_row(thread, block->file, &row);
    block->file = NULL;
    leave(thread);
}

void gt_block_end(struct gt_block *block)
{
    gt_block_end_with_children(block, 0);
}

const char *gt_block_file_path(const struct gt_block_file *file)
{
    if (!begin_process())
        return NULL;
    if (!file)
        file = standard_file();
    else if (file->identity != atomic_load(&process->identity))
        file = own_file(file);
    return file ? file->path : NULL;
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

/* Wait a moment for threads that are inside a mark; true when none is. */
static bool is_quiet(void)
{
    int64_t patience = clock_ns(CLOCK_MONOTONIC) + 20000000;
    for (struct thread *thread = process->threads; thread; thread = thread->next)
        while (atomic_load(&thread->busy)) {
            if (clock_ns(CLOCK_MONOTONIC) > patience)
                return false;
            sched_yield();
        }
    return true;
}

/* At a normal end of the process the files are brought to their final size. */
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
