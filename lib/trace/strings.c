#include "trace/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Folded multiplication, eight bytes at a time. */
uint64_t gt_strings_hash(const char *text, size_t length)
{
    uint64_t value = UINT64_C(0x9e3779b97f4a7c15) ^ length, word;
    size_t at = 0;
    for (; at + 8 <= length; at += 8) {
        memcpy(&word, text + at, 8);
        value = mix(value ^ word, UINT64_C(0xd6e8feb86659fd93));
    }
    word = 0;
    memcpy(&word, text + at, length - at);
    value = mix(value ^ word, UINT64_C(0xa0761d6478bd642f));
    return value ^ value >> 32;
}

static uint32_t find_slot(const struct gt_strings *strings, const char *text, size_t length, uint64_t hash)
{
    uint32_t at = (uint32_t)hash & (strings->slots - 1);
    for (; strings->slot[at]; at = (at + 1) & (strings->slots - 1)) {
        uint32_t number = strings->slot[at] - 1;
        if (strings->hash[number] == hash && strings->size[number] == length &&
            memcmp(strings->arena + strings->place[number], text, length) == 0)
            break;
    }
    return at;
}

static int grow_places(struct gt_strings *strings)
{
    if (strings->places >= UINT32_C(1) << 30)
        return -EOVERFLOW;
    uint32_t places = strings->places ? strings->places * 2 : 256;
    uint64_t *place = realloc(strings->place, places * sizeof *place);
    if (place)
        strings->place = place;
    uint32_t *size = realloc(strings->size, places * sizeof *size);
    if (size)
        strings->size = size;
    uint64_t *hash = realloc(strings->hash, places * sizeof *hash);
    if (hash)
        strings->hash = hash;
    uint32_t *slot = calloc((size_t)places * 2, sizeof *slot);
    if (!place || !size || !hash || !slot) {
        free(slot);
        return -ENOMEM;
    }
    free(strings->slot);
    strings->slot = slot;
    strings->slots = places * 2;
    strings->places = places;
    for (uint32_t i = 0; i < strings->count; i++) {
        uint32_t at = (uint32_t)hash[i] & (strings->slots - 1);
        while (slot[at])
            at = (at + 1) & (strings->slots - 1);
        slot[at] = i + 1;
    }
    return 0;
}

static int reserve(struct gt_strings *strings, size_t more)
{
    if (more >= UINT32_MAX)
        return -EOVERFLOW;
    if (strings->length + more <= strings->capacity)
        return 0;
    size_t capacity = strings->capacity ? strings->capacity : 4096;
    while (capacity < strings->length + more)
        capacity += capacity / 2;
    char *arena = realloc(strings->arena, capacity);
    if (!arena)
        return -ENOMEM;
    strings->arena = arena;
    strings->capacity = capacity;
    return 0;
}

int64_t gt_strings_add(struct gt_strings *strings, const char *text, size_t length)
{
    if (strings->count == strings->places) {
        int status = grow_places(strings);
        if (status < 0)
            return status;
    }
    uint64_t hash = gt_strings_hash(text, length);
    uint32_t at = find_slot(strings, text, length, hash);
    if (strings->slot[at])
        return strings->slot[at] - 1;
    int status = reserve(strings, length + 1);
    if (status < 0)
        return status;
    if (length)
        memcpy(strings->arena + strings->length, text, length);
    strings->arena[strings->length + length] = '\0';
    strings->place[strings->count] = strings->length;
    strings->size[strings->count] = (uint32_t)length;
    strings->hash[strings->count] = hash;
    strings->length += length + 1;
    strings->slot[at] = ++strings->count;
    return strings->count - 1;
}

int64_t gt_strings_find(const struct gt_strings *strings, const char *text, size_t length)
{
    if (!strings->slots)
        return -ENOENT;
    uint32_t at = find_slot(strings, text, length, gt_strings_hash(text, length));
    return strings->slot[at] ? (int64_t)strings->slot[at] - 1 : -ENOENT;
}

const char *gt_strings_text(const struct gt_strings *strings, uint32_t number)
{
    return number < strings->count ? strings->arena + strings->place[number] : "";
}

void gt_strings_release(struct gt_strings *strings)
{
    free(strings->arena);
    free(strings->place);
    free(strings->size);
    free(strings->hash);
    free(strings->slot);
    *strings = (struct gt_strings){0};
}
