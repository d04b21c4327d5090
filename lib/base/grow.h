/* Arrays that grow by doubling, and are sorted, searched and appended to in an expression. An array keeps its place and its elements when
 * memory is short. */
#ifndef GT_BASE_GROW_H
#define GT_BASE_GROW_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

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

/* Sorts an array, which may be NULL where it is empty. */
#define GT_SORT(array, count, order) ((count) ? qsort(array, count, sizeof *(array), order) : (void)0)

/* The first `i` of from..to, which are sorted, for which `is_before` is false; `to` where there is none:
 * GT_SEARCH(0, count, i, time[i] < wanted). */
#define GT_SEARCH(from, to, i, is_before)                          \
    __extension__({                                                \
        size_t found_##i = (from), end_##i = (to);                 \
        while (found_##i < end_##i) {                              \
            size_t i = found_##i + (end_##i - found_##i) / 2;      \
            if (is_before)                                         \
                found_##i = i + 1;                                 \
            else                                                   \
                end_##i = i;                                       \
        }                                                          \
        end_##i = found_##i; /* cppcheck wants to see an effect */ \
    })

/* Appends a value to what GT_GROW_LIST or GT_GROW makes longer: 0, or -ENOMEM. */
#define GT_APPEND(list, array, ...) \
    (GT_GROW_LIST(list, array) ? ((list)->array[(list)->count - 1] = (__VA_ARGS__), 0) : -ENOMEM)
#define GT_APPEND_TO(owner, array, ...) \
    (GT_GROW(owner, array) ? ((owner)->array[(owner)->array##_count - 1] = (__VA_ARGS__), 0) : -ENOMEM)

#endif
