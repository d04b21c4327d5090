#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

enum { FIRST = 64 };

/* The slot that holds `key`, or the free one where it belongs. The map must have slots. */
static size_t locate(const struct gt_map *map, uint32_t key)
{
    size_t at = gt_map_home(map, key);
    while (map->slot[at].value_and_one && map->slot[at].key != key)
        at = (at + 1) & (map->size - 1);
    return at;
}

uint32_t gt_map_get(const struct gt_map *map, uint32_t key)
{
    /* A free slot holds 0, which is GT_MAP_ABSENT and one. */
    return map->count ? map->slot[locate(map, key)].value_and_one - 1 : GT_MAP_ABSENT;
}

static void insert(struct gt_map *map, struct gt_map_slot slot)
{
    size_t at = gt_map_home(map, slot.key);
    while (map->slot[at].value_and_one)
        at = (at + 1) & (map->size - 1);
    map->slot[at] = slot;
}

static int make_room(struct gt_map *map)
{
    struct gt_map larger = {.size = map->size ? map->size * 2 : FIRST, .count = map->count};
    if (map->count * 2 < map->size)
        return 0;
    larger.slot = calloc(larger.size, sizeof *larger.slot);
    if (!larger.slot)
        return -ENOMEM;
    for (size_t i = 0; i < map->size; i++)
        if (map->slot[i].value_and_one)
            insert(&larger, map->slot[i]);
    free(map->slot);
    *map = larger;
    return 0;
}

int gt_map_put(struct gt_map *map, uint32_t key, uint32_t value)
{
    if (make_room(map) < 0)
        return -ENOMEM;
    struct gt_map_slot *slot = &map->slot[locate(map, key)];
    map->count += !slot->value_and_one;
    *slot = (struct gt_map_slot){key, value + 1};
    return 0;
}

int gt_map_add(struct gt_map *map, uint32_t key, uint32_t value)
{
    if (make_room(map) < 0)
        return -ENOMEM;
    insert(map, (struct gt_map_slot){key, value + 1});
    map->count++;
    return 0;
}

/* Entries behind the freed slot move up where their probe passes it, so that no markers of removed entries pile up. */
static void close_gap(struct gt_map *map, size_t gap)
{
    size_t mask = map->size - 1;
    for (size_t at = (gap + 1) & mask; map->slot[at].value_and_one; at = (at + 1) & mask) {
        size_t distance_from_home = (at - gt_map_home(map, map->slot[at].key)) & mask;
        if (distance_from_home >= ((at - gap) & mask)) {
            map->slot[gap] = map->slot[at];
            gap = at;
        }
    }
    map->slot[gap].value_and_one = 0;
}

uint32_t gt_map_remove(struct gt_map *map, uint32_t key)
{
    if (!map->count)
        return GT_MAP_ABSENT;
    size_t at = locate(map, key);
    uint32_t value = map->slot[at].value_and_one - 1;
    if (value != GT_MAP_ABSENT) {
        map->count--;
        close_gap(map, at);
    }
    return value;
}

void gt_map_clear(struct gt_map *map)
{
    if (map->count)
        memset(map->slot, 0, map->size * sizeof *map->slot);
    map->count = 0;
}

void gt_map_release(struct gt_map *map)
{
    free(map->slot);
    *map = (struct gt_map){0};
}

static uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t gt_hash(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    uint64_t value = UINT64_C(0x9e3779b97f4a7c15) ^ length, word;
    for (; length >= 8; at += 8, length -= 8) {
        memcpy(&word, at, 8);
        value = fold(value ^ word, UINT64_C(0xd6e8feb86659fd93));
    }
    word = 0;
    if (length)
        memcpy(&word, at, length);
    value = fold(value ^ word, UINT64_C(0xa0761d6478bd642f));
    return value ^ value >> 32;
}

enum { MOST = 1 << 30 };

struct wanted {
    const struct gt_strings *strings;
    const char *text;
    size_t length;
};

static bool is_wanted(const void *context, uint32_t number)
{
    const struct wanted *wanted = context;
    return wanted->strings->size[number] == wanted->length &&
           memcmp(wanted->strings->arena + wanted->strings->place[number], wanted->text, wanted->length) == 0;
}

static int reserve(struct gt_strings *strings, size_t more)
{
    int status = GT_GROW_TO(strings->place, strings->place_capacity, (size_t)strings->count + 1);
    if (status == 0)
        status = GT_GROW_TO(strings->size, strings->size_capacity, (size_t)strings->count + 1);
    return status < 0 ? status : GT_GROW_TO(strings->arena, strings->capacity, strings->length + more);
}

int64_t gt_strings_add(struct gt_strings *strings, const char *text, size_t length)
{
    const struct wanted wanted = {strings, text, length};
    uint32_t key = (uint32_t)gt_hash(text, length), number = gt_map_find(&strings->numbers, key, is_wanted, &wanted);
    if (number != GT_MAP_ABSENT)
        return number;
    if (length >= UINT32_MAX || strings->count == MOST)
        return -EOVERFLOW;
    int status = reserve(strings, length + 1);
    if (status == 0)
        status = gt_map_add(&strings->numbers, key, strings->count);
    if (status < 0)
        return status;
    if (length)
        memcpy(strings->arena + strings->length, text, length);
    strings->arena[strings->length + length] = '\0';
    strings->place[strings->count] = strings->length;
    strings->size[strings->count] = (uint32_t)length;
    strings->length += length + 1;
    return strings->count++;
}

int64_t gt_strings_find(const struct gt_strings *strings, const char *text, size_t length)
{
    const struct wanted wanted = {strings, text, length};
    uint32_t number = gt_map_find(&strings->numbers, (uint32_t)gt_hash(text, length), is_wanted, &wanted);
    return number == GT_MAP_ABSENT ? -ENOENT : (int64_t)number;
}

const char *gt_strings_text(const struct gt_strings *strings, size_t number)
{
    return number < strings->count ? strings->arena + strings->place[number] : "";
}

void gt_strings_release(struct gt_strings *strings)
{
    free(strings->arena);
    free(strings->place);
    free(strings->size);
    gt_map_release(&strings->numbers);
    *strings = (struct gt_strings){0};
}
