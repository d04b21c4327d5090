/* Arrays that grow. */
#ifndef GT_BASE_GROW_H
#define GT_BASE_GROW_H

#include <stddef.h>

/* Room for one more; NULL without memory. */
void *gt_grow(void **array, size_t *count, size_t *capacity, size_t size);

/* A pointer to one more, uninitialized, element of an array; NULL without memory, and the array is as it was. Of an owner of
 * several arrays: array, array_count, array_capacity. */
#define GT_GROW(owner, array)                                                                       \
    ((__typeof__((owner)->array))gt_grow((void **)(void *)&(owner)->array, &(owner)->array##_count, \
                                         &(owner)->array##_capacity, sizeof *(owner)->array))
/* Of a list, which has one array: array, count, capacity. */
#define GT_GROW_LIST(list, array)                                                                           \
    ((__typeof__((list)->array))gt_grow((void **)(void *)&(list)->array, &(list)->count, &(list)->capacity, \
                                        sizeof *(list)->array))

#endif
