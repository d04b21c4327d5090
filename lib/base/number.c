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

/* A double is turned into the shortest decimal that reads back as it. */

#define GT_SHORTEST_DIGITS 17

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

/* Every real number between the middles to a double's two neighbours reads back as that double. For values from about
 * 1e-11 to 1e16, scaled by a power of ten to 17 digits before the point, both middles are exact in 128 bits, and the digits
 * are found with integers alone. Other values, which are rare, go through printf and strtod. */

__extension__ typedef unsigned __int128 wide;

/* A double as fraction * 2^exponent. */
struct binary {
    uint64_t fraction;
    int exponent;
    bool is_power; /* of two: the neighbour below is only half as far as the one above */
};

static struct binary split(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int biased = (int)(bits >> 52);
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    if (biased == 0)
        return (struct binary){fraction, -1074, false};
    return (struct binary){fraction | (UINT64_C(1) << 52), biased - 1075, fraction == 0 && biased > 1};
}

/* What reads back as the value, in units of 2^-shift. */
struct interval {
    wide low, middle, high;
    int shift;
    bool closed; /* ends included: reading rounds half to even */
};

/* 5^27 is the largest power of five below 2^63, and a fraction of 55 bits times that fits. */
enum { LEAST_SCALE = 1, MOST_SCALE = 27 };

static bool scale(struct binary binary, int power_of_ten, struct interval *ret)
{
    if (power_of_ten < LEAST_SCALE || power_of_ten > MOST_SCALE)
        return false;
    uint64_t five = 1;
    for (int i = 0; i < power_of_ten; i++)
        five *= 5;
    int shift = 2 - binary.exponent - power_of_ten;
    if (shift < 1)
        return false;
    uint64_t middle = binary.fraction * 4;
    *ret = (struct interval){
        .low = (wide)(middle - (binary.is_power ? 1 : 2)) * five,
        .middle = (wide)middle * five,
        .high = (wide)(middle + 2) * five,
        .shift = shift,
        .closed = binary.fraction % 2 == 0,
    };
    return true;
}

/* The multiple of `unit` inside the interval that is closest to its middle; false when there is none. `below` * unit is
 * the largest multiple that is not above the middle. */
static bool closest(const struct interval *interval, uint64_t below, uint64_t unit, uint64_t *ret)
{
    wide down = (wide)(below * unit) << interval->shift;
    wide up = (wide)((below + 1) * unit) << interval->shift;
    bool down_fits = interval->closed ? down >= interval->low : down > interval->low;
    bool up_fits = interval->closed ? up <= interval->high : up < interval->high;
    if (!down_fits && !up_fits)
        return false;
    wide to_down = interval->middle - down, to_up = up - interval->middle;
    bool prefer_up = to_up < to_down || (to_up == to_down && below % 2 == 1);
    *ret = below + (up_fits && (!down_fits || prefer_up));
    return true;
}

/* `number` is not 0. The count without zeros at the end is returned, the one with them is in *digit_count. */
static int write_decimal(uint64_t number, char digits[GT_SHORTEST_DIGITS], int *digit_count)
{
    char reversed[20];
    int count = 0;
    do
        reversed[count++] = (char)('0' + number % 10);
    while (number /= 10);
    *digit_count = count;
    int zeros = 0;
    while (reversed[zeros] == '0')
        zeros++;
    for (int i = 0; i < count - zeros; i++)
        digits[i] = reversed[count - 1 - i];
    return count - zeros;
}

static bool by_integers(double value, char digits[GT_SHORTEST_DIGITS], int *exponent, int *count)
{
    const uint64_t least = UINT64_C(10000000000000000); /* 10^16 */
    struct binary binary = split(value);
    struct interval interval;
    int power = 16 - (int)floor((binary.exponent + 52) * 0.30102999566398120);
    if (!scale(binary, power, &interval))
        return false;
    uint64_t whole = (uint64_t)(interval.middle >> interval.shift);
    if (whole >= least * 10) { /* the estimate looks at the power of two alone */
        power--;
        if (!scale(binary, power, &interval))
            return false;
        whole = (uint64_t)(interval.middle >> interval.shift);
    }
    uint64_t unit = 1, found = 0, candidate;
    int dropped = -1;
    for (; unit <= least && closest(&interval, whole, unit, &candidate); unit *= 10, whole /= 10) {
        found = candidate;
        dropped++;
    }
    int written;
    *count = write_decimal(found, digits, &written);
    *exponent = written - 1 + dropped - power;
    return true;
}

static bool reads_back(double value, const char *digits, int count, int exponent)
{
    char text[48];
    double read;
    snprintf(text, sizeof text, "%.*se%d", count, digits, exponent - (count - 1));
    return gt_number_double(text, &read) == 0 && read == value;
}

/* The next larger decimal with as many digits. */
static void step_up(char *digits, int count, int *exponent)
{
    int i = count - 1;
    while (i >= 0 && digits[i] == '9')
        digits[i--] = '0';
    if (i >= 0) {
        digits[i]++;
        return;
    }
    digits[0] = '1';
    ++*exponent;
}

static int by_printf(double value, char digits[GT_SHORTEST_DIGITS], int *exponent)
{
    bool is_power = split(value).is_power;
    int count = value < DBL_MIN ? 1 : 15; /* 15 digits always survive, but for subnormal numbers */
    for (;; count++) {
        char text[48];
        snprintf(text, sizeof text, "%.*e", count - 1, value);
        int found = 0;
        char *p = text;
        for (; *p != 'e'; p++)
            if (*p >= '0' && *p <= '9')
                digits[found++] = *p;
        *exponent = atoi(p + 1);
        if (count == GT_SHORTEST_DIGITS || reads_back(value, digits, count, *exponent))
            break;
        /* Below a power of two the closest decimal may be too far, and a farther one above still be right. */
        if (is_power) {
            step_up(digits, count, exponent);
            if (reads_back(value, digits, count, *exponent))
                break;
        }
    }
    while (count > 1 && digits[count - 1] == '0')
        count--;
    return count;
}

/* `value`, which is finite and above zero, is d.ddd * 10^*exponent. Returns the number of digits, the last of which is not 0.
 * Where several decimals of that length read back as `value`, the closest one is taken. No NUL follows the digits. */
static int shortest_digits(double value, char digits[GT_SHORTEST_DIGITS], int *exponent)
{
    int count;
    return by_integers(value, digits, exponent, &count) ? count : by_printf(value, digits, exponent);
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
    int exponent, count = shortest_digits(size, digits, &exponent);
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
