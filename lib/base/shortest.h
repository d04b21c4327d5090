/* The shortest decimal that reads back as a given double. */
#ifndef GT_BASE_SHORTEST_H
#define GT_BASE_SHORTEST_H

#define GT_SHORTEST_DIGITS 17

/* `value` is finite and above zero: d.ddd * 10^*exponent. Returns the number of digits, the last of which is not 0. Of all
 * decimals with that few digits that read back as `value`, it is the one closest to it. Digits are not NUL-terminated. */
int gt_shortest_digits(double value, char digits[GT_SHORTEST_DIGITS], int *exponent);

#endif
