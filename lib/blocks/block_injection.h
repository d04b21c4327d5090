/* Environment variables that load the recorder of ranges into the programs of a command, and Python's hooks in
 * share/gpu-tracker/python; and the warnings, at the end, about calls that were not recorded. */
#ifndef GT_BLOCKS_BLOCK_INJECTION_H
#define GT_BLOCKS_BLOCK_INJECTION_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "blocks/block_source.h"

/* For hooks (share/gpu-tracker/python/hooks.py): the folder of their libraries, functions and frameworks to record. */
#define GT_HOOKS_ENVIRONMENT "GPU_TRACKER_HOOKS"
#define GT_HOOKS_FUNCTIONS_ENVIRONMENT "GPU_TRACKER_PYTHON_BLOCKS"
#define GT_HOOKS_SOURCES_ENVIRONMENT "GPU_TRACKER_PYTHON_SOURCES"

enum { GT_INJECTION_VARIABLES = GT_BLOCK_SOURCES + 10 };

/* What the user asks for; text is borrowed and may be NULL. */
struct gt_block_injection {
    unsigned sources;            /* bits 1 << enum gt_block_source_id */
    const char *domains, *names; /* regular expressions */
    int most;                    /* 0: not given */
    const char *const *patterns; /* of --python-blocks, NULL-terminated */
    const char *allocator;       /* read at borders of Python's blocks: "torch" */
    /* Found by gt_block_injection_check: the library that programs load, and the folder of the hooks. */
    char library[PATH_MAX], hooks[PATH_MAX];
    /* Set by gt_block_injection_set: the monotonic clock then, and variables with their former values, to be freed. */
    int64_t set_ns;
    struct {
        const char *name;
        char *former;
    } variable[GT_INJECTION_VARIABLES];
    int variables;
};

/* The path of the library that programs load. Returns 0, or -ENOENT with a sentence. */
int gt_block_library(char *ret, size_t size, struct gt_error *error);
/* The variable of a source that somebody else has set, not to our library; NULL: it is free. */
const char *gt_block_source_taken(enum gt_block_source_id source, const char *library);

/* Are there functions or frameworks of Python to hook? */
bool gt_block_injection_hooks(const struct gt_block_injection *injection);
/* Checks it and finds the files. Returns 0; -EINVAL for a wrong regular expression, -ENOENT for a missing file. */
int gt_block_injection_check(struct gt_block_injection *injection, struct gt_error *error);
/* Sets the variables for a command whose program is this file. Leaves out, with a warning, sources whose variable is
 * set already, or whose preloaded library would stop the program. */
void gt_block_injection_set(struct gt_block_injection *injection, const char *program,
                            void (*warn)(void *context, const char *sentence), void *context);
/* Sets the variables to their former values. */
void gt_block_injection_unset(struct gt_block_injection *injection);
/* Warns, before gt_blocks_collect, of calls that were not kept and of each source and pattern without any.
 * `status`: the exit status of the command. */
void gt_block_injection_end(const struct gt_block_injection *injection, const char *folder, int status,
                            void (*warn)(void *context, const char *sentence), void *context);

#endif
