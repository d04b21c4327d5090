/* One pass over the page tables of a process tells which of its resident pages are its own, and which frames it shares.
 *
 * Sources: /proc/PID/maps and /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst in the kernel's sources); the
 * PAGEMAP_SCAN ioctl of Linux 6.7 leaps over empty ranges. Counted is what the kernel counts as resident: not the zero
 * pages, not device memory mapped by a driver, not hugetlb pages. */
#ifndef GT_COLLECT_PROCESS_PAGEMAP_H
#define GT_COLLECT_PROCESS_PAGEMAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/root.h"

/* The set holds page frames, each with two marks, one for each side of the job. It is a hash of blocks of 512 frames. Memory is taken
 * only where frames are: 0.1 to 0.2 MB for each GiB of physical memory (with pages of 4 KiB) that is full of members. */

struct gt_pagemap_block;

/* All zero is an empty set. */
struct gt_pagemap_set {
    struct gt_pagemap_block *block;
    size_t size, count; /* of blocks: a power of two, or 0; used */
};

enum gt_pagemap_mark { GT_PAGEMAP_MAIN = 1, GT_PAGEMAP_DESCENDANT = 2 };

/* Add `mark` to `frame`; returns the marks it had before, -ENOMEM, or -ERANGE for a number no machine can have. */
int gt_pagemap_set_add(struct gt_pagemap_set *set, uint64_t frame, enum gt_pagemap_mark mark);
/* Forget everything and give the memory back. */
void gt_pagemap_set_clear(struct gt_pagemap_set *set);

enum { GT_PAGEMAP_ENTRIES = 4096 }; /* 32 KiB at a time is fastest: a larger buffer falls out of the first cache */

struct gt_pagemap_walk {
    const struct gt_root *root;
    struct gt_pagemap_set set;
    atomic_bool is_cancelled; /* from another thread: the count in progress ends with -ECANCELED */
    uint64_t page_size;
    uint64_t zero_frame, huge_zero_frame; /* 0: unknown */
    uint64_t huge_zero_count;             /* frames in the huge zero page */
    bool cannot_scan;                     /* no PAGEMAP_SCAN here */
    bool has_huge_pages;                  /* some hugetlb pages are in use on this machine */
    int64_t piece_ns;                     /* when the piece of the walk began */
    long switches;                        /* of this thread, voluntary, by then */
    uint64_t empty_limit;                 /* without it, a mapping is given up after so many empty entries */
    uint64_t entry[GT_PAGEMAP_ENTRIES];
    char line[16384];
};

struct gt_pagemap_count {
    double private_bytes; /* mapped once on the whole machine, but not as shared memory */
    double file_bytes;    /* of files and shared memory */
    double anonymous;     /* the part of these that is of no file and no shared memory */
    double shared_bytes;  /* mapped more than once, by this or other processes, or as shared memory */
    double new_to_side;   /* of the shared ones, those this side (the mark) had not seen in this set */
    double new_to_job;    /* those neither side had seen */
    double new_files;     /* of these what is of files and shared memory, and what it has of them alone */
    double swap;
    /* Minor and major page faults of the process when the count began; NaN: it has not run since `cpu_time`. */
    double faults;
    long rests;        /* how often it rested between two pieces, */
    int64_t rested_ns; /* and for how long */
};

/* Returns true where page frame numbers can be read (CAP_SYS_ADMIN in the initial user namespace), and on a stored machine. It also
 * learns the numbers of the zero pages, so it is called once, before any count. */
bool gt_pagemap_walk_probe(struct gt_pagemap_walk *walk);
/* Returns true where the kernel knows PAGEMAP_SCAN; `pagemap` is the open file of a process. */
bool gt_pagemap_can_scan(int pagemap);
/* Returns how often this thread had to wait so far, for locks or of its own will. */
long gt_pagemap_walk_switches(void);
/* Call this before a row of counts. */
void gt_pagemap_walk_begin(struct gt_pagemap_walk *walk);
/* Returns -EACCES or -EPERM for another user's process, -ESRCH where it has gone or `start` (0: any) is not its start time. `cpu_time` is
 * as in gt_process_file_is_of. */
int gt_pagemap_walk_count(struct gt_pagemap_walk *walk, pid_t pid, uint64_t start, double cpu_time,
                          enum gt_pagemap_mark mark, struct gt_pagemap_count *ret);

#endif
