#include "collect/process/page_set.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

/* 2^40 frames of 4 KiB are 4 PiB, the most that x86-64 and arm64 can address. */
enum { FRAME_BITS = 40, CHUNK_BITS = 18, FRAMES_PER_BYTE = 4 };

struct gt_page_chunk {
    uint8_t marks[(1 << CHUNK_BITS) / FRAMES_PER_BYTE];
    struct gt_page_chunk *next;
};

#define DIRECTORY_SIZE (sizeof(struct gt_page_chunk *) << (FRAME_BITS - CHUNK_BITS))

static void *map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static struct gt_page_chunk *chunk_of(struct gt_page_set *set, uint64_t frame)
{
    if (!set->directory && !(set->directory = map(DIRECTORY_SIZE)))
        return NULL;
    struct gt_page_chunk **slot = &set->directory[frame >> CHUNK_BITS];
    if (!*slot && (*slot = map(sizeof **slot))) {
        (*slot)->next = set->first;
        set->first = *slot;
    }
    return *slot;
}

int gt_page_set_add(struct gt_page_set *set, uint64_t frame, enum gt_page_mark mark)
{
    if (frame >> FRAME_BITS)
        return -ERANGE;
    struct gt_page_chunk *chunk = chunk_of(set, frame);
    if (!chunk)
        return -ENOMEM;
    uint8_t *marks = &chunk->marks[(frame & ((1 << CHUNK_BITS) - 1)) / FRAMES_PER_BYTE];
    unsigned shift = 2 * (frame % FRAMES_PER_BYTE);
    int before = *marks >> shift & 3;
    *marks |= (uint8_t)(mark << shift);
    return before;
}

void gt_page_set_clear(struct gt_page_set *set)
{
    for (struct gt_page_chunk *chunk = set->first, *next; chunk; chunk = next) {
        next = chunk->next;
        munmap(chunk, sizeof *chunk);
    }
    if (set->directory)
        munmap(set->directory, DIRECTORY_SIZE);
    *set = (struct gt_page_set){NULL, NULL};
}
