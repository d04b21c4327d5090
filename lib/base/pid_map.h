/* A hash table from process or thread numbers to small indices: open addressing, no allocation but on growth. */
#ifndef GT_BASE_PID_MAP_H
#define GT_BASE_PID_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct gt_pid_slot {
    pid_t pid; /* 0: free */
    uint32_t value;
};

/* All zero is an empty map. */
struct gt_pid_map {
    struct gt_pid_slot *slot;
    size_t size; /* slots, a power of two, or 0 */
    size_t count;
};

#define GT_PID_ABSENT UINT32_MAX

/* The value of `pid`, or GT_PID_ABSENT. */
uint32_t gt_pid_map_get(const struct gt_pid_map *map, pid_t pid);
/* Add or replace; `pid` is positive, `value` below GT_PID_ABSENT. 0 or -ENOMEM. */
int gt_pid_map_put(struct gt_pid_map *map, pid_t pid, uint32_t value);
/* Returns the value it had, or GT_PID_ABSENT. */
uint32_t gt_pid_map_remove(struct gt_pid_map *map, pid_t pid);
void gt_pid_map_clear(struct gt_pid_map *map);
void gt_pid_map_release(struct gt_pid_map *map);

#endif
