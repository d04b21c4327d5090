/* Every real number between the middles to a double's two neighbours reads back as that double. For values from about
 * 1e-11 to 1e16, scaled by a power of ten to 17 digits before the point, both middles are exact in 128 bits, and the digits
 * are found with integers alone. Other values, which are rare, go through printf and strtod. */
#include "base/shortest.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

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

int gt_shortest_digits(double value, char digits[GT_SHORTEST_DIGITS], int *exponent)
{
    int count;
    return by_integers(value, digits, exponent, &count) ? count : by_printf(value, digits, exponent);
}
