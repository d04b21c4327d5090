/* Keys map four numbers to one. */
#ifndef GT_TRACE_KEYS_H
#define GT_TRACE_KEYS_H

#include "base/map.h"
#include "trace/input/walk.h"

struct gt_key {
    uint32_t part[4];
};

/* All zero is an empty table. */
struct gt_keys {
    struct gt_key_entry {
        struct gt_key key;
        uint32_t value;
    } * entry;
    size_t count, capacity;
    struct gt_map entries; /* by hash */
};

/* Returns the value of the key; when the key is new, `value` is kept for it and returned. -ENOMEM. */
int64_t gt_keys_add(struct gt_keys *keys, struct gt_key key, uint32_t value);
/* Returns the value of the key, GT_TRACE_NONE where it is not there. */
uint32_t gt_keys_find(const struct gt_keys *keys, struct gt_key key);
void gt_keys_clear(struct gt_keys *keys);
void gt_keys_release(struct gt_keys *keys);

#endif
