#include "collect/process/memory.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/process/pagemap.h"
#include "collect/process/process.h"
#include "collect/process/process_file.h"

/* ---- The kernel's sums -------------------------------------------------------------------------------------------- */

/* "Shared_Clean:   0 kB" and the like; hugetlb figures are separate lines and are not resident memory to the kernel. */
static void add_field(struct gt_smaps *smaps, double *anonymous, const char *line)
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
        {"Private_Dirty:", &smaps->private_bytes},
        {"Swap:", &smaps->swap},
        {"Anonymous:", anonymous},
        {"Pss_File:", &smaps->pss_files},
        {"Pss_Shmem:", &smaps->pss_shmem},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        size_t length = strlen(fields[i].name);
        if (!strncmp(line, fields[i].name, length))
            *fields[i].sum += 1024.0 * (double)strtoull(line + length, NULL, 10);
    }
}

/* What a file has of a process alone is in its PSS in full, so the private rest is anonymous. */
static double private_anonymous(const struct gt_smaps *smaps, double anonymous)
{
    double told = smaps->pss_files + smaps->pss_shmem;
    double files = told > 0 ? told : smaps->rss - anonymous;
    double rest = smaps->private_bytes - files;
    return rest < 0 ? 0 : rest > anonymous ? anonymous : rest;
}

static int add_up(int fd, struct gt_smaps *ret)
{
    double anonymous = 0; /* shared with other processes or not */
    char buffer[8192], *line;
    struct gt_line_reader reader = {.fd = fd, .buffer = buffer, .size = sizeof buffer};
    int result, lines = 0;
    *ret = (struct gt_smaps){0};
    while ((result = gt_line_reader_next(&reader, &line)) > 0) {
        add_field(ret, &anonymous, line);
        lines = 1;
    }
    ret->anonymous = private_anonymous(ret, anonymous);
    ret->file_bytes = fmax(0, ret->rss - anonymous);
    return result < 0 || lines ? result : -ESRCH;
}

int gt_smaps_read(const struct gt_root *root, pid_t pid, uint64_t start, struct gt_smaps *ret)
{
    int fd = gt_process_file_open(root, pid, "smaps_rollup");
    if (fd == -ENOENT)
        fd = gt_process_file_open(root, pid, "smaps");
    if (fd < 0)
        return fd;
    double faults;
    int result = gt_process_file_is_of(root, pid, start, 0, &faults) ? add_up(fd, ret) : -ESRCH;
    close(fd);
    ret->faults = faults;
    return result;
}

/* The time of a walk that is in the way of a process counts so often. */
enum { IN_THE_WAY = 2 };

struct gt_memory {
    enum gt_memory_method method;
    const struct gt_root *root;
    struct gt_pagemap_walk pages;
    int64_t delay_ns;             /* of this thread, as last read */
    bool has_moved;               /* a process ran during a walk */
    double pss_shmem, pss_mapped; /* of the processes of a walk: of shared memory, and of that and files */
};

static const struct {
    const char *name, *label, *source;
} methods[] = {
    [GT_MEMORY_RSS] = {"rss", "sum of resident set sizes", "/proc/PID/statm"},
    [GT_MEMORY_PSS] = {"pss", "proportional set size", "/proc/PID/smaps_rollup"},
    [GT_MEMORY_UNIQUE] = {"unique", "unique page frames", "/proc/PID/pagemap"},
};

const char *gt_memory_method_name(size_t index)
{
    if (!index)
        return "auto";
    return index <= sizeof methods / sizeof *methods ? methods[index - 1].name : NULL;
}

int gt_memory_method_find(const char *name, struct gt_error *error)
{
    char names[100] = "";
    const char *other;
    for (size_t i = 0; (other = gt_memory_method_name(i)); i++) {
        size_t length = strlen(names);
        if (!strcmp(other, name))
            return (int)i;
        snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "", other);
    }
    return gt_error_set(error, EINVAL, "\"%s\" is not a memory method; choose one of %s", name, names);
}

static bool has_smaps(const struct gt_root *root)
{
    char byte[2];
    return !root->is_machine || gt_root_read(root, "proc/self/smaps_rollup", byte, sizeof byte) >= 0 ||
           gt_root_read(root, "proc/self/smaps", byte, sizeof byte) >= 0;
}

static enum gt_memory_method best_method(struct gt_memory *memory)
{
    bool is_stored =
        !memory->root->is_machine; /* its page frames, where they were kept at all, are asked for by name */
    if (gt_pagemap_walk_probe(&memory->pages) && !is_stored)
        return GT_MEMORY_UNIQUE;
    return has_smaps(memory->root) ? GT_MEMORY_PSS : GT_MEMORY_RSS;
}

static int refuse(struct gt_availability *availability, struct gt_error *error, enum gt_memory_method method)
{
    bool is_denied = method == GT_MEMORY_UNIQUE;
    availability->state = is_denied ? GT_DENIED : GT_ABSENT;
    snprintf(availability->reason, sizeof availability->reason, "%s",
             is_denied ? "the kernel hides page frame numbers from this user" : "this kernel has no /proc/PID/smaps");
    return gt_error_set(error, is_denied ? EPERM : ENOENT, "memory method %s: %s", methods[method].name,
                        availability->reason);
}

int gt_memory_open(struct gt_memory **ret, const struct gt_root *root, const char *method,
                   struct gt_availability *availability, struct gt_error *error)
{
    int wanted = method ? gt_memory_method_find(method, error) : 0;
    *availability = (struct gt_availability){.state = GT_BROKEN};
    if (wanted < 0) {
        snprintf(availability->reason, sizeof availability->reason, "no memory method of this name");
        return wanted;
    }
    struct gt_memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return gt_error_system(error, ENOMEM, "memory accounting");
    memory->root = memory->pages.root = root;
    enum gt_memory_method best = best_method(memory);
    memory->method = wanted ? (enum gt_memory_method)(wanted - 1) : best;
    snprintf(availability->source, sizeof availability->source, "%s (%s)", methods[memory->method].source,
             methods[memory->method].label);
    if (best != GT_MEMORY_UNIQUE && root->is_machine && memory->method >= best)
        snprintf(
            availability->remedy, sizeof availability->remedy,
            "gpu-tracker run by root (opens which page frames processes have; no file capability is advised for that)");
    if (memory->method > best && root->is_machine) {
        int result = refuse(availability, error, memory->method);
        free(memory);
        return result;
    }
    availability->state = GT_READY;
    *ret = memory;
    return 0;
}

enum gt_memory_method gt_memory_method(const struct gt_memory *memory)
{
    return memory->method;
}

const char *gt_memory_label(const struct gt_memory *memory)
{
    return methods[memory->method].label;
}

/* `scope` gains one process; `new_shared` is the part of its shared memory that the scope did not have. */
static void add(struct gt_memory_scope *scope, const struct gt_memory_process *process, double new_shared)
{
    scope->walked += process->ok;
    scope->denied += process->is_denied;
    if (!process->ok)
        return;
    scope->private_bytes += process->private_bytes;
    scope->shared_bytes += new_shared;
    scope->swap += process->swap;
    if (process->shared_bytes > scope->largest_shared)
        scope->largest_shared = process->shared_bytes;
}

static int walk_pages(struct gt_memory *memory, struct gt_memory_process *process, struct gt_pagemap_count *count)
{
    enum gt_pagemap_mark mark = process->is_main ? GT_PAGEMAP_MAIN : GT_PAGEMAP_DESCENDANT;
    int result = gt_pagemap_walk_count(&memory->pages, process->pid, process->start, process->cpu_time, mark, count);
    if (result < 0)
        return result;
    process->private_bytes = count->private_bytes;
    process->anonymous = count->anonymous;
    process->shared_bytes = count->shared_bytes;
    process->rss = count->private_bytes + count->shared_bytes;
    process->file_bytes = count->file_bytes;
    process->swap = count->swap;
    return 0;
}

/* Shared memory that one process has may be another's as well before that one is read: it is added up as shared. */
static int walk_sums(struct gt_memory *memory, struct gt_memory_process *process, struct gt_pagemap_count *count)
{
    struct gt_smaps smaps;
    int result = gt_smaps_read(memory->root, process->pid, process->start, &smaps);
    if (result < 0)
        return result;
    double other = smaps.pss - smaps.pss_shmem;
    double as_shared = smaps.private_bytes > other ? smaps.private_bytes - other : 0;
    process->private_bytes = smaps.private_bytes - as_shared;
    process->anonymous = smaps.anonymous;
    process->shared_bytes = smaps.shared_bytes + as_shared;
    process->rss = smaps.rss;
    process->file_bytes = smaps.file_bytes;
    process->pss = smaps.pss;
    process->swap = smaps.swap;
    count->new_to_side = count->new_to_job = smaps.pss - process->private_bytes;
    count->new_files = smaps.pss_files + smaps.pss_shmem;
    count->faults = smaps.faults;
    memory->pss_shmem += smaps.pss_shmem;
    memory->pss_mapped += smaps.pss_shmem + smaps.pss_files;
    return 0;
}

static double faults_of(const struct gt_memory *memory, pid_t pid)
{
    struct gt_process_stat stat;
    return gt_process_stat_of(memory->root, pid, &stat) < 0 ? NAN : stat.minor_faults + stat.major_faults;
}

/* Returns how long this thread has been ready to run and had no CPU since it was last asked. */
static int64_t delay_since(struct gt_memory *memory)
{
    char text[64];
    int64_t before = memory->delay_ns;
    unsigned long long delay;
    if (gt_root_read(memory->root, "proc/thread-self/schedstat", text, sizeof text) > 0 &&
        sscanf(text, "%*u %llu", &delay) == 1)
        memory->delay_ns = (int64_t)delay;
    return memory->delay_ns - before;
}

static int walk_one(struct gt_memory *memory, struct gt_memory_process *process, struct gt_memory_totals *totals)
{
    struct gt_pagemap_count count = {.faults = NAN};
    int64_t begin = gt_clock_ns(CLOCK_THREAD_CPUTIME_ID), begin_ns = gt_clock_monotonic(&gt_clock_system);
    long switches = gt_pagemap_walk_switches();
    int result = memory->method == GT_MEMORY_UNIQUE ? walk_pages(memory, process, &count)
                                                    : walk_sums(memory, process, &count);
    double before = isnan(count.faults) ? process->faults : count.faults;
    bool has_rested = gt_process_file_has_rested(process->pid, process->cpu_time);
    memory->has_moved |= !has_rested;
    process->faults = has_rested ? before : (before + faults_of(memory, process->pid)) / 2;
    process->duration_ns = gt_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
    if (gt_pagemap_walk_switches() - switches > count.rests) { /* it had to wait for locks, and so had the process */
        int64_t passed = gt_clock_monotonic(&gt_clock_system) - begin_ns - count.rested_ns - delay_since(memory);
        process->duration_ns = IN_THE_WAY * (passed > process->duration_ns ? passed : process->duration_ns);
    }
    process->ok = result >= 0;
    process->is_denied = result == -EACCES || result == -EPERM;
    add(process->is_main ? &totals->main : &totals->descendants, process, count.new_to_side);
    add(&totals->combined, process, count.new_to_job);
    totals->files += process->ok ? count.new_files : 0;
    return result == -ENOMEM || result == -ECANCELED ? result : 0;
}

static double machine_bytes(const char *meminfo, const char *key)
{
    const char *line = strstr(meminfo, key);
    return line ? 1024.0 * (double)strtoull(line + strlen(key), NULL, 10) : NAN;
}

double gt_memory_mapped(const struct gt_root *root)
{
    char text[4096];
    bool is_read = root->is_machine && gt_root_read(root, "proc/meminfo", text, sizeof text) > 0;
    return is_read ? machine_bytes(text, "\nMapped:") : NAN;
}

/* While processes are read one after the other, pages that more and more of them map are added up to more than there are. All of the
 * machine are no fewer than the job's. */
static double find_excess(const struct gt_memory *memory)
{
    static const double IN_FLIGHT = 1 << 20; /* the kernel adds its counts up now and then */
    char text[4096];
    if (memory->pss_mapped <= 0 || gt_root_read(memory->root, "proc/meminfo", text, sizeof text) <= 0)
        return 0;
    double shmem = memory->pss_shmem - machine_bytes(text, "\nShmem:");
    double mapped = memory->pss_mapped - machine_bytes(text, "\nMapped:");
    return fmax(0, fmax(shmem, mapped) - IN_FLIGHT);
}

static void finish(struct gt_memory_scope *scope, double excess, bool is_sure)
{
    scope->shared_bytes = fmax(0, scope->shared_bytes - excess);
    if (scope->shared_bytes < scope->largest_shared) /* only with PSS, when strangers share */
        scope->shared_bytes = scope->largest_shared;
    scope->sure_shared = is_sure ? scope->shared_bytes : fmin(scope->shared_bytes, scope->largest_shared);
    scope->unique = scope->private_bytes + scope->shared_bytes;
}

int gt_memory_walk(struct gt_memory *memory, struct gt_memory_process *process, size_t count,
                   struct gt_memory_totals *ret)
{
    *ret = (struct gt_memory_totals){0};
    int failed = 0;
    delay_since(memory);
    memory->pss_shmem = memory->pss_mapped = 0;
    memory->has_moved = false;
    if (memory->method == GT_MEMORY_UNIQUE)
        gt_pagemap_walk_begin(&memory->pages);
    for (size_t i = 0; i < count && !failed; i++) {
        struct gt_memory_process *one = &process[i];
        one->ok = one->is_denied = false;
        one->rss = one->pss = one->file_bytes = one->private_bytes = one->anonymous = one->shared_bytes = one->swap =
            NAN;
        if (memory->method == GT_MEMORY_RSS)
            continue;
        failed = atomic_load(&memory->pages.is_cancelled) ? -ECANCELED : walk_one(memory, one, ret);
    }
    double excess = memory->method == GT_MEMORY_PSS ? find_excess(memory) : 0;
    bool is_sure = memory->method == GT_MEMORY_UNIQUE || !memory->has_moved;
    finish(&ret->main, 0, is_sure);
    finish(&ret->descendants, excess, is_sure);
    finish(&ret->combined, excess, is_sure);
    ret->files = fmax(0, ret->files - excess);
    ret->mapped = memory->method == GT_MEMORY_RSS ? NAN : gt_memory_mapped(memory->root);
    gt_pagemap_set_clear(&memory->pages.set);
    return failed;
}

void gt_memory_cancel(struct gt_memory *memory)
{
    atomic_store(&memory->pages.is_cancelled, true);
}

void gt_memory_close(struct gt_memory *memory)
{
    if (memory)
        gt_pagemap_set_clear(&memory->pages.set);
    free(memory);
}
