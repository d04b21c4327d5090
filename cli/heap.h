/* How the heap of a tracker is kept, which allocates little and uses a part of it. */
#ifndef CLI_HEAP_H
#define CLI_HEAP_H

#include <malloc.h>

/* One heap for all threads, and larger blocks straight from the kernel, which gives a page when it is first touched. Where the C library
 * cannot be told (musl), it does the latter by itself. */
static inline void heap_keep_small(void)
{
#ifdef M_ARENA_MAX
    enum { PAGES = 16384 };
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, PAGES);
#endif
}

#endif
