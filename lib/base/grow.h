/* Arrays that grow by doubling. An array keeps its place and its elements when memory is short. */
#ifndef GT_BASE_GROW_H
#define GT_BASE_GROW_H

#include <stddef.h>

/* Make room for `wanted` elements of `size` bytes. Returns 0 or -ENOMEM. New elements are not initialized. */
int gt_grow_to(void **array, size_t *capacity, size_t wanted, size_t size);
/* Make room for one more element and count it. Returns its address, or NULL without memory. */
void *gt_grow(void **array, size_t *count, size_t *capacity, size_t size);
/* Make room for one more in an array that keeps no capacity, because it grows by this alone: the capacity follows from
 * the count, which the caller raises. Returns the address behind the last element, or NULL without memory. */
void *gt_grow_by_one(void **array, size_t count, size_t size);

/* The same with types. GT_GROW is for an owner of several arrays, which has members array, array_count and
 * array_capacity; GT_GROW_LIST is for a list, which has array, count and capacity. */
#define GT_GROW_TO(array, capacity, wanted) gt_grow_to((void **)(void *)&(array), &(capacity), wanted, sizeof *(array))
#define GT_GROW(owner, array)                                                                       \
    ((__typeof__((owner)->array))gt_grow((void **)(void *)&(owner)->array, &(owner)->array##_count, \
                                         &(owner)->array##_capacity, sizeof *(owner)->array))
#define GT_GROW_LIST(list, array)                                                                           \
    ((__typeof__((list)->array))gt_grow((void **)(void *)&(list)->array, &(list)->count, &(list)->capacity, \
                                        sizeof *(list)->array))
#define GT_GROW_BY_ONE(array, count) \
    ((__typeof__(array))gt_grow_by_one((void **)(void *)&(array), count, sizeof *(array)))

#endif
