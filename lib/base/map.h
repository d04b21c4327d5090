/* A map is a hash table from 32-bit keys to 32-bit values: open addressing, one allocation, none but on growth.
 *
 * With PIDs and other numbers as keys, each key is there once: gt_map_get, gt_map_put and gt_map_remove. With hashes as keys,
 * several values may share one, and the caller keeps what was hashed in an array that the values index: gt_map_find asks
 * the caller which value is meant, and gt_map_add adds one. A map is used in one of these two ways. */
#ifndef GT_BASE_MAP_H
#define GT_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_map_slot {
    uint32_t key;
    uint32_t value_and_one; /* 0: the slot is free */
};

/* All zero is an empty map. */
struct gt_map {
    struct gt_map_slot *slot;
    size_t size; /* slots, a power of two, or 0 */
    size_t count;
};

#define GT_MAP_ABSENT UINT32_MAX

/* Returns the value of `key`, or GT_MAP_ABSENT. */
uint32_t gt_map_get(const struct gt_map *map, uint32_t key);
/* Add or replace; `value` is below GT_MAP_ABSENT. Returns 0 or -ENOMEM. */
int gt_map_put(struct gt_map *map, uint32_t key, uint32_t value);
/* Returns the value that `key` had, or GT_MAP_ABSENT. */
uint32_t gt_map_remove(struct gt_map *map, uint32_t key);
/* Add a value beside those that `key` may have already. Returns 0 or -ENOMEM. */
int gt_map_add(struct gt_map *map, uint32_t key, uint32_t value);
/* Remove everything, and keep the memory. */
void gt_map_clear(struct gt_map *map);
void gt_map_release(struct gt_map *map);

/* Fibonacci hashing: keys that follow each other land far apart. The map must have slots. */
static inline size_t gt_map_home(const struct gt_map *map, uint32_t key)
{
    return (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (map->size - 1);
}

/* Returns the value among those of `key` for which `is_wanted` answers true, or GT_MAP_ABSENT. */
static inline uint32_t gt_map_find(const struct gt_map *map, uint32_t key,
                                   bool (*is_wanted)(const void *context, uint32_t value), const void *context)
{
    if (!map->count)
        return GT_MAP_ABSENT;
    for (size_t at = gt_map_home(map, key); map->slot[at].value_and_one; at = (at + 1) & (map->size - 1)) {
        uint32_t value = map->slot[at].value_and_one - 1;
        if (map->slot[at].key == key && is_wanted(context, value))
            return value;
    }
    return GT_MAP_ABSENT;
}

/* Hash bytes by folded multiplication, eight at a time. Each half of the result is a good hash. */
uint64_t gt_hash(const void *bytes, size_t length);

/* Texts are kept once each in one arena and known by a number, in order of arrival. This is made for millions of look-ups. */

/* All zero holds no text. */
struct gt_strings {
    char *arena; /* the texts, each followed by a NUL */
    size_t length, capacity;
    uint64_t *place; /* where each begins */
    size_t place_capacity;
    uint32_t *size; /* bytes without the NUL; texts may hold NULs */
    size_t size_capacity;
    uint32_t count;
    struct gt_map numbers; /* by hash */
};

/* Returns the number of a text, known or new; -ENOMEM, or -EOVERFLOW beyond 2^30 texts or for a text of 4 GiB. */
int64_t gt_strings_add(struct gt_strings *strings, const char *text, size_t length);
/* Returns the number of a text, or -ENOENT. */
int64_t gt_strings_find(const struct gt_strings *strings, const char *text, size_t length);
/* Returns the text, borrowed until the next add; "" for a number that none has. */
const char *gt_strings_text(const struct gt_strings *strings, size_t number);
void gt_strings_release(struct gt_strings *strings);

#endif
