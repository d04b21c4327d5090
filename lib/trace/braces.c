/* Where an object ends: 64 bytes at a time, as bits. Strings are found by the parity of quotes before each byte, as in
 * G. Langdale and D. Lemire, "Parsing Gigabytes of JSON per Second" (2019); blocks with backslashes are read a byte at
 * a time. */
#include "trace/scan.h"

struct state {
    bool in_string, escaped;
    size_t depth;
};

/* The place behind the closing brace, or 0. */
static size_t read_bytes(struct state *state, const char *text, size_t from, size_t to)
{
    for (size_t at = from; at < to; at++) {
        char c = text[at];
        if (state->in_string) {
            if (state->escaped)
                state->escaped = false;
            else if (c == '\\')
                state->escaped = true;
            else if (c == '"')
                state->in_string = false;
        } else if (c == '"') {
            state->in_string = true;
        } else if (c == '{') {
            state->depth++;
        } else if (c == '}' && --state->depth == 0) {
            return at + 1;
        }
    }
    return 0;
}

size_t gt_scan_object_end_plain(const char *text, size_t from, size_t length)
{
    struct state state = {0};
    return read_bytes(&state, text, from, length);
}

#if defined(__x86_64__)
#include <immintrin.h>

struct masks {
    uint64_t quote, backslash, open, close;
    uint64_t string; /* an odd number of quotes stands up to here */
};

/* What is the same for every kind of processor, put into each of the two functions below. */
static inline __attribute__((always_inline)) size_t object_end(const char *text, size_t from, size_t length,
                                                               struct masks (*read_masks)(const char *))
{
    struct state state = {0};
    for (size_t at = from; at < length; at += 64) {
        struct masks masks = read_masks(text + at);
        if (masks.backslash || state.escaped || length - at < 64) {
            size_t end = read_bytes(&state, text, at, length - at < 64 ? length : at + 64);
            if (end)
                return end;
            continue;
        }
        uint64_t string = masks.string ^ (state.in_string ? UINT64_MAX : 0);
        uint64_t braces = (masks.open | masks.close) & ~string;
        state.in_string = string >> 63;
        for (; braces; braces &= braces - 1) {
            if (masks.open & braces & -braces)
                state.depth++;
            else if (--state.depth == 0)
                return at + (size_t)__builtin_ctzll(braces) + 1;
        }
    }
    return 0;
}

static inline __attribute__((always_inline)) uint64_t equal(const __m128i bytes[4], char c)
{
    const __m128i wanted = _mm_set1_epi8(c);
    uint64_t mask = 0;
    for (int i = 0; i < 4; i++)
        mask |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes[i], wanted)) << (16 * i);
    return mask;
}

static inline __attribute__((always_inline)) struct masks read_masks(const char *text)
{
    __m128i bytes[4];
    for (int i = 0; i < 4; i++)
        bytes[i] = _mm_loadu_si128((const __m128i *)(const void *)(text + (size_t)i * 16));
    uint64_t quote = equal(bytes, '"'), string = quote;
    for (int shift = 1; shift < 64; shift *= 2)
        string ^= string << shift;
    return (struct masks){quote, equal(bytes, '\\'), equal(bytes, '{'), equal(bytes, '}'), string};
}

#define WIDE __attribute__((target("avx2,pclmul,bmi")))

WIDE static inline __attribute__((always_inline)) uint64_t equal_wide(__m256i low, __m256i high, char c)
{
    const __m256i wanted = _mm256_set1_epi8(c);
    return (uint64_t)(unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted)) |
           (uint64_t)(unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted)) << 32;
}

/* Multiplication without carries by all ones is the parity of the bits up to each. */
WIDE static inline __attribute__((always_inline)) struct masks read_masks_wide(const char *text)
{
    __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)text);
    __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(text + 32));
    uint64_t quote = equal_wide(low, high, '"');
    __m128i parity = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)quote), _mm_set1_epi8(-1), 0);
    return (struct masks){quote, equal_wide(low, high, '\\'), equal_wide(low, high, '{'), equal_wide(low, high, '}'),
                          (uint64_t)_mm_cvtsi128_si64(parity)};
}

WIDE static size_t object_end_wide(const char *text, size_t from, size_t length)
{
    return object_end(text, from, length, read_masks_wide);
}

size_t gt_scan_object_end_narrow(const char *text, size_t from, size_t length)
{
    return object_end(text, from, length, read_masks);
}

size_t gt_scan_object_end(const char *text, size_t from, size_t length)
{
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("bmi"))
        return object_end_wide(text, from, length);
    return gt_scan_object_end_narrow(text, from, length);
}

#else

size_t gt_scan_object_end_narrow(const char *text, size_t from, size_t length)
{
    return gt_scan_object_end_plain(text, from, length);
}

size_t gt_scan_object_end(const char *text, size_t from, size_t length)
{
    return gt_scan_object_end_plain(text, from, length);
}

#endif

static size_t blanks(const char *text, size_t at, size_t length)
{
    while (at < length && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t'))
        at++;
    return at;
}

size_t gt_scan_resume(const char *text, size_t from, size_t length)
{
    for (size_t at = from; at < length; at++) {
        const char *brace = memchr(text + at, '}', length - at);
        if (!brace)
            return 0;
        at = (size_t)(brace - text);
        size_t next = blanks(text, at + 1, length);
        if (next == length || text[next] != ',')
            continue;
        next = blanks(text, next + 1, length);
        if (next == length || text[next] != '{')
            continue;
        size_t quote = blanks(text, next + 1, length);
        if (quote < length && text[quote] == '"')
            return next;
    }
    return 0;
}
