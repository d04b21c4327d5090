#include "trace/keys.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/number.h"
#include "trace/trace.h"

struct wanted_key {
    const struct gt_keys *keys;
    const struct gt_key *key;
};

static bool is_key(const void *context, uint32_t at)
{
    const struct wanted_key *wanted_key = context;
    return memcmp(&wanted_key->keys->entry[at].key, wanted_key->key, sizeof *wanted_key->key) == 0;
}

static uint32_t find_key(const struct gt_keys *keys, const struct gt_key *key, uint32_t hash)
{
    return gt_map_find(&keys->entries, hash, is_key, &(struct wanted_key){keys, key});
}

uint32_t gt_keys_find(const struct gt_keys *keys, struct gt_key key)
{
    uint32_t at = find_key(keys, &key, (uint32_t)gt_hash(&key, sizeof key));
    return at == GT_MAP_ABSENT ? GT_TRACE_NONE : keys->entry[at].value;
}

int64_t gt_keys_add(struct gt_keys *keys, struct gt_key key, uint32_t value)
{
    uint32_t hash = (uint32_t)gt_hash(&key, sizeof key), at = find_key(keys, &key, hash);
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
