/* Arrays of a trace that grow: member, member_count, member_capacity. */
#ifndef GT_TRACE_GROW_H
#define GT_TRACE_GROW_H

#include <stddef.h>

/* Room for one more; NULL without memory. */
void *gt_grow(void **array, size_t *count, size_t *capacity, size_t size);

/* A pointer to one more, uninitialized, element of an array; NULL without memory. */
#define GT_GROW(owner, array)                                                                       \
    ((__typeof__((owner)->array))gt_grow((void **)(void *)&(owner)->array, &(owner)->array##_count, \
                                         &(owner)->array##_capacity, sizeof *(owner)->array))

#endif
