/* Texts are kept once each in one arena and known by a number, in order of arrival. This is made for millions of look-ups. */
#ifndef GT_BASE_STRINGS_H
#define GT_BASE_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

/* All zero holds no text. */
struct gt_strings {
    char *arena; /* the texts, each followed by a NUL */
    size_t length, capacity;
    uint64_t *place; /* where each begins */
    size_t place_capacity;
    uint32_t *size; /* bytes without the NUL; texts may hold NULs */
    size_t size_capacity;
    uint32_t count;
    struct gt_map numbers; /* by hash */
};

/* Returns the number of a text, known or new; -ENOMEM, or -EOVERFLOW beyond 2^30 texts or for a text of 4 GiB. */
int64_t gt_strings_add(struct gt_strings *strings, const char *text, size_t length);
/* Returns the number of a text, or -ENOENT. */
int64_t gt_strings_find(const struct gt_strings *strings, const char *text, size_t length);
/* Returns the text, borrowed until the next add; "" for a number that none has. */
const char *gt_strings_text(const struct gt_strings *strings, size_t number);
void gt_strings_release(struct gt_strings *strings);

#endif
