#include "base/grow.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

enum { FIRST = 4 };

int gt_grow_to(void **array, size_t *capacity, size_t wanted, size_t size)
{
    size_t larger = *capacity ? *capacity : FIRST;
    if (wanted <= *capacity)
        return 0;
    while (larger < wanted && larger <= SIZE_MAX / 2)
        larger *= 2;
    void *grown = larger < wanted || larger > SIZE_MAX / size ? NULL : realloc(*array, larger * size);
    if (!grown)
        return -ENOMEM;
    *array = grown;
    *capacity = larger;
    return 0;
}

void *gt_grow(void **array, size_t *count, size_t *capacity, size_t size)
{
    if (*count == *capacity && gt_grow_to(array, capacity, *count + 1, size) < 0)
        return NULL;
    return (char *)*array + size * (*count)++;
}

void *gt_grow_by_one(void **array, size_t count, size_t size)
{
    size_t capacity = count ? count * 2 : FIRST;
    if (!count || (count >= FIRST && (count & (count - 1)) == 0)) {
        void *grown = capacity < count || capacity > SIZE_MAX / size ? NULL : realloc(*array, capacity * size);
        if (!grown)
            return NULL;
        *array = grown;
    }
    return (char *)*array + size * count;
}
