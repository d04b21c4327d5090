/* Open calls of one block of code, by the frame that entered, the latest first.
 *
 * A with statement leaves in the frame in which it entered. The frame therefore identifies the entry, even if calls,
 * threads, tasks and generators interleave. */
#ifndef PYTHON_ENTRIES_H
#define PYTHON_ENTRIES_H

#include <stdint.h>

#include "gpu_tracker.h"

struct entry {
    struct gt_block block;
    void *memory;      /* of hooks: the result of gt_hook_memory_begin, or NULL */
    const void *frame; /* its identity only */
    unsigned long thread;
    int32_t older, newer;  /* in the order of entering; -1: none */
    int32_t older_in_list; /* among entries with the same hash, or among free entries; -1: none */
};

struct entries {
    struct entry *entry;
    int32_t *list; /* the newest entry for each hash; `capacity` elements */
    int32_t count, capacity, newest, free;
    struct entry only; /* one entry is nearly always enough */
    int32_t only_list;
};

void entries_init(struct entries *entries);
void entries_release(struct entries *entries);
/* Adds the newest entry, and the caller fills its block. NULL without memory. Valid until the next call. */
struct entry *entries_add(struct entries *entries, const void *frame, unsigned long thread);
/* Returns the entry to leave; at least one must be open. It is the latest of this frame, otherwise (ExitStack) of
 * this thread, otherwise (a generator that another thread closes) of all. */
struct entry *entries_find(const struct entries *entries, const void *frame, unsigned long thread);
/* Returns the latest entry of this frame, or NULL. */
struct entry *entries_find_frame(const struct entries *entries, const void *frame);
void entries_remove(struct entries *entries, struct entry *entry);

#endif
