/* The memory that processes have together is estimated from their resident sets and the last walk over their memory.
 *
 * A walk is a moment in the past; resident sets are read at every look. Each walked process has private memory, which changes
 * with its anonymous resident memory since, and shared memory; the shared memory of a scope is its union at the walk, never less
 * than the largest part of one living process and never more than all of theirs. So a process that ends takes its private memory
 * and leaves what others still map. Files and shared memory touched since the walk count once, as if they were the same in all
 * processes.
 *
 * A process that was not walked yet needs no walk for what matters most. After execve(2) its anonymous memory is its own. After a
 * fork it has what its parent had, once; what it has beyond that is its own. What it has written to of that, a walk finds: page
 * faults tell when to walk. Its files count once. A process that may not be walked stays in this state. */
#ifndef GT_SAMPLE_SHARED_MEMORY_H
#define GT_SAMPLE_SHARED_MEMORY_H

#include "base/map.h"
#include "collect/cgroup/group_memory.h"
#include "collect/process/memory.h"

struct gt_scope_memory {
    double rss;           /* bytes: sum of resident sets */
    double ram;           /* shared pages once, as far as is known; between the largest resident set and rss */
    double private_bytes; /* its part that one process has alone */
    double anonymous;     /* the part of this, at least, that strangers cannot come to share */
    double shared_bytes;  /* ram - private_bytes */
    double certain;       /* it is not less than this */
    double counted;       /* the part of it that the last walk saw; the rest follows from resident sets */
    double files;         /* of files and shared memory, as far as is known; of GT_SCOPE_COMBINED */
};

/* One process of the frame, matched with its last walk. */
struct gt_shared_memory_record {
    pid_t pid;
    uint64_t start;
    bool is_main;
    bool is_forked;
    uint64_t program; /* hash of its name, of one that was not walked */
    bool is_pending;  /* what it has now does not count: see gt_process_is_pending */
    bool has_walk;
    bool is_alone; /* walked alone, since it is new: what it shares is taken for part of the rest */
    bool is_denied;
    struct gt_heritage heritage;
    /* The record of the process it inherited from; when that has ended, of the first that did; GT_SHARED_MEMORY_NONE. */
    size_t family;
    double rss, file_bytes;              /* now */
    double faults;                       /* minor and major, as last read; NaN unknown */
    double cpu_time;                     /* its CPU clock before that; NaN: it has none */
    double asked_rss, asked_faults;      /* when its walk was asked for */
    double seen, seen_file, seen_faults; /* at its walk */
    double walked_private, walked_anonymous, walked_shared;
    double private_bytes, shared_bytes; /* now; NaN without a walk */
    double anonymous;                   /* of these private bytes */
    double own;                         /* what would go if it ended now */
    double inherited;   /* of those in its family, the most that still has what it inherited; -1: walked */
    int64_t moved_ns;   /* monotonic: when its resident set or its faults were last seen to change */
    int64_t allowed_ns; /* not walked again before, */
    int64_t settled_ns; /* nor before this when it changed after its walk and has settled */
};

#define GT_SHARED_MEMORY_NONE SIZE_MAX

struct gt_shared_memory {
    struct gt_shared_memory_record *record; /* in the frame's order */
    size_t count, capacity;
    double shared[GT_SCOPE_COMBINED + 1]; /* union of the shared pages at the last whole walk */
    double sure[GT_SCOPE_COMBINED + 1];   /* the part of it that is certain */
    double files;                         /* of files and shared memory that all had at that walk */
    bool has_left;                        /* a walked process has ended since */
    double grown;                         /* bytes of files that came to its processes since, also such as others had */
    double mapped, mapped_seen;           /* by the whole machine, now and then: gt_memory_mapped(); NaN not known */
    struct gt_map place;                  /* scratch: the record of each process */
};

/* Take over which processes live and their resident sets. -ENOMEM. */
int gt_shared_memory_follow(struct gt_shared_memory *sharing, const struct gt_frame *frame, int64_t now_ns);
/* The list for a walk of all processes, or of those that have had none; `process` has room for sharing->count. */
size_t gt_shared_memory_ask(struct gt_shared_memory *sharing, struct gt_memory_process *process, bool only_new);
/* Take over a walk; `is_whole`: of all processes, so that `totals` is the union. Processes may not be walked again for `pause`
 * times what it took. */
void gt_shared_memory_learn(struct gt_shared_memory *sharing, const struct gt_memory_process *process, size_t count,
                            const struct gt_memory_totals *totals, bool is_whole, int64_t end_ns, int pause);
/* When the process may be walked again. */
int64_t gt_shared_memory_allowed(const struct gt_shared_memory_record *record, int64_t now_ns);
/* Bring each process's figures up to its resident set now. */
void gt_shared_memory_update(struct gt_shared_memory *sharing);
/* Bytes of pages that the process may have written to, and so copied, since its last walk or its fork: reason for a walk. They may as
 * well be pages that it has made and let go of again. */
double gt_shared_memory_copied(const struct gt_shared_memory_record *record);
struct gt_scope_memory gt_shared_memory_scope(struct gt_shared_memory *sharing, enum gt_scope scope);
/* Correct the scopes by the anonymous memory that all processes have together, each page once, as the kernel counts it for the job's
 * control group. It tells what no resident set does: how much of inherited memory was copied. */
void gt_shared_memory_correct(const struct gt_shared_memory *sharing, struct gt_group_anonymous anonymous,
                              struct gt_scope_memory scope[GT_SCOPE_COMBINED + 1]);
void gt_shared_memory_release(struct gt_shared_memory *sharing);

#endif
