#include "base/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a, 64 bit. */
static uint64_t hash(const char *text)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        value = (value ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return value;
}

/* The slot that holds `text`, or the free one where it belongs. */
static size_t find_slot(const struct gt_names *names, const char *text)
{
    size_t at = hash(text) & (names->slots - 1);
    while (names->slot[at] && strcmp(names->text[names->slot[at] - 1], text) != 0)
        at = (at + 1) & (names->slots - 1);
    return at;
}

static int grow(struct gt_names *names)
{
    size_t capacity = names->capacity ? names->capacity * 2 : 16;
    char **text = realloc(names->text, capacity * sizeof *text);
    if (!text)
        return -ENOMEM;
    names->text = text;
    uint32_t *slot = calloc(capacity * 2, sizeof *slot);
    if (!slot)
        return -ENOMEM;
    free(names->slot);
    names->slot = slot;
    names->slots = capacity * 2;
    names->capacity = capacity;
    for (size_t i = 0; i < names->count; i++)
        slot[find_slot(names, text[i])] = (uint32_t)i + 1;
    return 0;
}

int64_t gt_names_add(struct gt_names *names, const char *text)
{
    if (names->count == names->capacity && grow(names) < 0)
        return -ENOMEM;
    size_t at = find_slot(names, text);
    if (names->slot[at])
        return names->slot[at] - 1;
    char *copy = strdup(text);
    if (!copy)
        return -ENOMEM;
    names->text[names->count++] = copy;
    names->slot[at] = (uint32_t)names->count;
    return (int64_t)names->count - 1;
}

int64_t gt_names_find(const struct gt_names *names, const char *text)
{
    if (!names->slots)
        return -ENOENT;
    size_t at = find_slot(names, text);
    return names->slot[at] ? (int64_t)names->slot[at] - 1 : -ENOENT;
}

void gt_names_release(struct gt_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->text[i]);
    free(names->text);
    free(names->slot);
    *names = (struct gt_names){0};
}
