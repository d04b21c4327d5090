/* Entries are the calls of one block of code that are open, found by the frame that entered, the latest first.
 *
 * A with statement leaves in the frame in which it entered, so the frame tells which entry is meant, however calls,
 * threads, tasks and generators interleave. */
#ifndef PYTHON_ENTRIES_H
#define PYTHON_ENTRIES_H

#include <stdint.h>

#include "gpu_tracker.h"

struct entry {
    struct gt_block block;
    void *memory;      /* of hooks: what gt_hook_memory_begin gave, or NULL */
    const void *frame; /* its identity only */
    unsigned long thread;
    int32_t older, newer;  /* in the order of entering; -1: none */
    int32_t older_in_list; /* of those whose frames have one hash, or of those that are free; -1: none */
};

struct entries {
    struct entry *entry;
    int32_t *list; /* the newest entry for each hash, as many as there is room for entries */
    int32_t count, capacity, newest, free;
    struct entry only; /* the room for one, which is nearly always enough */
    int32_t only_list;
};

void entries_init(struct entries *entries);
void entries_release(struct entries *entries);
/* A new entry, the newest, whose block the caller fills; NULL without memory. Valid until the next call. */
struct entry *entries_add(struct entries *entries, const void *frame, unsigned long thread);
/* The entry to leave, of one at least: the latest of this frame; else (entered through an ExitStack) of this thread; else
 * (a generator that another thread closes) of all. */
struct entry *entries_find(const struct entries *entries, const void *frame, unsigned long thread);
/* The latest entry of this frame, or NULL. */
struct entry *entries_find_frame(const struct entries *entries, const void *frame);
void entries_remove(struct entries *entries, struct entry *entry);

#endif
