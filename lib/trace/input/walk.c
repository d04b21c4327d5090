#include "trace/input/walk.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/number.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* The functions below take the place in the text and return the one behind what they read, or NULL where it is not what
 * it should be: a place that is passed on stays in a register, and walking is one long chain of such places. */

static inline const char *blank_end(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
}

/* To the next quote, backslash or control character. */
static inline const char *plain_end(const char *at, const char *end)
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

static bool has_hex_digits(const char *at, const char *end)
{
    for (int i = 0; i < 4; i++)
        if (at + i >= end || !((at[i] >= '0' && at[i] <= '9') || ((at[i] | 0x20) >= 'a' && (at[i] | 0x20) <= 'f')))
            return false;
    return true;
}

/* A string with escapes or control characters, of which `at` is the first. */
__attribute__((noinline)) static const char *odd_string_end(const char *at, const char *end, bool *mended)
{
    for (;; at = plain_end(at, end)) {
        if (at == end)
            return NULL;
        if (*at == '"')
            return at + 1;
        if (*at++ != '\\') {
            *mended = true;
            continue;
        }
        if (at == end || !*at || !strchr("\"\\/bfnrtu", *at))
            return NULL;
        if (*at++ != 'u')
            continue;
        if (!has_hex_digits(at, end))
            return NULL;
        at += 4;
    }
}

/* Behind the closing quote; `at` is behind the opening one. */
static inline const char *string_end(const char *at, const char *end, bool *mended)
{
    at = plain_end(at, end);
    return at < end && *at == '"' ? at + 1 : odd_string_end(at, end, mended);
}

static const char *word_end(const char *at, const char *end, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(end - at) >= length && memcmp(at, word, length) == 0 ? at + length : NULL;
}

static const char *odd_number_end(const char *at, const char *end, bool *mended)
{
    static const char *const words[] = {"NaN", "Infinity", "inf", "nan"};
    *mended = true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (word_end(at, end, words[i]))
            return at + strlen(words[i]);
    return NULL;
}

static inline const char *digits_end(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

/* Behind at least one digit. */
static inline const char *some_digits_end(const char *at, const char *end)
{
    const char *behind = digits_end(at, end);
    return behind > at ? behind : NULL;
}

static const char *number_end(const char *at, const char *end, bool *mended)
{
    at += at < end && *at == '-';
    const char *digits = at;
    at = digits_end(at, end);
    if (at == digits)
        return odd_number_end(at, end, mended);
    if (*digits == '0' && at > digits + 1)
        return NULL;
    if (at < end && *at == '.' && !(at = some_digits_end(at + 1, end)))
        return NULL;
    if (at < end && (*at | 0x20) == 'e') {
        at++;
        at += at < end && (*at == '+' || *at == '-');
        at = some_digits_end(at, end);
    }
    return at;
}

static inline const char *scalar_end(const char *at, const char *end, bool *mended)
{
    const char *behind;
    switch (*at) {
    case '"': return string_end(at + 1, end, mended);
    case 't': return word_end(at, end, "true");
    case 'f': return word_end(at, end, "false");
    case 'n': behind = word_end(at, end, "null"); return behind ? behind : number_end(at, end, mended);
    default: return number_end(at, end, mended);
    }
}

/* After '{' or ',' of an object: the key and its colon; where its value begins. */
static inline const char *key_end(const char *at, const char *end, struct gt_span *key, bool *mended)
{
    at = blank_end(at, end);
    if (at == end || *at != '"')
        return NULL;
    const char *from = at + 1;
    at = string_end(from, end, mended);
    if (!at)
        return NULL;
    *key = (struct gt_span){from, (size_t)(at - 1 - from)};
    at = blank_end(at, end);
    if (at == end || *at != ':')
        return NULL;
    at = blank_end(at + 1, end);
    return at < end ? at : NULL;
}

/* Behind what follows a value: the ',' before the next of the innermost that is open, or all that ends here. */
static inline const char *comma_end(const char *at, const char *end, const char *open, int *depth)
{
    while (*depth) {
        at = blank_end(at, end);
        if (at == end)
            return NULL;
        if (*at == ',')
            return at + 1;
        if (*at++ != open[*depth - 1])
            return NULL;
        --*depth;
    }
    return at;
}

/* Objects and arrays, without recursion: `open` holds the closing character of each level. */
static const char *nested_end(const char *at, const char *end, bool *mended)
{
    char open[GT_WALK_DEPTH];
    int depth = 0;
    struct gt_span key;
    do {
        bool is_empty = false; /* `at` is where a value begins */
        if (*at == '{' || *at == '[') {
            if (depth == GT_WALK_DEPTH)
                return NULL;
            open[depth++] = *at == '{' ? '}' : ']';
            at = blank_end(at + 1, end);
            if (at == end)
                return NULL;
            is_empty = *at == open[depth - 1];
        } else {
            at = scalar_end(at, end, mended);
            if (!at)
                return NULL;
            is_empty = true;
        }
        if (is_empty)
            at = comma_end(at, end, open, &depth);
        if (at && depth)
            at = open[depth - 1] == '}' ? key_end(at, end, &key, mended) : blank_end(at, end);
        if (!at || (depth && at == end))
            return NULL;
    } while (depth);
    return at;
}

static inline const char *value_end(const char *at, const char *end, bool *mended)
{
    return *at == '{' || *at == '[' ? nested_end(at, end, mended) : scalar_end(at, end, mended);
}

int gt_walk_value(struct gt_walk *walk, struct gt_span *value)
{
    const char *from = walk->at, *at = value_end(from, walk->end, &walk->mended);
    if (!at)
        return -EBADMSG;
    *value = (struct gt_span){from, (size_t)(at - from)};
    walk->at = at;
    return 0;
}

int gt_walk_open(struct gt_walk *walk, struct gt_span text)
{
    *walk = (struct gt_walk){.at = text.text, .end = text.text + text.length};
    walk->at = blank_end(walk->at, walk->end);
    if (walk->at == walk->end || (*walk->at != '{' && *walk->at != '['))
        return -EBADMSG;
    walk->at++;
    return 0;
}

/* Where the next item begins, or the closing character stands; NULL for neither. */
static inline const char *item_begin(struct gt_walk *walk, char closing, bool *is_closed)
{
    const char *at = blank_end(walk->at, walk->end);
    if (at == walk->end)
        return NULL;
    *is_closed = *at == closing;
    if (*is_closed)
        return at;
    if (walk->begun)
        return *at == ',' ? at + 1 : NULL;
    walk->begun = true;
    return at;
}

/* Both in one, so that the place stays in a register. `value` may be NULL: `walk->at` then stands on it. */
static inline int next_member(struct gt_walk *walk, struct gt_span *key, struct gt_span *value)
{
    bool is_closed;
    const char *at = item_begin(walk, '}', &is_closed);
    if (at && is_closed) {
        walk->at = at + 1;
        return 0;
    }
    at = at ? key_end(at, walk->end, key, &walk->mended) : NULL;
    const char *behind = at && value ? value_end(at, walk->end, &walk->mended) : at;
    if (!behind)
        return -EBADMSG;
    if (value)
        *value = (struct gt_span){at, (size_t)(behind - at)};
    walk->at = behind;
    return 1;
}

int gt_walk_key(struct gt_walk *walk, struct gt_span *key)
{
    return next_member(walk, key, NULL);
}

int gt_walk_member(struct gt_walk *walk, struct gt_span *key, struct gt_span *value)
{
    return next_member(walk, key, value);
}

int gt_walk_element(struct gt_walk *walk, struct gt_span *value)
{
    bool is_closed;
    const char *at = item_begin(walk, ']', &is_closed);
    if (at && is_closed) {
        walk->at = at + 1;
        return 0;
    }
    at = at ? blank_end(at, walk->end) : NULL;
    if (!at || at == walk->end)
        return -EBADMSG;
    walk->at = at;
    int status = gt_walk_value(walk, value);
    return status < 0 ? status : 1;
}

bool gt_walk_at_end(struct gt_walk *walk)
{
    walk->at = blank_end(walk->at, walk->end);
    return walk->at == walk->end;
}

/* ---- the meaning of spans: texts without escapes, decimals, numbers ---- */

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

/* The first 19 digits count; the rest only move the exponent, far below what a time can tell. */
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

/* Nearly all numbers have up to 18 digits, no sign, no exponent, and no more decimals than count. */
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

int gt_span_plain(struct gt_span *text, struct gt_buffer *scratch)
{
    if (!text->text || !gt_span_has_escape(*text))
        return 0;
    gt_buffer_clear(scratch);
    int status = gt_span_unescape(*text, scratch);
    *text = (struct gt_span){scratch->data, scratch->length};
    return status;
}

void gt_span_quote(struct gt_buffer *out, struct gt_span text)
{
    char *copy = strndup(text.length ? text.text : "", text.length);
    if (copy)
        gt_json_quote(out, copy);
    else
        out->failed = -ENOMEM;
    free(copy);
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

void gt_find_members(struct gt_span object, const struct gt_wanted_member *wanted, size_t count)
{
    struct gt_walk walk;
    struct gt_span key, value;
    if (!object.text || !object.length || *object.text != '{' || gt_walk_open(&walk, object) < 0)
        return;
    while (gt_walk_member(&walk, &key, &value) > 0)
        for (size_t i = 0; i < count; i++)
            if (gt_span_is(key, wanted[i].key))
                *wanted[i].to = value;
}

bool gt_open_list(struct gt_walk *walk, struct gt_span list)
{
    return list.text && list.length && *list.text == '[' && gt_walk_open(walk, list) >= 0;
}

struct gt_walk gt_walk_list(struct gt_span list)
{
    struct gt_walk walk;
    if (!gt_open_list(&walk, list))
        gt_walk_open(&walk, gt_span_of("[]"));
    return walk;
}
