/* A double is turned into the shortest decimal that reads back as it. */
#ifndef GT_BASE_SHORTEST_H
#define GT_BASE_SHORTEST_H

#define GT_SHORTEST_DIGITS 17

/* `value`, which is finite and above zero, is d.ddd * 10^*exponent. Returns the number of digits, the last of which is not 0.
 * Where several decimals of that length read back as `value`, the closest one is taken. No NUL follows the digits. */
int gt_shortest_digits(double value, char digits[GT_SHORTEST_DIGITS], int *exponent);

#endif
