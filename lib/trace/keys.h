/* A hash table from four numbers to one. All zero is an empty table. */
#ifndef GT_TRACE_KEYS_H
#define GT_TRACE_KEYS_H

#include <stddef.h>
#include <stdint.h>

struct gt_key {
    uint32_t part[4];
};

struct gt_keys {
    struct gt_key_slot {
        struct gt_key key;
        uint32_t value; /* + 1; 0 is free */
    } * slot;
    size_t slots, count;
};

/* The value of the key; when it is new, `value` is kept for it and returned. -ENOMEM. */
int64_t gt_keys_add(struct gt_keys *keys, struct gt_key key, uint32_t value);
void gt_keys_clear(struct gt_keys *keys);
void gt_keys_release(struct gt_keys *keys);

#endif
