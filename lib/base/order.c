#include "base/order.h"

int gt_order_doubles(const void *a, const void *b)
{
    return GT_ORDER(*(const double *)a, *(const double *)b);
}

int gt_order_ints(const void *a, const void *b)
{
    return GT_ORDER(*(const int *)a, *(const int *)b);
}

int gt_order_int64s(const void *a, const void *b)
{
    return GT_ORDER(*(const int64_t *)a, *(const int64_t *)b);
}
