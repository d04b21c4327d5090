#include "base/clock.h"
#include "blocks/block_process.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/utf8.h"

const char *const gt_block_event_columns[GT_BLOCK_EVENT_COLUMNS] = {
    "process_id", "code_block_name", "position", "timestamp", "thread_id", "call", "monotonic", "cpu_time",
};

const char *const gt_block_event_types[GT_BLOCK_EVENT_COLUMNS] = {
    "INTEGER", "VARCHAR", "INTEGER", "FLOAT", "INTEGER", "INTEGER", "FLOAT", "FLOAT",
};

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

struct gt_block_process *gt_block_process_begin(void)
{
    pthread_once(&once, begin_library);
    if (!process || atomic_load_explicit(&process->identity, memory_order_acquire))
        return process;
    pthread_mutex_lock(&process->mutex);
    if (!atomic_load(&process->identity)) {
        process->pid = getpid();
        gt_block_file_disown_all();
        atomic_store(&process->identity, (uint64_t)gt_clock_ns(CLOCK_MONOTONIC) ^ ((uint64_t)process->pid << 40));
    }
    pthread_mutex_unlock(&process->mutex);
    return process;
}

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
    row->cpu_ns = gt_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    row->monotonic_ns = gt_clock_ns(CLOCK_MONOTONIC);
    row->real_ns = gt_clock_ns(CLOCK_REALTIME);
}

static struct gt_block begin_in(struct gt_block_thread *thread, struct gt_block_file *file, const char *name)
{
    struct gt_block block = {.name = name && *name ? name : "(unnamed)", .thread = thread->id};
    struct gt_block_event_row row = {
        .name = block.name,
        .process = process->pid,
        .thread = thread->id,
        .position = GT_START,
    };
    read_clocks(&row);
    if (file && write_row(file, &row) == 0) {
        block.file = file;
        block.process = thread->identity;
        block.call = row.call;
    }
    return block;
}

struct gt_block gt_block_begin(const char *name)
{
    struct gt_block_thread *thread = enter();
    if (!thread)
        return (struct gt_block){.name = name};
    struct gt_block block = begin_in(thread, gt_block_file_standard(process), name);
    leave(thread);
    return block;
}

struct gt_block gt_block_begin_in(struct gt_block_file *file, const char *name)
{
    struct gt_block_thread *thread = enter();
    if (!thread)
        return (struct gt_block){.name = name};
    if (file->identity != thread->identity)
        file = gt_block_file_heir(process, file);
    struct gt_block block = begin_in(thread, file, name);
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
    row.cpu_ns += (int64_t)(cpu_seconds * 1e9);
    struct gt_block_thread *thread = enter();
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
    if (!gt_block_process_begin())
        return "out of memory";
    pthread_mutex_lock(&process->mutex);
    const char *text = process->trouble.code ? process->trouble.text : NULL;
    pthread_mutex_unlock(&process->mutex);
    return text;
}

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
    pthread_mutex_lock(&process->mutex);
    if (is_quiet())
        for (struct gt_block_file *file = process->files; file; file = file->next)
            file->writer->close(file);
    pthread_mutex_unlock(&process->mutex);
}
