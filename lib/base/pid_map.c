#include "base/pid_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Fibonacci hashing: numbers given out one after the other land far apart. */
static size_t home(const struct gt_pid_map *map, pid_t pid)
{
    return (size_t)(((uint64_t)pid * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (map->size - 1);
}

/* The slot that holds `pid`, or the free one where it belongs. The map must have slots. */
static size_t locate(const struct gt_pid_map *map, pid_t pid)
{
    size_t at = home(map, pid);
    while (map->slot[at].pid && map->slot[at].pid != pid)
        at = (at + 1) & (map->size - 1);
    return at;
}

uint32_t gt_pid_map_get(const struct gt_pid_map *map, pid_t pid)
{
    if (!map->count)
        return GT_PID_ABSENT;
    const struct gt_pid_slot *slot = &map->slot[locate(map, pid)];
    return slot->pid ? slot->value : GT_PID_ABSENT;
}

static int grow(struct gt_pid_map *map)
{
    struct gt_pid_map larger = {.size = map->size ? map->size * 2 : 64, .count = map->count};
    larger.slot = calloc(larger.size, sizeof *larger.slot);
    if (!larger.slot)
        return -ENOMEM;
    for (size_t i = 0; i < map->size; i++)
        if (map->slot[i].pid)
            larger.slot[locate(&larger, map->slot[i].pid)] = map->slot[i];
    free(map->slot);
    *map = larger;
    return 0;
}

int gt_pid_map_put(struct gt_pid_map *map, pid_t pid, uint32_t value)
{
    if (map->count * 2 >= map->size) {
        int result = grow(map);
        if (result < 0)
            return result;
    }
    struct gt_pid_slot *slot = &map->slot[locate(map, pid)];
    map->count += !slot->pid;
    *slot = (struct gt_pid_slot){pid, value};
    return 0;
}

/* Entries behind the freed slot move up where their probe passes it, so that no markers of removed entries pile up. */
static void close_gap(struct gt_pid_map *map, size_t gap)
{
    size_t mask = map->size - 1;
    for (size_t at = (gap + 1) & mask; map->slot[at].pid; at = (at + 1) & mask) {
        size_t distance_from_home = (at - home(map, map->slot[at].pid)) & mask;
        if (distance_from_home >= ((at - gap) & mask)) {
            map->slot[gap] = map->slot[at];
            gap = at;
        }
    }
    map->slot[gap].pid = 0;
}

uint32_t gt_pid_map_remove(struct gt_pid_map *map, pid_t pid)
{
    if (!map->count)
        return GT_PID_ABSENT;
    size_t at = locate(map, pid);
    if (!map->slot[at].pid)
        return GT_PID_ABSENT;
    uint32_t value = map->slot[at].value;
    map->count--;
    close_gap(map, at);
    return value;
}

void gt_pid_map_clear(struct gt_pid_map *map)
{
    if (map->count)
        memset(map->slot, 0, map->size * sizeof *map->slot);
    map->count = 0;
}

void gt_pid_map_release(struct gt_pid_map *map)
{
    free(map->slot);
    *map = (struct gt_pid_map){0};
}
