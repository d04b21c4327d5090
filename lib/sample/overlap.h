/* What the last walk over the processes' memory says about their memory now.
 *
 * A walk is a moment in the past; resident sets are read at every sample. Each walked process has private memory, which
 * changes with its anonymous resident memory since, and shared memory; the shared memory of a scope is its union at the walk,
 * never less than the largest part of one living process and never more than all of theirs. So a process that ends takes its
 * private memory and leaves what others still map. Files and shared memory touched since the walk count once, as if they were
 * the same in all processes. A process not yet walked counts at what it has more than its parent, which right after a fork is
 * nothing; one that may not be walked, whole. */
#ifndef GT_SAMPLE_OVERLAP_H
#define GT_SAMPLE_OVERLAP_H

#include "collect/memory.h"

struct gt_scope_memory {
    double rss;           /* bytes: sum of resident sets */
    double ram;           /* shared pages once; between the largest resident set and rss */
    double private_bytes; /* NaN without a walk */
    double shared_bytes;  /* ram - private_bytes */
    double certain; /* ram without what was touched of files and shared memory since the walk: another process of the
                           * walk may have had the same pages. At least the largest resident set */
};

/* One process of the frame, matched with its last walk. */
struct gt_overlap_record {
    pid_t pid, parent;
    uint64_t start;
    bool is_main;
    bool has_walk;
    bool is_alone; /* walked alone, since it is new: what it shares is taken for part of the rest */
    bool is_denied;
    double rss, file_bytes;                     /* now */
    double faults;                              /* minor and major, as last read; NaN unknown */
    double asked_rss, asked_file, asked_faults; /* when its walk was asked for */
    double seen, seen_file;                     /* at its walk */
    double walked_private, walked_shared;
    double private_bytes, shared_bytes; /* now; NaN without a walk */
    int64_t allowed_ns;                 /* not walked again before */
};

struct gt_overlap {
    struct gt_overlap_record *record; /* in the frame's order */
    size_t count, capacity;
    double shared[GT_SCOPE_COMBINED + 1]; /* union of the shared pages at the last whole walk */
    bool has_left;                        /* a walked process has ended since */
};

/* Take over which processes live and their resident sets. -ENOMEM. */
int gt_overlap_follow(struct gt_overlap *overlap, const struct gt_frame *frame);
/* The list for a walk of all processes, or of those that have had none; `process` has room for overlap->count. */
size_t gt_overlap_ask(struct gt_overlap *overlap, struct gt_memory_process *process, bool only_new);
/* Take over a walk; `is_whole`: of all processes, so that `totals` is the union. Processes may not be walked again for `pause`
 * times what it took. */
void gt_overlap_learn(struct gt_overlap *overlap, const struct gt_memory_process *process, size_t count,
                      const struct gt_memory_totals *totals, bool is_whole, int64_t end_ns, int pause);
/* Bring each process's figures up to its resident set now. */
void gt_overlap_update(struct gt_overlap *overlap);
struct gt_scope_memory gt_overlap_scope(const struct gt_overlap *overlap, enum gt_scope scope);
void gt_overlap_release(struct gt_overlap *overlap);

#endif
