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

#if defined(__SSE2__)
#include <emmintrin.h>

struct masks {
    uint64_t quote, backslash, open, close;
};

static uint64_t equal(const __m128i bytes[4], char c)
{
    const __m128i wanted = _mm_set1_epi8(c);
    uint64_t mask = 0;
    for (int i = 0; i < 4; i++)
        mask |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes[i], wanted)) << (16 * i);
    return mask;
}

static struct masks read_masks(const char *text)
{
    __m128i bytes[4];
    for (int i = 0; i < 4; i++)
        bytes[i] = _mm_loadu_si128((const __m128i *)(const void *)(text + (size_t)i * 16));
    return (struct masks){equal(bytes, '"'), equal(bytes, '\\'), equal(bytes, '{'), equal(bytes, '}')};
}

/* Bit i: an odd number of bits are set up to i. */
static uint64_t parity(uint64_t bits)
{
    for (int shift = 1; shift < 64; shift *= 2)
        bits ^= bits << shift;
    return bits;
}

size_t gt_scan_object_end(const char *text, size_t from, size_t length)
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
        uint64_t string = parity(masks.quote) ^ (state.in_string ? UINT64_MAX : 0);
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

#else

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
