#include "collect/process/page_set.h"

#include <errno.h>
#include <sys/mman.h>

/* 2^40 frames of 4 KiB are 4 PiB, the most that x86-64 and arm64 can address. */
enum { FRAME_BITS = 40, BLOCK_BITS = 9, FRAMES_PER_BYTE = 4, FIRST_SIZE = 256 };

struct gt_page_block {
    uint64_t number; /* of the block, and one; 0: unused */
    uint8_t marks[(1 << BLOCK_BITS) / FRAMES_PER_BYTE];
};

static struct gt_page_block *find(const struct gt_page_set *set, uint64_t number)
{
    size_t at = (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 20);
    for (;; at++) {
        struct gt_page_block *block = &set->block[at & (set->size - 1)];
        if (!block->number || block->number == number)
            return block;
    }
}

static int grow(struct gt_page_set *set)
{
    struct gt_page_set larger = {.size = set->size ? set->size * 2 : FIRST_SIZE, .count = set->count};
    void *block = mmap(NULL, larger.size * sizeof *set->block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                       0);
    if (block == MAP_FAILED)
        return -ENOMEM;
    larger.block = block;
    for (size_t i = 0; i < set->size; i++)
        if (set->block[i].number)
            *find(&larger, set->block[i].number) = set->block[i];
    gt_page_set_clear(set);
    *set = larger;
    return 0;
}

int gt_page_set_add(struct gt_page_set *set, uint64_t frame, enum gt_page_mark mark)
{
    uint64_t number = (frame >> BLOCK_BITS) + 1;
    if (frame >> FRAME_BITS)
        return -ERANGE;
    if (set->count >= set->size / 4 * 3 && grow(set) < 0)
        return -ENOMEM;
    struct gt_page_block *block = find(set, number);
    set->count += block->number == 0;
    block->number = number;
    uint8_t *marks = &block->marks[(frame & ((1 << BLOCK_BITS) - 1)) / FRAMES_PER_BYTE];
    unsigned shift = 2 * (frame % FRAMES_PER_BYTE);
    int before = *marks >> shift & 3;
    *marks |= (uint8_t)(mark << shift);
    return before;
}

void gt_page_set_clear(struct gt_page_set *set)
{
    if (set->block)
        munmap(set->block, set->size * sizeof *set->block);
    *set = (struct gt_page_set){0};
}
