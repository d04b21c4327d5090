/* Blocks of programs that nobody changed: the interfaces by which they mark ranges for other tools, and the variables of the environment
 * by which such a program finds our library. */
#ifndef GT_BLOCKS_BLOCK_SOURCE_H
#define GT_BLOCKS_BLOCK_SOURCE_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum gt_block_source_id {
#define SOURCE(name, ...) GT_BLOCK_SOURCE_##name,
#include "blocks/block_source.def"
    GT_BLOCK_SOURCES
};

/* How a program finds what records its ranges. */
enum gt_block_way {
    GT_BLOCK_WAY_LIBRARY, /* the variable is the path of the library */
    GT_BLOCK_WAY_PRELOAD, /* the path is added to a list */
    GT_BLOCK_WAY_PYTHON,  /* by block_injection.h */
};

struct gt_block_source {
    const char *name, *row; /* "blocks: nvtx" in doctor */
    enum gt_block_way way;
    const char *variable, *what;
};
extern const struct gt_block_source gt_block_sources[GT_BLOCK_SOURCES];

/* By these the options of `run` reach what runs in the command; see option.def. Not that of --blocks-from: it would begin a recording of
 * its own in a run inside the command. */
#define GT_BLOCKS_SOURCES_ENVIRONMENT "GPU_TRACKER_BLOCKS_SOURCES"
#define GT_BLOCKS_DOMAINS_ENVIRONMENT "GPU_TRACKER_BLOCKS_DOMAINS"
#define GT_BLOCKS_NAMES_ENVIRONMENT "GPU_TRACKER_BLOCKS_NAMES"
#define GT_BLOCKS_MOST_ENVIRONMENT "GPU_TRACKER_BLOCKS_MOST"

/* Beside the bits of the sources: "all" was asked for, so that one of them is enough. */
#define GT_BLOCK_SOURCES_ANY (1u << GT_BLOCK_SOURCES)

/* Read "nvtx,mpi"; "all" is those that no library has to be preloaded for, and GT_BLOCK_SOURCES_ANY. Returns 0, -EINVAL with
 * a sentence that lists them. */
int gt_block_sources_read(const char *text, unsigned *ret, struct gt_error *error);
/* Number `index` of the words that a list may hold; NULL past the end. */
const char *gt_block_source_name(size_t index);

/* Names chosen by POSIX extended regular expressions. */

/* Compile `pattern`, which is to match a whole name, or with `is_part` any part of one. -EINVAL names the pattern and the place of what
 * is wrong with it. Freed with regfree. */
int gt_name_pattern_compile(regex_t *ret, const char *pattern, bool is_part, struct gt_error *error);

bool gt_name_pattern_matches(const regex_t *pattern, const char *name);

#endif
