/* In the memory of a set of processes each page counts once. docs/memory.md has the definitions and limits.
 *
 *   unique  page frame numbers: exact. Needs CAP_SYS_ADMIN.
 *   pss     the kernel's own sums. Exact when no process outside the set shares with it; else the larger of two lower bounds,
 *           the sum of PSS, and all private memory with the largest shared part of one process.
 *   rss     no walk: shared pages count in each process.
 *
 * A walk holds locks of the processes it reads, for about 5 ms for each GB in pieces below a millisecond; it rests now and then when it
 * has to wait for them, for then the process maps memory itself. The caller limits how often (sample/walker.h). */
#ifndef GT_COLLECT_PROCESS_MEMORY_H
#define GT_COLLECT_PROCESS_MEMORY_H

#include <stdint.h>

#include "base/root.h"
#include "collect/collector.h"

/* The kernel adds up the memory of one process in /proc/PID/smaps_rollup (Linux 4.14); before that we add up /proc/PID/smaps. */

struct gt_smaps {
    double rss, pss, private_bytes, shared_bytes, swap; /* bytes; PSS: each page over the number of its mappings */
    double anonymous;  /* the private part that is of no file and no shared memory: not less than this */
    double file_bytes; /* all of files and shared memory */
    double pss_files,
        pss_shmem; /* the parts of `pss` that are of files and of shared memory; 0: this kernel does not tell (before 5.4) */
    double faults; /* minor and major page faults before the reading */
};

/* Returns -EACCES or -EPERM for another user's process; -ESRCH where it has gone, has no memory, or `start` (0: any) is not its start time;
 * -ENOENT where this kernel has neither file. */
int gt_smaps_read(const struct gt_root *root, pid_t pid, uint64_t start, struct gt_smaps *ret);

enum gt_memory_method { GT_MEMORY_RSS, GT_MEMORY_PSS, GT_MEMORY_UNIQUE };

struct gt_memory_process {
    pid_t pid;
    uint64_t start; /* clock ticks after boot; 0: whoever has the pid now */
    bool is_main;
    bool ok;           /* it was walked: the figures below are set; else they are NaN */
    bool is_denied;    /* another user's process */
    double rss;        /* bytes, what the walk saw */
    double pss;        /* NaN by page frames */
    double file_bytes; /* the part of it that is of files and shared memory */
    double
        private_bytes; /* resident pages mapped once on the whole machine; those of shared memory are not among them */
    double anonymous;  /* the part of these that is of no file and no shared memory: not less than this */
    double shared_bytes; /* the other resident pages, those of files and libraries that strangers map included */
    double swap;
    double cpu_time; /* its CPU clock when its faults were last read, seconds; 0 or NaN: not known */
    /* As they were then, afterwards: minor and major page faults of the process, half way through its walk. */
    double faults;
    /* CPU time of walking this one; when both were in each other's way, twice the time that passed. */
    int64_t duration_ns;
};

/* Sums over the processes walked, private + shared = unique. */
struct gt_memory_scope {
    double unique, private_bytes, shared_bytes, swap;
    double sure_shared;    /* of shared_bytes what is certain, also where proportional sizes are of different moments */
    double largest_shared; /* the shared part of the process that has the largest */
    size_t walked, denied;
};

struct gt_memory_totals {
    struct gt_memory_scope main, descendants, combined;
    double files;  /* bytes of files and shared memory that they have together, each page once */
    double mapped; /* gt_memory_mapped() at the end of the walk */
};

/* Bytes of files and shared memory that any process of the running machine has mapped, each page once (Mapped of /proc/meminfo); NaN: not
 * known, or a stored machine. The kernel adds it up per CPU, so that it may be late by half a megabyte for each. */
double gt_memory_mapped(const struct gt_root *root);

struct gt_memory;

/* Returns name `index` of the methods, of which "auto" is the first; NULL past the end. */
const char *gt_memory_method_name(size_t index);
/* Returns the index of a name, or -EINVAL. */
int gt_memory_method_find(const char *name, struct gt_error *error);
/* `method` is "auto" (or NULL), "unique", "pss" or "rss"; auto takes the first of these three that works here. Returns -EINVAL for
 * another name, -EPERM or -ENOENT where the method cannot be had. `root` stays the caller's. *availability is always filled in. */
int gt_memory_open(struct gt_memory **ret, const struct gt_root *root, const char *method,
                   struct gt_availability *availability, struct gt_error *error);
enum gt_memory_method gt_memory_method(const struct gt_memory *memory);
const char *gt_memory_label(const struct gt_memory *memory); /* "unique page frames", "proportional set size", ... */

/* Walk the processes one after the other. Processes that have gone, or belong to others, are no error. The memory the walk
 * itself needs is given back before it returns. */
int gt_memory_walk(struct gt_memory *memory, struct gt_memory_process *process, size_t count,
                   struct gt_memory_totals *ret);
/* End the walk in progress with -ECANCELED, and every later one. Another thread may call this. */
void gt_memory_cancel(struct gt_memory *memory);
void gt_memory_close(struct gt_memory *memory);

#endif
