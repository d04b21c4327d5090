/* What a framework's allocator holds at the borders of blocks: the greatest figures of each block's calls, which become notes. */
#ifndef INJECT_MEMORY_H
#define INJECT_MEMORY_H

#pragma GCC visibility push(default)

/* At the beginning of a call of a block whose name stays, in bytes: what lives in the allocator, what it has from the driver, and the most
 * that has lived in it so far. Returns what gt_hook_memory_end takes, or NULL. */
void *gt_hook_memory_begin(const char *name, long long allocated, long long reserved, long long peak);
void gt_hook_memory_end(void *call, long long allocated, long long reserved, long long peak);

#pragma GCC visibility pop

#endif
