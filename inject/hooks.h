/* Functions for hooks in interpreters, which call them from a library of their own or by ctypes: which functions are blocks, the marks of
 * their calls, and the memory of a framework's allocator. Nothing here ends or disturbs the program, whatever is missing. */
#ifndef INJECT_HOOKS_H
#define INJECT_HOOKS_H

#include "gpu_tracker.h"

#pragma GCC visibility push(default)

/* Regular expressions, one in each line (see block_source.h). Returns how many there are. */
int gt_hook_patterns(const char *patterns);
/* Returns the name of the block, which stays, when a pattern matches the function's names; else NULL. ".<locals>" is left out. */
const char *gt_hook_function(const char *module, const char *qualified_name);
/* Returns a name that stays; NULL beyond 10,000 of them, and for one that --blocks-names leaves out. */
const char *gt_hook_name(const char *name);
/* A call of a block, whose name stays. NULL is one that is not recorded. */
void *gt_hook_enter(const char *name);
void gt_hook_leave(void *call);
/* The same where the caller keeps the block: gt_block_begin and gt_block_end, under names that stand before no program's own. */
struct gt_block gt_hook_begin(const char *name);
void gt_hook_end(struct gt_block *block);
/* For another copy of the library in this process, whose blocks shall lie in the same file (see block.c). */
struct gt_block gt_hook_begin_of(const char *name, uint64_t total);
void gt_hook_end_with_children(struct gt_block *block, double cpu_seconds);
/* A function of the program by its name; NULL: it has none. */
void *gt_hook_symbol(const char *name);
/* A note for the end of the run, see block_notes.h. */
void gt_hook_note(const char *line);

/* At the beginning of a call of a block whose name stays, in bytes: what lives in the allocator, what it has from the driver, and the most
 * that has lived in it so far. Returns what gt_hook_memory_end takes, or NULL. The greatest values of each block become notes. */
void *gt_hook_memory_begin(const char *name, long long allocated, long long reserved, long long peak);
void gt_hook_memory_end(void *call, long long allocated, long long reserved, long long peak);

#pragma GCC visibility pop

#endif
