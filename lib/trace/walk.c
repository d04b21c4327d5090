#include "trace/walk.h"

#include <errno.h>

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
