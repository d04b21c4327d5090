#include "entries.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = -1, SMALLEST = 8, LARGEST = 1 << 28 };

void entries_init(struct entries *entries)
{
    *entries = (struct entries){.capacity = 1, .newest = NONE, .only_list = NONE};
    entries->only.older_in_list = NONE;
    entries->entry = &entries->only;
    entries->list = &entries->only_list;
}

void entries_release(struct entries *entries)
{
    if (entries->entry == &entries->only)
        return;
    free(entries->entry);
    free(entries->list);
}

/* Frames are aligned to 16 bytes at least; capacities are powers of two. */
static int32_t *list_of(const struct entries *entries, const void *frame)
{
    uint64_t bits = ((uint64_t)(uintptr_t)frame >> 4) * UINT64_C(0x9e3779b97f4a7c15);
    return &entries->list[bits >> 32 & (uint64_t)(entries->capacity - 1)];
}

static void put_in_list(struct entries *entries, int32_t number)
{
    int32_t *list = list_of(entries, entries->entry[number].frame);
    entries->entry[number].older_in_list = *list;
    *list = number;
}

/* Called if every place is taken. The new places become free. */
static int grow(struct entries *entries)
{
    int32_t capacity = entries->capacity < SMALLEST ? SMALLEST : 2 * entries->capacity;
    struct entry *entry = capacity > LARGEST ? NULL : malloc((size_t)capacity * sizeof *entry);
    int32_t *list = entry ? malloc((size_t)capacity * sizeof *list) : NULL;
    if (!list) {
        free(entry);
        return -1;
    }
    memcpy(entry, entries->entry, (size_t)entries->count * sizeof *entry);
    memset(list, 0xff, (size_t)capacity * sizeof *list); /* NONE */
    entries_release(entries);
    for (int32_t i = entries->count; i < capacity; i++)
        entry[i].older_in_list = i + 1 < capacity ? i + 1 : NONE;
    entries->free = entries->count;
    entries->entry = entry;
    entries->list = list;
    entries->capacity = capacity;
    int32_t oldest = entries->newest;
    while (entry[oldest].older != NONE)
        oldest = entry[oldest].older;
    for (int32_t i = oldest; i != NONE; i = entry[i].newer)
        put_in_list(entries, i);
    return 0;
}

struct entry *entries_add(struct entries *entries, const void *frame, unsigned long thread)
{
    if (entries->count == entries->capacity && grow(entries) < 0)
        return NULL;
    int32_t number = entries->free;
    struct entry *entry = &entries->entry[number];
    entries->free = entry->older_in_list;
    *entry = (struct entry){.frame = frame, .thread = thread, .older = entries->newest, .newer = NONE};
    if (entries->newest != NONE)
        entries->entry[entries->newest].newer = number;
    entries->newest = number;
    entries->count++;
    put_in_list(entries, number);
    return entry;
}

struct entry *entries_find_frame(const struct entries *entries, const void *frame)
{
    for (int32_t i = *list_of(entries, frame); i != NONE; i = entries->entry[i].older_in_list)
        if (entries->entry[i].frame == frame)
            return &entries->entry[i];
    return NULL;
}

struct entry *entries_find(const struct entries *entries, const void *frame, unsigned long thread)
{
    struct entry *entry = entries->entry;
    if (entries->count == 1)
        return &entry[entries->newest];
    struct entry *found = entries_find_frame(entries, frame);
    if (found)
        return found;
    for (int32_t i = entries->newest; i != NONE; i = entry[i].older)
        if (entry[i].thread == thread)
            return &entry[i];
    return &entry[entries->newest];
}

void entries_remove(struct entries *entries, struct entry *gone)
{
    struct entry *entry = entries->entry;
    int32_t number = (int32_t)(gone - entry), *place = list_of(entries, gone->frame);
    while (*place != number)
        place = &entry[*place].older_in_list;
    *place = gone->older_in_list;
    if (gone->older != NONE)
        entry[gone->older].newer = gone->newer;
    if (gone->newer != NONE)
        entry[gone->newer].older = gone->older;
    else
        entries->newest = gone->older;
    gone->older_in_list = entries->free;
    entries->free = number;
    entries->count--;
}
