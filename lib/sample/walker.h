/* A walker walks over the memory of the job's processes, on a thread of its own and within limits, so that neither the samples nor
 * the job notice them.
 *
 * Limits: after a walk each process is left alone for 100 times what its walk took, or 200 times when it maps memory itself, so that
 * both had to wait for each other; for a quarter of that when it changed afterwards and has settled. All walks together use at most 1 %
 * of a core, 5 % while the memory changes and a CPU is idle; what was not used is kept, up to 50 ms, so that a job can be walked soon
 * after it began. Within these limits there is a walk once a second; four times while the memory changes by a hundredth or processes
 * come or go. A new process is walked soon, alone if the others may not be. While no resident set has changed and no process had a
 * page fault there is nothing new to see in page frames, but how much of it strangers share: then there is a walk every 10 s, or as
 * seldom as keeps that below 0.1 % of a core; every 2 s within 0.3 % where much of it is of files, which strangers may come to share at
 * any time. */
#ifndef GT_SAMPLE_WALKER_H
#define GT_SAMPLE_WALKER_H

#include "sample/shared_memory.h"

struct gt_walker;

struct gt_walker_result {
    struct gt_scope_memory scope[GT_SCOPE_COMBINED + 1]; /* MAIN, DESCENDANTS, COMBINED; the first entry is unused */
    bool is_estimate;    /* a process was not walked, or resident sets have changed by a hundredth since */
    size_t denied;       /* processes that may not be walked */
    int64_t moment_ns;   /* monotonic: when the last whole walk ended; 0: none yet */
    int64_t duration_ns; /* what it took */
    int64_t cpu_ns;      /* what all walks have used so far */
    uint64_t walks;
};

/* Arguments and errors as gt_memory_open; `root` and `clock` stay the caller's. No thread is made before the first walk. */
int gt_walker_open(struct gt_walker **ret, const struct gt_root *root, const struct gt_clock *clock, const char *method,
                   struct gt_availability *availability, struct gt_error *error);
/* After the processes' GT_RSS were read: fill their GT_RAM, GT_RAM_PRIVATE and GT_RAM_SHARED, and *ret. Starts a walk when one
 * is due and waits for it at most `patience_ns`; a walk that takes longer counts at the next call. `anonymous`: what the kernel counts for
 * all of them together (see gt_shared_memory_correct), NaN: not known. */
int gt_walker_apply(struct gt_walker *walker, struct gt_frame *frame, struct gt_group_anonymous anonymous,
                    int64_t patience_ns, struct gt_walker_result *ret);
/* Returns the record of process `index` of the frame that was last applied. */
const struct gt_shared_memory_record *gt_walker_record(const struct gt_walker *walker, size_t index);
/* Tells how shared memory is counted once: gt_memory_label(). */
const char *gt_walker_method(const struct gt_walker *walker);
/* Breaks off a walk in progress. */
void gt_walker_close(struct gt_walker *walker);

#endif
