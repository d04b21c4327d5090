/* Functions for hooks in interpreters, which call them from a library of their own or by ctypes: which functions are
 * blocks, the marks of their calls, and the memory of a framework's allocator. Nothing here ends or disturbs the
 * program, whatever is missing. */
#ifndef INJECT_HOOKS_H
#define INJECT_HOOKS_H

#include "gpu_tracker.h"

#pragma GCC visibility push(default)

/* Sets the regular expressions, one in each line (see block_source.h). Returns how many there are. */
int gt_hook_patterns(const char *patterns);
/* Returns the name of the block, never freed, if a pattern matches the function; else NULL. ".<locals>" is left out. */
const char *gt_hook_function(const char *module, const char *qualified_name);
/* Returns a copy of the name that is never freed; NULL beyond 10,000 names, and for names that --blocks-names leaves
 * out. */
const char *gt_hook_name(const char *name);
/* Begin and end a call of a block, by a name as above. NULL: the call is not recorded. */
void *gt_hook_enter(const char *name);
void gt_hook_leave(void *call);
/* Do the same where the caller keeps the block: gt_block_begin and gt_block_end, under names that no program has. */
struct gt_block gt_hook_begin(const char *name);
void gt_hook_end(struct gt_block *block);
/* For another copy of the library in this process, which writes its blocks to the same file (see block.c). */
struct gt_block gt_hook_begin_of(const char *name, uint64_t total);
void gt_hook_end_with_children(struct gt_block *block, double cpu_seconds);
/* Returns a function of the program by its name, or NULL. */
void *gt_hook_symbol(const char *name);
/* Leaves a note for the end of the run, see block_notes.h. */
void gt_hook_note(const char *line);

/* At the beginning of a call of a block whose name stays, in bytes: what lives in the allocator, what it has from the
 * driver, and the most that has lived in it so far. Returns what gt_hook_memory_end takes, or NULL. The greatest values
 * of each block become notes. */
void *gt_hook_memory_begin(const char *name, long long allocated, long long reserved, long long peak);
void gt_hook_memory_end(void *call, long long allocated, long long reserved, long long peak);

#pragma GCC visibility pop

#endif
