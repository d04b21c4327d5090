#include "base/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

enum { MOST = 1 << 30 };

struct wanted {
    const struct gt_strings *strings;
    const char *text;
    size_t length;
};

static bool is_wanted(const void *context, uint32_t number)
{
    const struct wanted *wanted = context;
    return wanted->strings->size[number] == wanted->length &&
           memcmp(wanted->strings->arena + wanted->strings->place[number], wanted->text, wanted->length) == 0;
}

static int reserve(struct gt_strings *strings, size_t more)
{
    int status = GT_GROW_TO(strings->place, strings->place_capacity, (size_t)strings->count + 1);
    if (status == 0)
        status = GT_GROW_TO(strings->size, strings->size_capacity, (size_t)strings->count + 1);
    return status < 0 ? status : GT_GROW_TO(strings->arena, strings->capacity, strings->length + more);
}

int64_t gt_strings_add(struct gt_strings *strings, const char *text, size_t length)
{
    const struct wanted wanted = {strings, text, length};
    uint32_t key = (uint32_t)gt_hash(text, length), number = gt_map_find(&strings->numbers, key, is_wanted, &wanted);
    if (number != GT_MAP_ABSENT)
        return number;
    if (length >= UINT32_MAX || strings->count == MOST)
        return -EOVERFLOW;
    int status = reserve(strings, length + 1);
    if (status == 0)
        status = gt_map_add(&strings->numbers, key, strings->count);
    if (status < 0)
        return status;
    if (length)
        memcpy(strings->arena + strings->length, text, length);
    strings->arena[strings->length + length] = '\0';
    strings->place[strings->count] = strings->length;
    strings->size[strings->count] = (uint32_t)length;
    strings->length += length + 1;
    return strings->count++;
}

int64_t gt_strings_find(const struct gt_strings *strings, const char *text, size_t length)
{
    const struct wanted wanted = {strings, text, length};
    uint32_t number = gt_map_find(&strings->numbers, (uint32_t)gt_hash(text, length), is_wanted, &wanted);
    return number == GT_MAP_ABSENT ? -ENOENT : (int64_t)number;
}

const char *gt_strings_text(const struct gt_strings *strings, size_t number)
{
    return number < strings->count ? strings->arena + strings->place[number] : "";
}

void gt_strings_release(struct gt_strings *strings)
{
    free(strings->arena);
    free(strings->place);
    free(strings->size);
    gt_map_release(&strings->numbers);
    *strings = (struct gt_strings){0};
}
