/* A set of texts, each kept once and known by a small number, in order of arrival. */
#ifndef GT_BASE_NAMES_H
#define GT_BASE_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct gt_names {
    char **text;
    size_t count, capacity;
    uint32_t *slot; /* hash table of numbers + 1; 0 is free */
    size_t slots;
};

/* The number of `text`, new or known; -ENOMEM. */
int64_t gt_names_add(struct gt_names *names, const char *text);
/* The number, or -ENOENT. */
int64_t gt_names_find(const struct gt_names *names, const char *text);
void gt_names_release(struct gt_names *names);

#endif
