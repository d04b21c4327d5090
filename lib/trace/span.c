/* What the spans of a walk mean: texts without escapes, decimals, numbers. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "trace/walk.h"

struct gt_span gt_span_unquoted(struct gt_span value)
{
    if (value.length >= 2 && value.text[0] == '"')
        return (struct gt_span){value.text + 1, value.length - 2};
    return value;
}

bool gt_span_has_escape(struct gt_span text)
{
    return text.length && memchr(text.text, '\\', text.length);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int hex_number(const char *at, const char *end)
{
    int value = 0;
    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

static void append_code_point(struct gt_buffer *out, unsigned code)
{
    char text[4];
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length; i-- > 1; code >>= 6)
        text[i] = (char)(0x80 | (code & 0x3f));
    text[0] = (char)(lead[length] | code);
    gt_buffer_append(out, text, length);
}

/* The escape behind "\u", with its second half; returns what follows. */
static const char *unescape_unicode(const char *at, const char *end, struct gt_buffer *out)
{
    int code = hex_number(at, end);
    if (code < 0)
        return end;
    at += 4;
    if (code >= 0xd800 && code < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
        int low = hex_number(at + 2, end);
        if (low >= 0xdc00 && low < 0xe000) {
            append_code_point(out, 0x10000U + ((unsigned)(code - 0xd800) << 10) + (unsigned)(low - 0xdc00));
            return at + 6;
        }
    }
    append_code_point(out, code >= 0xd800 && code < 0xe000 ? 0xfffd : (unsigned)code);
    return at;
}

int gt_span_unescape(struct gt_span text, struct gt_buffer *out)
{
    if (!text.length)
        return out->failed;
    const char *at = text.text, *end = text.text + text.length;
    while (at < end) {
        const char *stop = memchr(at, '\\', (size_t)(end - at));
        gt_buffer_append(out, at, (size_t)((stop ? stop : end) - at));
        if (!stop || stop + 1 == end)
            break;
        static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
        const char *known = strchr(from, stop[1]);
        at = stop + 2;
        if (stop[1] == 'u')
            at = unescape_unicode(at, end, out);
        else
            gt_buffer_char(out, known && *known ? to[known - from] : stop[1]);
    }
    return out->failed;
}

struct decimal {
    uint64_t digits;
    int64_t exponent; /* of ten */
    bool negative;
};

/* Of the digits the first 19 count; the rest only move the exponent, far below what a time can tell. */
static int read_decimal(struct gt_span text, struct decimal *ret)
{
    struct decimal decimal = {0};
    size_t at = 0;
    bool point = false, any = false;
    if (at < text.length && (text.text[at] == '-' || text.text[at] == '+'))
        decimal.negative = text.text[at++] == '-';
    for (; at < text.length; at++) {
        char c = text.text[at];
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9')
            break;
        any = true;
        if (decimal.digits <= (UINT64_MAX - 9) / 10) {
            decimal.digits = decimal.digits * 10 + (uint64_t)(c - '0');
            decimal.exponent -= point;
        } else {
            decimal.exponent += !point;
        }
    }
    if (!any)
        return -EBADMSG;
    if (at < text.length && (text.text[at] | 0x20) == 'e') {
        char exponent[24];
        int64_t value;
        snprintf(exponent, sizeof exponent, "%.*s", (int)(text.length - at - 1 < 20 ? text.length - at - 1 : 20),
                 text.text + at + 1);
        if (gt_number_i64(exponent, &value) < 0)
            return -EBADMSG;
        decimal.exponent += value > 100000 ? 100000 : value < -100000 ? -100000 : value;
        at = text.length;
    }
    *ret = decimal;
    return at == text.length ? 0 : -EBADMSG;
}

/* What nearly all numbers are: up to 18 digits, no sign, no exponent, and no more decimals than count. */
static bool read_plain(struct gt_span text, int scale, int64_t *ret)
{
    uint64_t number = 0;
    size_t at = 0, point = text.length;
    if (text.length > 18)
        return false;
    for (; at < text.length; at++) {
        unsigned digit = (unsigned char)text.text[at] - (unsigned)'0';
        if (digit <= 9)
            number = number * 10 + digit;
        else if (text.text[at] == '.' && point == text.length)
            point = at;
        else
            return false;
    }
    size_t decimals = point < text.length ? text.length - point - 1 : 0;
    if (text.length <= (point < text.length) || decimals > (size_t)scale)
        return false;
    for (size_t i = decimals; i < (size_t)scale; i++)
        if (__builtin_mul_overflow(number, 10, &number))
            return false;
    *ret = (int64_t)number;
    return number <= INT64_MAX;
}

int gt_span_decimal(struct gt_span value, int scale, int64_t *ret)
{
    struct decimal decimal;
    if (read_plain(value, scale, ret))
        return 0;
    int status = read_decimal(gt_span_unquoted(value), &decimal);
    if (status < 0)
        return status;
    uint64_t number = decimal.digits;
    int64_t exponent = decimal.exponent + scale;
    for (; exponent > 0 && number; exponent--)
        if (__builtin_mul_overflow(number, 10, &number))
            return -ERANGE;
    if (exponent < -20)
        number = 0;
    for (; exponent < 0 && number; exponent++)
        number = exponent == -1 ? number / 10 + (number % 10 >= 5) : number / 10;
    if (number > INT64_MAX)
        return -ERANGE;
    *ret = decimal.negative ? -(int64_t)number : (int64_t)number;
    return 0;
}

int gt_span_double(struct gt_span value, double *ret)
{
    char text[400];
    struct gt_span number = gt_span_unquoted(value);
    if (!number.length || number.length >= sizeof text)
        return -EBADMSG;
    memcpy(text, number.text, number.length);
    text[number.length] = '\0';
    if (gt_number_double(text, ret) >= 0)
        return 0;
    const char *word = text + (*text == '-');
    if (strcmp(word, "NaN") != 0 && strcmp(word, "nan") != 0 && strcmp(word, "Infinity") != 0 &&
        strcmp(word, "inf") != 0)
        return -EBADMSG;
    *ret = (*word | 0x20) == 'n' ? NAN : *text == '-' ? -INFINITY : INFINITY;
    return 0;
}
