/* Numbers as text, never through the locale. */
#ifndef GT_BASE_NUMBER_H
#define GT_BASE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#define GT_NUMBER_SIZE 32

/* The whole of `text` must be one finite number; 0, -EINVAL or -ERANGE. */
int gt_number_double(const char *text, double *ret);
int gt_number_i64(const char *text, int64_t *ret);

/* Shortest decimal text that reads back as `value`, in the form of Python's repr(): "0.1", "1e+16", "3.0",
 * "nan", "inf". Returns its length. `text` has GT_NUMBER_SIZE bytes. */
size_t gt_number_repr(char *text, double value);
/* round(value, decimals) half to even on the exact binary value, then as repr: 2.0 -> "2.0", 67.2541 -> "67.254". */
size_t gt_number_rounded(char *text, double value, int decimals);

#endif
