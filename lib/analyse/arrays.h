/* Arrays are sorted, searched and appended to in an expression. */
#ifndef GT_ANALYSE_ARRAYS_H
#define GT_ANALYSE_ARRAYS_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/grow.h"

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
