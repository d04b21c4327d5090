#include "trace/keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

struct wanted {
    const struct gt_keys *keys;
    const struct gt_key *key;
};

static bool is_wanted(const void *context, uint32_t at)
{
    const struct wanted *wanted = context;
    return memcmp(&wanted->keys->entry[at].key, wanted->key, sizeof *wanted->key) == 0;
}

int64_t gt_keys_add(struct gt_keys *keys, struct gt_key key, uint32_t value)
{
    const struct wanted wanted = {keys, &key};
    uint32_t hash = (uint32_t)gt_hash(&key, sizeof key), at = gt_map_find(&keys->entries, hash, is_wanted, &wanted);
    if (at != GT_MAP_ABSENT)
        return keys->entry[at].value;
    if (GT_GROW_TO(keys->entry, keys->capacity, keys->count + 1) < 0 ||
        gt_map_add(&keys->entries, hash, (uint32_t)keys->count) < 0)
        return -ENOMEM;
    keys->entry[keys->count++] = (struct gt_key_entry){key, value};
    return value;
}

void gt_keys_clear(struct gt_keys *keys)
{
    gt_map_clear(&keys->entries);
    keys->count = 0;
}

void gt_keys_release(struct gt_keys *keys)
{
    free(keys->entry);
    gt_map_release(&keys->entries);
    *keys = (struct gt_keys){0};
}
