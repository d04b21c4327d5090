#include "base/grow.h"

#include <stdint.h>
#include <stdlib.h>

void *gt_grow(void **array, size_t *count, size_t *capacity, size_t size)
{
    if (*count == *capacity) {
        size_t wanted = *capacity ? *capacity * 2 : 64;
        void *grown = wanted > SIZE_MAX / size ? NULL : realloc(*array, wanted * size);
        if (!grown)
            return NULL;
        *array = grown;
        *capacity = wanted;
    }
    return (char *)*array + size * (*count)++;
}
