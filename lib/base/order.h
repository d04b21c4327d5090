/* Orders of numbers, for qsort. */
#ifndef GT_BASE_ORDER_H
#define GT_BASE_ORDER_H

/* -1, 0 or 1, as `a` is less than, equal to or greater than `b`. A NaN is equal to all. */
#define GT_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* For arrays of numbers, and of structures whose first member is the number. */
int gt_order_doubles(const void *a, const void *b);
int gt_order_ints(const void *a, const void *b);
int gt_order_int64s(const void *a, const void *b);

#endif
