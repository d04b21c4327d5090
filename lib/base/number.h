/* Numbers are read from text and written as text without regard to the locale. */
#ifndef GT_BASE_NUMBER_H
#define GT_BASE_NUMBER_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define GT_NUMBER_SIZE 32

/* Read `text`, all of which must be one finite number. Returns 0, -EINVAL or -ERANGE. */
int gt_number_double(const char *text, double *ret);
int gt_number_i64(const char *text, int64_t *ret);

/* Write the shortest decimal that reads back as `value`, as Python's repr() does: "0.1", "1e+16", "3.0", "nan", "inf". A power of
 * two may have one digit more. `text` has GT_NUMBER_SIZE bytes. Returns the length. */
size_t gt_number_repr(char *text, double value);
/* Write Python's round(value, decimals), which rounds the exact binary value, half to even: 2.0 -> "2.0", 67.2541 ->
 * "67.254". Returns the length. */
size_t gt_number_rounded(char *text, double value, int decimals);

/* The whole number behind blanks, and the place behind its digits; without one 0, and the place stays. Files of the kernel's have
 * many, which strtoull reads slower. */
static inline unsigned long long gt_number_next(const char **text)
{
    const char *at = *text;
    unsigned long long value = 0;
    while (*at == ' ')
        at++;
    for (; *at >= '0' && *at <= '9'; *text = ++at)
        value = value * 10 + (unsigned)(*at - '0');
    return value;
}

/* Read the next range of a list such as "0-3,8", and go behind it; 8 is the range from 8 to 8. Returns 1, or 0 at the end. */
int gt_number_range_next(const char **list, long *first, long *last);

/* Adds to a sum that is NaN while nothing is known. A value of NaN adds nothing. */
static inline void gt_add_known(double *sum, double value)
{
    if (!isnan(value))
        *sum = (isnan(*sum) ? 0 : *sum) + value;
}

/* Orders for qsort: -1, 0 or 1, as `a` is less than, equal to or greater than `b`. A NaN is equal to all. */
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
/* Returns the median of at least one number, and sorts them. */
double gt_median(double *values, size_t count);
int gt_order_ints(const void *a, const void *b);
int gt_order_int64s(const void *a, const void *b);

#endif
