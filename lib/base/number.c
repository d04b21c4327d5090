#include "base/number.h"

#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIGITS = 17 }; /* that it takes to read back as the same double */

/* Exact: 10^22 is the last power of ten that is a double. */
static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
                              1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19};

int gt_order_doubles(const void *a, const void *b)
{
    return GT_ORDER(*(const double *)a, *(const double *)b);
}

double gt_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, gt_order_doubles);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

int gt_order_ints(const void *a, const void *b)
{
    return GT_ORDER(*(const int *)a, *(const int *)b);
}

int gt_order_int64s(const void *a, const void *b)
{
    return GT_ORDER(*(const int64_t *)a, *(const int64_t *)b);
}

static locale_t c_locale(void)
{
    static locale_t locale;
    locale_t current = __atomic_load_n(&locale, __ATOMIC_ACQUIRE);
    if (!current) {
        current = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        locale_t none = (locale_t)0;
        if (!__atomic_compare_exchange_n(&locale, &none, current, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            freelocale(current);
            current = none;
        }
    }
    return current;
}

/* Most numbers have few enough digits for one exact operation: an integer below 2^53 over a power of ten up to 10^22,
 * both exact doubles, gives the correctly rounded result (W. Clinger, "How to read floating point numbers accurately"). */
static bool read_short_decimal(const char *text, double *ret)
{
    bool negative = *text == '-';
    const char *p = text + negative, *point = NULL;
    uint64_t digits = 0;
    int count = 0;
    for (; (*p >= '0' && *p <= '9') || (*p == '.' && !point); p++) {
        if (*p == '.') {
            point = p;
        } else {
            digits = digits * 10 + (uint64_t)(*p - '0');
            if (++count > 18)
                return false;
        }
    }
    if (*p || !count || digits > UINT64_C(1) << 53)
        return false;
    double value = (double)digits;
    if (point)
        value /= tens[p - point - 1];
    *ret = negative ? -value : value;
    return true;
}

int gt_number_double(const char *text, double *ret)
{
    if (read_short_decimal(text, ret))
        return 0;
    if (text[strspn(text, "0123456789+-.eE")]) /* no blanks, hexadecimal, "nan", "inf" */
        return -EINVAL;
    char *end;
    errno = 0;
    double value = strtod_l(text, &end, c_locale());
    if (*end || end == text || !isfinite(value))
        return errno == ERANGE ? -ERANGE : -EINVAL;
    *ret = value;
    return 0;
}

int gt_number_i64(const char *text, int64_t *ret)
{
    const char *digits = *text == '-' || *text == '+' ? text + 1 : text;
    if (*digits < '0' || *digits > '9')
        return -EINVAL;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno)
        return -errno;
    if (*end)
        return -EINVAL;
    *ret = value;
    return 0;
}

static void point_for_comma(char *text)
{
    char *comma = strchr(text, ',');
    if (comma)
        *comma = '.';
}

/* `whole` / 10^decimals, with at least one decimal and no needless zeros. */
static size_t lay_out(char *text, uint64_t whole, int decimals, bool is_negative)
{
    char reversed[24] = "";
    int zeros = 0, count = 0;
    while (zeros < decimals - 1 && whole % 10 == 0) {
        whole /= 10;
        zeros++;
    }
    for (decimals -= zeros; whole || count <= decimals; whole /= 10) {
        if (count == decimals)
            reversed[count++] = '.';
        reversed[count++] = (char)('0' + whole % 10);
    }
    char *out = text;
    if (is_negative)
        *out++ = '-';
    while (count)
        *out++ = reversed[--count];
    *out = '\0';
    return (size_t)(out - text);
}

/* Writes a value from 10^-4 to 10^15 if `whole` / 10^decimals reads back as it, for a `whole` below 2^51. These decimals are farther
 * apart than doubles, so there is one at most, and the scaled value is less than 1/2 away from it. They include all of up to 15 digits.
 * Returns 0 for others. */
static size_t write_short_decimal(char *text, double size, bool is_negative)
{
    static const double most = 0x1p51;
    int decimals = 9; /* nanoseconds and bytes, in seconds and gigabytes */
    double whole = nearbyint(size * tens[decimals]);
    if (whole >= most || whole / tens[decimals] != size) {
        while (whole >= most)
            whole = nearbyint(size * tens[--decimals]);
        while (whole < most / 10)
            whole = nearbyint(size * tens[++decimals]);
    }
    return whole / tens[decimals] == size ? lay_out(text, (uint64_t)whole, decimals, is_negative) : 0;
}

size_t gt_number_repr(char *text, double value)
{
    double size = fabs(value), read;
    if (!isfinite(value))
        return (size_t)sprintf(text, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    if (size < 1e16 && size == floor(size))
        return lay_out(text, (uint64_t)size * 10, 1, signbit(value));
    bool is_usual = size >= 1e-4 && size < 1e15;
    size_t length = is_usual ? write_short_decimal(text, size, signbit(value)) : 0;
    int digits = size < DBL_MIN ? 1 : 15; /* 15 always survive in a normal number */
    for (digits = is_usual ? 16 : digits; !length; digits++) {
        bool is_last = digits == MOST_DIGITS, is_scientific = is_last && size >= 1e16;
        int written = snprintf(text, GT_NUMBER_SIZE, is_scientific ? "%.*e" : "%.*g", digits - is_scientific, value);
        point_for_comma(text);
        if (is_last || (gt_number_double(text, &read) == 0 && read == value))
            length = (size_t)written;
    }
    return length;
}

size_t gt_number_rounded(char *text, double value, int decimals)
{
    if (!isfinite(value) || fabs(value) >= 0x1p52) /* from there on all doubles are whole */
        return gt_number_repr(text, value);
    char fixed[48];
    snprintf(fixed, sizeof fixed, "%.*f", decimals, value);
    point_for_comma(fixed);
    return gt_number_repr(text, strtod_l(fixed, NULL, c_locale()));
}

int gt_number_range_next(const char **list, long *first, long *last)
{
    char *end;
    if (**list < '0' || **list > '9')
        return 0;
    *first = strtol(*list, &end, 10);
    *last = *end == '-' ? strtol(end + 1, &end, 10) : *first;
    *list = *end == ',' ? end + 1 : "";
    return 1;
}
