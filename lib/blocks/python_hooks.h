/* Code blocks of Python programs that nobody changed, as far as `run` has to do with them: it leads Python to the hooks in
 * share/gpu-tracker/python by variables of the environment, and tells at the end what they have noted. */
#ifndef GT_BLOCKS_PYTHON_HOOKS_H
#define GT_BLOCKS_PYTHON_HOOKS_H

#include <limits.h>
#include <stdbool.h>

#include "blocks/block_source.h"

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
