#include "trace/keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/strings.h"

static struct gt_key_slot *find(struct gt_key_slot *slot, size_t slots, const struct gt_key *key)
{
    size_t at = gt_strings_hash((const char *)key, sizeof *key) & (slots - 1);
    while (slot[at].value && memcmp(&slot[at].key, key, sizeof *key) != 0)
        at = (at + 1) & (slots - 1);
    return &slot[at];
}

static int grow(struct gt_keys *keys)
{
    size_t slots = keys->slots ? keys->slots * 2 : 64;
    struct gt_key_slot *slot = calloc(slots, sizeof *slot);
    if (!slot)
        return -ENOMEM;
    for (size_t i = 0; i < keys->slots; i++)
        if (keys->slot[i].value)
            *find(slot, slots, &keys->slot[i].key) = keys->slot[i];
    free(keys->slot);
    keys->slot = slot;
    keys->slots = slots;
    return 0;
}

int64_t gt_keys_add(struct gt_keys *keys, struct gt_key key, uint32_t value)
{
    if (keys->count * 2 >= keys->slots && grow(keys) < 0)
        return -ENOMEM;
    struct gt_key_slot *slot = find(keys->slot, keys->slots, &key);
    if (!slot->value) {
        *slot = (struct gt_key_slot){key, value + 1};
        keys->count++;
    }
    return slot->value - 1;
}

void gt_keys_clear(struct gt_keys *keys)
{
    if (keys->slots)
        memset(keys->slot, 0, keys->slots * sizeof *keys->slot);
    keys->count = 0;
}

void gt_keys_release(struct gt_keys *keys)
{
    free(keys->slot);
    *keys = (struct gt_keys){0};
}
