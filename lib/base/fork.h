/* Memory that a child made by fork finds all zero. */
#ifndef GT_BASE_FORK_H
#define GT_BASE_FORK_H

#include <stddef.h>

/* Return such memory, which is never freed, or NULL. `forget` is called in the child where the kernel does not clear it (before 4.14),
 * and has to do so. */
void *gt_fork_memory(size_t size, void (*forget)(void));

#endif
