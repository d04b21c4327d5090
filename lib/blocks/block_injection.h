/* How the programs of a command find what records their ranges: variables of its environment, by which Python is led to its hooks, too. */
#ifndef GT_BLOCKS_BLOCK_INJECTION_H
#define GT_BLOCKS_BLOCK_INJECTION_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "blocks/block_source.h"

/* What the user asks for; text is borrowed and may be NULL. */
struct gt_block_injection {
    unsigned sources;            /* bits 1 << enum gt_block_source_id; 0: nothing is done */
    const char *domains, *names; /* regular expressions */
    int most;                    /* 0: not told */
    char library[PATH_MAX];      /* found by gt_block_injection_check */
    int64_t set_ns;              /* monotonic: when gt_block_injection_set was called */
};

/* The path of the library that programs load. Returns 0, or -ENOENT with a sentence. */
int gt_block_library(char *ret, size_t size, struct gt_error *error);
/* The variable of a source that somebody else has set, not to our library; NULL: it is free. */
const char *gt_block_source_taken(enum gt_block_source_id source, const char *library);

/* Check it and find the library. Returns 0; -EINVAL for a regular expression that is none, -ENOENT without the library. */
int gt_block_injection_check(struct gt_block_injection *injection, struct gt_error *error);
/* Leave out the sources that need a preloaded library where it would stop `program`, the path of the command; the user is warned. */
void gt_block_injection_fit(struct gt_block_injection *injection, const char *program,
                            void (*warn)(void *context, const char *sentence), void *context);
/* Set the variables for a command. One that is set already is kept, with a warning. */
void gt_block_injection_set(struct gt_block_injection *injection, void (*warn)(void *context, const char *sentence),
                            void *context);
/* Take them back. */
void gt_block_injection_unset(const struct gt_block_injection *injection);
/* At the end, before gt_blocks_collect: warn of what was not kept, and of each source without any range, unless any is enough.
 * `status`: the exit status of the command. Returns whether any source had a range. */
bool gt_block_injection_end(const struct gt_block_injection *injection, const char *folder, int status,
                            void (*warn)(void *context, const char *sentence), void *context);

/* Code blocks of Python programs that nobody changed, as far as `run` has to do with them: it leads Python to the hooks in
 * share/gpu-tracker/python by variables of the environment, and tells at the end what they have noted. */

/* The folder of the libraries that hooks load, and what they shall do; see share/gpu-tracker/python/hooks.py. */
#define GT_HOOKS_ENVIRONMENT "GPU_TRACKER_HOOKS"
#define GT_HOOKS_FUNCTIONS_ENVIRONMENT "GPU_TRACKER_PYTHON_BLOCKS"
#define GT_HOOKS_SOURCES_ENVIRONMENT "GPU_TRACKER_PYTHON_SOURCES"

struct gt_python_hooks {
    const char *allocator;                      /* read at borders: "torch", or NULL */
    const char *const *patterns;                /* of --python-blocks, NULL-terminated; may be NULL */
    const char *sources[GT_BLOCK_SOURCES + 1];  /* names of frameworks, NULL-terminated */
    bool is_any_enough;                         /* of the sources, others than these included */
    char libraries[PATH_MAX], folder[PATH_MAX]; /* found by gt_python_hooks_check */
};

/* Is there anything to hook? */
bool gt_python_hooks_are_wanted(const struct gt_python_hooks *hooks);
/* 0, also without any; -EINVAL for a pattern that is none, -ENOENT when the installation is not whole. */
int gt_python_hooks_check(struct gt_python_hooks *hooks, struct gt_error *error);
/* Take from `sources` (bits 1 << enum gt_block_source_id) those that Python is about. */
void gt_python_hooks_sources(struct gt_python_hooks *hooks, unsigned sources);
/* Set the variables for a command, and take them back. */
void gt_python_hooks_set(const struct gt_python_hooks *hooks);
void gt_python_hooks_unset(void);
/* At the end, before gt_blocks_collect: tell what was not recorded, and which pattern and source has not been seen, unless any is
 * enough. Returns whether a source has. */
bool gt_python_hooks_end(const struct gt_python_hooks *hooks, const char *folder,
                         void (*warn)(void *context, const char *sentence), void *context);

#endif
