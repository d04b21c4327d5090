#include "base/number.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shortest.h"

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
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                   1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
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
        value /= power[p - point - 1];
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

static size_t special(char *text, double value)
{
    return (size_t)sprintf(text, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

/* Python writes positional notation for exponents -4 to 15, scientific beyond. */
static size_t lay_out(char *text, const char *digits, int count, int exponent, bool negative)
{
    char *out = text;
    if (negative)
        *out++ = '-';
    if (exponent < -4 || exponent >= 16) {
        *out++ = digits[0];
        if (count > 1) {
            *out++ = '.';
            memcpy(out, digits + 1, (size_t)count - 1);
            out += count - 1;
        }
        out += sprintf(out, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
        return (size_t)(out - text);
    }
    if (exponent < 0) {
        out += sprintf(out, "0.%.*s", -exponent - 1, "0000");
        memcpy(out, digits, (size_t)count);
        out += count;
    } else {
        for (int i = 0; i <= exponent || i < count; i++) {
            if (i == exponent + 1)
                *out++ = '.';
            *out++ = i < count ? digits[i] : '0';
        }
        if (count <= exponent + 1) {
            *out++ = '.';
            *out++ = '0';
        }
    }
    *out = '\0';
    return (size_t)(out - text);
}

static char *write_digits(char *out, uint64_t number, int least)
{
    char reversed[20];
    int count = 0;
    do {
        reversed[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number || count < least);
    while (count)
        *out++ = reversed[--count];
    return out;
}

/* `whole` / 10^decimals, with at least one decimal and no needless zeros. */
static size_t lay_out_fixed(char *text, uint64_t whole, int decimals, bool negative)
{
    uint64_t power = 1;
    for (int i = 0; i < decimals; i++)
        power *= 10;
    char *out = text;
    if (negative)
        *out++ = '-';
    out = write_digits(out, whole / power, 1);
    *out++ = '.';
    out = write_digits(out, whole % power, decimals);
    while (out[-1] == '0' && out[-2] != '.')
        out--;
    *out = '\0';
    return (size_t)(out - text);
}

size_t gt_number_repr(char *text, double value)
{
    if (!isfinite(value))
        return special(text, value);
    double size = fabs(value);
    if (size == floor(size) && size < 1e15)
        return lay_out_fixed(text, (uint64_t)size * 10, 1, signbit(value));
    /* A decimal that reads back as `value` and is coarser than the distance of doubles there is the shortest one:
     * nine decimals below 10^6, six below 2^33. */
    bool small = size < 1e6;
    double whole = nearbyint(size * (small ? 1e9 : 1e6));
    if (size >= 1e-4 && size < 0x1p33 && whole / (small ? 1e9 : 1e6) == size)
        return lay_out_fixed(text, (uint64_t)whole, small ? 9 : 6, signbit(value));
    char digits[GT_SHORTEST_DIGITS];
    int exponent, count = gt_shortest_digits(size, digits, &exponent);
    return lay_out(text, digits, count, exponent, signbit(value));
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
