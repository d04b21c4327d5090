/* Orders of numbers, for qsort. */
#ifndef GT_BASE_ORDER_H
#define GT_BASE_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* -1, 0 or 1, as `a` is less than, equal to or greater than `b`. A NaN is equal to all. */
#define GT_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* The first of several orders that is not 0: GT_ORDER_BY(GT_ORDER(x->node, y->node), GT_ORDER(x->time, y->time)). */
#define GT_ORDER_BY(...) gt_order_first((const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))
static inline int gt_order_first(const int order[], size_t count)
{
    size_t i = 0;
    while (i + 1 < count && !order[i])
        i++;
    return order[i];
}

/* Orders two lists of numbers by the first that differs. */
static inline int gt_order_lists(const uint32_t a[], const uint32_t b[], size_t count)
{
    size_t i = 0;
    while (i < count && a[i] == b[i])
        i++;
    return i < count ? GT_ORDER(a[i], b[i]) : 0;
}

/* For arrays of numbers, and of structures whose first member is the number. */
int gt_order_doubles(const void *a, const void *b);
int gt_order_ints(const void *a, const void *b);
int gt_order_int64s(const void *a, const void *b);

#endif
