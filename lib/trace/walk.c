#include "trace/walk.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/number.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

static void skip_blanks(struct gt_walk *walk)
{
    while (walk->at < walk->end && (*walk->at == ' ' || *walk->at == '\n' || *walk->at == '\r' || *walk->at == '\t'))
        walk->at++;
}

/* To the next quote, backslash or control character. */
static const char *plain_end(const char *at, const char *end)
{
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), last_control = _mm_set1_epi8(0x1f);
    for (; end - at >= 16; at += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, last_control), bytes);
        __m128i stop = _mm_or_si128(control,
                                    _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)));
        unsigned mask = (unsigned)_mm_movemask_epi8(stop);
        if (mask)
            return at + __builtin_ctz(mask);
    }
#endif
    while (at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= 0x20)
        at++;
    return at;
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

/* Past the closing quote; `walk->at` is behind the opening one. */
static int skip_string(struct gt_walk *walk)
{
    for (;;) {
        const char *at = plain_end(walk->at, walk->end);
        if (at == walk->end)
            return -EBADMSG;
        walk->at = at + 1;
        if (*at == '"')
            return 0;
        if (*at != '\\') {
            walk->mended = true;
            continue;
        }
        if (walk->at == walk->end)
            return -EBADMSG;
        char escaped = *walk->at++;
        if (escaped == 'u') {
            if (hex_number(walk->at, walk->end) < 0)
                return -EBADMSG;
            walk->at += 4;
        } else if (!escaped || !strchr("\"\\/bfnrt", escaped)) {
            return -EBADMSG;
        }
    }
}

static bool skip_digits(struct gt_walk *walk)
{
    const char *from = walk->at;
    while (walk->at < walk->end && *walk->at >= '0' && *walk->at <= '9')
        walk->at++;
    return walk->at > from;
}

static bool skip_word(struct gt_walk *walk, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(walk->end - walk->at) < length || memcmp(walk->at, word, length) != 0)
        return false;
    walk->at += length;
    return true;
}

static int skip_number(struct gt_walk *walk)
{
    if (walk->at < walk->end && *walk->at == '-')
        walk->at++;
    const char *digits = walk->at;
    if (!skip_digits(walk)) {
        walk->mended = true;
        bool known = skip_word(walk, "NaN") || skip_word(walk, "Infinity") || skip_word(walk, "inf") ||
                     skip_word(walk, "nan");
        return known ? 0 : -EBADMSG;
    }
    if (*digits == '0' && walk->at > digits + 1)
        return -EBADMSG;
    if (walk->at < walk->end && *walk->at == '.') {
        walk->at++;
        if (!skip_digits(walk))
            return -EBADMSG;
    }
    if (walk->at < walk->end && (*walk->at | 0x20) == 'e') {
        walk->at++;
        if (walk->at < walk->end && (*walk->at == '+' || *walk->at == '-'))
            walk->at++;
        if (!skip_digits(walk))
            return -EBADMSG;
    }
    return 0;
}

static int skip_scalar(struct gt_walk *walk)
{
    switch (*walk->at) {
    case '"': walk->at++; return skip_string(walk);
    case 't': return skip_word(walk, "true") ? 0 : -EBADMSG;
    case 'f': return skip_word(walk, "false") ? 0 : -EBADMSG;
    case 'n':
        if (skip_word(walk, "null"))
            return 0;
        return skip_number(walk);
    default: return skip_number(walk);
    }
}

/* After '{' or ',' of an object: the key and its colon. */
static int skip_key(struct gt_walk *walk, struct gt_span *key)
{
    skip_blanks(walk);
    if (walk->at == walk->end || *walk->at != '"')
        return -EBADMSG;
    const char *from = ++walk->at;
    int status = skip_string(walk);
    if (status < 0)
        return status;
    *key = (struct gt_span){from, (size_t)(walk->at - 1 - from)};
    skip_blanks(walk);
    if (walk->at == walk->end || *walk->at != ':')
        return -EBADMSG;
    walk->at++;
    skip_blanks(walk);
    return walk->at < walk->end ? 0 : -EBADMSG;
}

/* Objects and arrays, without recursion: `open` holds the closing character of each level. */
static int skip_nested(struct gt_walk *walk)
{
    char open[GT_WALK_DEPTH];
    int depth = 0;
    struct gt_span key;
    bool value = true; /* a value comes next */
    for (;;) {
        if (value && (*walk->at == '{' || *walk->at == '[')) {
            if (depth == GT_WALK_DEPTH)
                return -EBADMSG;
            open[depth++] = *walk->at == '{' ? '}' : ']';
            walk->at++;
            skip_blanks(walk);
            if (walk->at == walk->end)
                return -EBADMSG;
            value = *walk->at != open[depth - 1];
            if (value && open[depth - 1] == '}' && skip_key(walk, &key) < 0)
                return -EBADMSG;
            if (value)
                continue;
        } else if (value && skip_scalar(walk) < 0) {
            return -EBADMSG;
        }
        for (value = false; depth && !value;) {
            skip_blanks(walk);
            if (walk->at == walk->end)
                return -EBADMSG;
            char c = *walk->at++;
            if (c == open[depth - 1])
                depth--;
            else if (c != ',')
                return -EBADMSG;
            else
                value = true;
        }
        if (!depth)
            return 0;
        if (open[depth - 1] == '}' && skip_key(walk, &key) < 0)
            return -EBADMSG;
        skip_blanks(walk);
        if (walk->at == walk->end)
            return -EBADMSG;
    }
}

int gt_walk_value(struct gt_walk *walk, struct gt_span *value)
{
    const char *from = walk->at;
    int status = *from == '{' || *from == '[' ? skip_nested(walk) : skip_scalar(walk);
    *value = (struct gt_span){from, (size_t)(walk->at - from)};
    return status;
}

int gt_walk_open(struct gt_walk *walk, struct gt_span text)
{
    *walk = (struct gt_walk){.at = text.text, .end = text.text + text.length};
    skip_blanks(walk);
    if (walk->at == walk->end || (*walk->at != '{' && *walk->at != '['))
        return -EBADMSG;
    walk->at++;
    return 0;
}

/* 1 when another item follows, 0 behind the closing character. */
static int step(struct gt_walk *walk, char closing)
{
    skip_blanks(walk);
    if (walk->at == walk->end)
        return -EBADMSG;
    if (*walk->at == closing) {
        walk->at++;
        return 0;
    }
    if (walk->begun && *walk->at++ != ',')
        return -EBADMSG;
    walk->begun = true;
    return 1;
}

int gt_walk_key(struct gt_walk *walk, struct gt_span *key)
{
    int status = step(walk, '}');
    if (status <= 0)
        return status;
    status = skip_key(walk, key);
    return status < 0 ? status : 1;
}

int gt_walk_member(struct gt_walk *walk, struct gt_span *key, struct gt_span *value)
{
    int status = gt_walk_key(walk, key);
    if (status <= 0)
        return status;
    status = gt_walk_value(walk, value);
    return status < 0 ? status : 1;
}

int gt_walk_element(struct gt_walk *walk, struct gt_span *value)
{
    int status = step(walk, ']');
    if (status <= 0)
        return status;
    skip_blanks(walk);
    status = walk->at < walk->end ? gt_walk_value(walk, value) : -EBADMSG;
    return status < 0 ? status : 1;
}

bool gt_walk_at_end(struct gt_walk *walk)
{
    skip_blanks(walk);
    return walk->at == walk->end;
}

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

int gt_span_decimal(struct gt_span value, int scale, int64_t *ret)
{
    struct decimal decimal;
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
