/* What the library keeps in each process. A child made by fork finds it all zero, and begins its own. */
#ifndef INJECT_PROCESS_H
#define INJECT_PROCESS_H

#include <pthread.h>
#include <regex.h>
#include <stdatomic.h>

#include "gpu_tracker.h"
#include "ranges.h"

struct gt_range_domain {
    struct gt_range_domain *next;
    enum gt_block_source_id source;
    bool is_off;
    atomic_bool has_ended;
    char name[]; /* "" for the default one */
};

struct gt_range_name {
    struct gt_range_domain *domain;
    uint64_t hash;
    bool is_off;
    size_t length; /* of what the program gave, without what is cut off */
    const char *given;
    char text[]; /* as it is written */
};

struct gt_open_range {
    uint32_t generation, next_free;
    bool is_open;
    struct gt_block block;
};

/* Calls of one function on one thread that are added up. */
struct gt_range_sum {
    const struct gt_range_name *name;
    int64_t ns;
};
enum { GT_RANGE_SUMS = 8 };

struct gt_range_stack;

struct gt_range_thread {
    uint64_t identity; /* of the process */
    struct gt_range_stack *stacks;
    struct gt_range_sum sum[GT_RANGE_SUMS];
    int sum_count;
    int64_t sums_begin_ns; /* monotonic: of the first call in any of them */
};

/* Why ranges were not kept. */
enum gt_range_limit { LIMIT_CALLS, LIMIT_NAMES, LIMIT_LEVELS, LIMITS };

struct gt_range_process {
    atomic_uint_fast64_t identity; /* 0: not begun; else the moment of its beginning */
    bool can_write;
    unsigned sources;      /* asked for: bits */
    pthread_mutex_t mutex; /* domains, new names, open ranges, notes */
    regex_t domains, names;
    bool selects_domains, selects_names;
    uint64_t most;
    atomic_uint_fast64_t calls, dropped[LIMITS];
    atomic_uint_fast64_t seen[GT_BLOCK_SOURCES];
    struct gt_open_range *open; /* left alone in a child, where another thread may have been growing it */
    uint32_t open_count, open_capacity, first_free; /* number + 1, 0: none */
    struct gt_range_pair *pairs;                    /* see roctx.c */
    size_t pair_count, pair_capacity;
};

/* This process, begun; NULL when nothing can be written. */
struct gt_range_process *gt_range_process(void);
/* Do the domain and the name suit the regular expressions that were given? Caller holds the mutex. */
bool gt_range_domain_is_wanted(const struct gt_range_process *process, const char *name);
bool gt_range_name_is_wanted(const struct gt_range_process *process, const char *written);
void gt_range_stacks_free(struct gt_range_stack **stacks);
/* The calling thread; what was open before a fork is forgotten. NULL without memory. */
struct gt_range_thread *gt_range_thread(struct gt_range_process *process);
/* Write the sums of a thread, one behind the other from where the first call began. */
void gt_range_write_sums(struct gt_range_process *process, struct gt_range_thread *thread);
/* Leave in the folder how many ranges there were, and how many were not kept. */
void gt_range_note(struct gt_range_process *process);
/* May one more range of this source be kept? */
bool gt_range_admit(struct gt_range_process *process, enum gt_block_source_id source);
/* May one more call be kept, of whatever source? */
bool gt_range_admit_call(struct gt_range_process *process);
/* Count one that is not. */
void gt_range_drop(struct gt_range_process *process, enum gt_block_source_id source, enum gt_range_limit limit);

#endif
