/* Texts kept once each in one arena and known by a number, in order of arrival. Made for millions of look-ups. */
#ifndef GT_TRACE_STRINGS_H
#define GT_TRACE_STRINGS_H

#include <stddef.h>
#include <stdint.h>

struct gt_strings {
    char *arena; /* the texts, each followed by a NUL */
    size_t length, capacity;
    uint64_t *place; /* where each begins */
    uint32_t *size;  /* bytes without the NUL; texts may hold NULs */
    uint64_t *hash;
    uint32_t count, places;
    uint32_t *slot; /* hash table of numbers + 1; 0 is free */
    uint32_t slots;
};

uint64_t gt_strings_hash(const char *text, size_t length);
/* The number of a text, new or known; negative errno: -ENOMEM, -EOVERFLOW. */
int64_t gt_strings_add(struct gt_strings *strings, const char *text, size_t length);
/* The number, or -ENOENT. */
int64_t gt_strings_find(const struct gt_strings *strings, const char *text, size_t length);
/* Borrowed until the next add. */
const char *gt_strings_text(const struct gt_strings *strings, uint32_t number);
void gt_strings_release(struct gt_strings *strings);

#endif
