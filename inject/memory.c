#include "memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/map.h"
#include "blocks/block_notes.h"

enum { TELL_NS = 1000 * 1000 * 1000 };

struct call {
    const char *name;
    long long allocated, reserved, peak;
};

/* Of all calls of a block; -1: not known. */
struct block {
    const char *name;
    long long allocated, reserved, least, most;
    bool is_changed;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks;
static size_t count, capacity;
static struct gt_map numbers; /* of blocks, by the address of their names */
static int64_t told_ns;

void *gt_hook_memory_begin(const char *name, long long allocated, long long reserved, long long peak)
{
    struct call *call = malloc(sizeof *call);
    if (call)
        *call = (struct call){name, allocated, reserved, peak};
    return call;
}

static bool is_block(const void *name, uint32_t number)
{
    return blocks[number].name == name;
}

static struct block *block_of(const char *name)
{
    uint32_t key = (uint32_t)((uintptr_t)name >> 4), number = gt_map_find(&numbers, key, is_block, name);
    if (number != GT_MAP_ABSENT)
        return &blocks[number];
    if (GT_GROW_TO(blocks, capacity, count + 1) < 0 || gt_map_add(&numbers, key, (uint32_t)count) < 0)
        return NULL;
    blocks[count] = (struct block){.name = name};
    return &blocks[count++];
}

static void raise_to(struct block *block, long long *figure, long long value)
{
    if (value <= *figure)
        return;
    *figure = value;
    block->is_changed = true;
}

static long long greater(long long a, long long b)
{
    return a > b ? a : b;
}

/* The peak is the program's, which may set it back. Where it has grown inside the call, it is the call's; else that lies between what was
 * seen at the borders and the old peak. Where it was set back inside, nobody knows what was before. */
static void add(struct block *block, const struct call *call, long long allocated, long long reserved, long long peak)
{
    bool has_grown = peak > call->peak, was_reset = peak < call->peak;
    long long seen = greater(call->allocated, allocated);
    raise_to(block, &block->allocated, seen);
    raise_to(block, &block->reserved, greater(call->reserved, reserved));
    raise_to(block, &block->least, has_grown || was_reset ? greater(seen, peak) : seen);
    if (was_reset)
        block->is_changed |= block->most >= 0;
    if (was_reset || block->most < 0)
        block->most = -1;
    else
        raise_to(block, &block->most, peak);
}

/* Caller holds the mutex. */
static void tell(void)
{
    for (size_t i = 0; i < count; i++) {
        struct block *block = &blocks[i];
        if (block->is_changed)
            gt_hook_notes_add("memory %lld %lld %lld %lld %s", block->allocated, block->reserved, block->least,
                              block->most, block->name);
        block->is_changed = false;
    }
}

void gt_hook_memory_end(void *call, long long allocated, long long reserved, long long peak)
{
    const struct call *begun = call;
    if (!begun)
        return;
    pthread_mutex_lock(&mutex);
    struct block *block = peak || begun->peak ? block_of(begun->name) : NULL; /* none before a GPU is used */
    int64_t now_ns = gt_clock_ns(CLOCK_MONOTONIC);
    if (block)
        add(block, begun, allocated, reserved, peak);
    if (now_ns - told_ns > TELL_NS) { /* what is killed has told most */
        told_ns = now_ns;
        tell();
    }
    pthread_mutex_unlock(&mutex);
    free(call);
}

/* At a normal end of the process. */
__attribute__((destructor)) static void tell_last(void)
{
    pthread_mutex_lock(&mutex);
    tell();
    pthread_mutex_unlock(&mutex);
}
