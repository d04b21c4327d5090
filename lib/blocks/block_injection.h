/* How the programs of a command find what records their ranges: variables of its environment. */
#ifndef GT_BLOCKS_BLOCK_INJECTION_H
#define GT_BLOCKS_BLOCK_INJECTION_H

#include <limits.h>
#include <stdbool.h>

#include "blocks/block_source.h"

/* What the user asks for; text is borrowed and may be NULL. */
struct gt_block_injection {
    unsigned sources;            /* bits 1 << enum gt_block_source_id; 0: nothing is done */
    const char *domains, *names; /* regular expressions */
    int most;                    /* 0: not told */
    char library[PATH_MAX];      /* found by gt_block_injection_check */
};

/* The path of the library that programs load. Returns 0, or -ENOENT with a sentence. */
int gt_block_library(char *ret, size_t size, struct gt_error *error);
/* The variable of a source that somebody else has set, not to our library; NULL: it is free. */
const char *gt_block_source_taken(enum gt_block_source_id source, const char *library);

/* Check it and find the library. Returns 0; -EINVAL for a regular expression that is none, -ENOENT without the library. */
int gt_block_injection_check(struct gt_block_injection *injection, struct gt_error *error);
/* Set the variables for a command. One that somebody has set is kept, which is told. */
void gt_block_injection_set(const struct gt_block_injection *injection,
                            void (*warn)(void *context, const char *sentence), void *context);
/* Take them back. */
void gt_block_injection_unset(const struct gt_block_injection *injection);
/* At the end, before gt_blocks_collect: tell what was not kept, and which source has not been heard of, unless any is enough. Returns
 * whether one has. */
bool gt_block_injection_end(const struct gt_block_injection *injection, const char *folder,
                            void (*warn)(void *context, const char *sentence), void *context);

#endif
