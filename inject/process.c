/* The library in a process: what it was asked for, what it counts, and what it says of that to gpu-tracker run. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fork.h"
#include "blocks/block_notes.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct gt_range_process *process;

static void forget(void)
{
    memset(process, 0, sizeof *process);
}

static void begin_library(void)
{
    process = gt_fork_memory(sizeof *process, forget);
}

static bool is_folder_to_write(const char *path)
{
    struct stat facts;
    return path && stat(path, &facts) == 0 && S_ISDIR(facts.st_mode) && access(path, W_OK | X_OK) == 0;
}

static bool read_regex(regex_t *ret, const char *variable)
{
    const char *text = secure_getenv(variable);
    return text && *text && regcomp(ret, text, REG_EXTENDED | REG_NOSUB) == 0;
}

/* Without a list every source that calls is asked for: somebody has set its variable by hand. */
static unsigned read_sources(void)
{
    const char *text = secure_getenv(GT_BLOCKS_SOURCES_ENVIRONMENT);
    unsigned sources;
    return !text || !*text || gt_block_sources_read(text, &sources, NULL) < 0 ? ~0u : sources;
}

static void begin(void)
{
    const char *most = secure_getenv(GT_BLOCKS_MOST_ENVIRONMENT);
    process->can_write = is_folder_to_write(secure_getenv(GT_BLOCKS_ENVIRONMENT));
    process->sources = read_sources();
    process->selects_domains = read_regex(&process->domains, GT_BLOCKS_DOMAINS_ENVIRONMENT);
    process->selects_names = read_regex(&process->names, GT_BLOCKS_NAMES_ENVIRONMENT);
    process->most = most && atoll(most) > 0 ? (uint64_t)atoll(most) : GT_RANGE_MOST;
}

struct gt_range_process *gt_range_process(void)
{
    if (process && atomic_load_explicit(&process->identity, memory_order_acquire))
        return process->can_write ? process : NULL;
    pthread_once(&once, begin_library);
    if (!process)
        return NULL;
    pthread_mutex_lock(&process->mutex);
    if (!atomic_load(&process->identity)) {
        begin();
        atomic_store(&process->identity, (uint64_t)gt_clock_ns(CLOCK_MONOTONIC) | 1);
    }
    pthread_mutex_unlock(&process->mutex);
    return process->can_write ? process : NULL;
}

bool gt_ranges_begin(enum gt_block_source_id source)
{
    struct gt_range_process *now = gt_range_process();
    return now && (now->sources >> source & 1);
}

/* ---- counting ---- */

static int put_line(char *line, size_t size, const char *source, uint64_t seen)
{
    return snprintf(line, size, GT_BLOCK_NOTE_FORMAT, (unsigned long long)atomic_load(&process->identity), source,
                    (unsigned long long)seen, (unsigned long long)atomic_load(&process->dropped[LIMIT_CALLS]),
                    (unsigned long long)atomic_load(&process->dropped[LIMIT_NAMES]),
                    (unsigned long long)atomic_load(&process->dropped[LIMIT_LEVELS]));
}

void gt_range_note(struct gt_range_process *now)
{
    char path[PATH_MAX], text[GT_BLOCK_SOURCES * 140];
    size_t length = 0;
    int code = errno;
    const char *folder = secure_getenv(GT_BLOCKS_ENVIRONMENT);
    for (int source = 0; source < GT_BLOCK_SOURCES; source++)
        if (atomic_load(&now->seen[source]))
            length += (size_t)put_line(text + length, sizeof text - length, gt_block_sources[source].name,
                                       atomic_load(&now->seen[source]));
    if (!length) /* only hooks of interpreters, whose sources are told otherwise */
        length = (size_t)put_line(text, sizeof text, "hooks", 0);
    if (!folder || snprintf(path, sizeof path, "%s/%d" GT_BLOCK_NOTE_SUFFIX, folder, (int)getpid()) >= (int)sizeof path)
        return;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0666);
    if (fd >= 0 && write(fd, text, length) < 0)
        errno = code; /* nobody is told of the ranges then */
    if (fd >= 0)
        close(fd);
    errno = code;
}

/* The first, and whenever there are twice as many: a process that is killed has told of half of them at least. */
static bool is_told(uint64_t count)
{
    return (count & (count - 1)) == 0;
}

bool gt_range_admit(struct gt_range_process *now, enum gt_block_source_id source)
{
    if (atomic_fetch_add_explicit(&now->seen[source], 1, memory_order_relaxed) == 0)
        gt_range_note(now);
    return gt_range_admit_call(now);
}

bool gt_range_admit_call(struct gt_range_process *now)
{
    if (atomic_fetch_add_explicit(&now->calls, 1, memory_order_relaxed) < now->most)
        return true;
    if (is_told(atomic_fetch_add(&now->dropped[LIMIT_CALLS], 1) + 1))
        gt_range_note(now);
    return false;
}

void gt_range_drop(struct gt_range_process *now, enum gt_block_source_id source, enum gt_range_limit limit)
{
    atomic_fetch_add_explicit(&now->seen[source], 1, memory_order_relaxed);
    if (is_told(atomic_fetch_add(&now->dropped[limit], 1) + 1))
        gt_range_note(now);
}

/* At a normal end of the process: the exact counts. */
__attribute__((destructor)) static void end_process(void)
{
    uint64_t dropped = 0;
    if (!process || !atomic_load(&process->identity) || !process->can_write)
        return;
    for (int limit = 0; limit < LIMITS; limit++)
        dropped += atomic_load(&process->dropped[limit]);
    if (dropped)
        gt_range_note(process);
}
