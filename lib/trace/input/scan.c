#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "trace/input/scan.h"
#include "trace/input/torn.h"

/* ---- where an object ends ---- 64 bytes at a time, as bits. Strings are found by the parity of quotes before each
 * byte, as in G. Langdale and D. Lemire, "Parsing Gigabytes of JSON per Second" (2019); blocks with backslashes are
 * read a byte at a time. */

struct state {
    bool in_string, escaped;
    size_t depth;
};

/* A string begins behind one of these, or where quotes have gone wrong. */
static const bool is_before_string[256] = {
    ['{'] = true, ['['] = true, [','] = true, [':'] = true, [' '] = true, ['\n'] = true, ['\r'] = true, ['\t'] = true};

/* The place behind the closing brace, 0 when there is none, NO_JSON where a string cannot begin. */
#define NO_JSON SIZE_MAX
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
            if (!at || !is_before_string[(unsigned char)text[at - 1]])
                return NO_JSON;
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
    size_t end = read_bytes(&state, text, from, length);
    return end == NO_JSON ? 0 : end;
}

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>

struct masks {
    uint64_t quote, backslash, open, close;
    uint64_t before; /* what a string may begin behind: is_before_string */
    uint64_t string; /* an odd number of quotes stands up to here */
};

/* The first of the begins of strings in a block that cannot be one; 64 when all can. */
static inline unsigned bad_quote(const char *text, size_t block, uint64_t begins, uint64_t before)
{
    uint64_t can_begin = before << 1 | (block && is_before_string[(unsigned char)text[block - 1]]);
    return begins & ~can_begin ? (unsigned)__builtin_ctzll(begins & ~can_begin) : 64;
}

/* This is the same for every kind of processor, and is put into each of the two functions below. */
static inline __attribute__((always_inline)) size_t object_end(const char *text, size_t from, size_t length,
                                                               struct masks (*read_masks)(const char *))
{
    struct state state = {0};
    for (size_t at = from; at < length; at += 64) {
        struct masks masks = read_masks(text + at);
        if (masks.backslash || state.escaped || length - at < 64) {
            size_t end = read_bytes(&state, text, at, length - at < 64 ? length : at + 64);
            if (end)
                return end == NO_JSON ? 0 : end;
            continue;
        }
        uint64_t string = masks.string ^ (state.in_string ? UINT64_MAX : 0);
        unsigned bad = bad_quote(text, at, masks.quote & string, masks.before);
        uint64_t braces = (masks.open | masks.close) & ~string;
        state.in_string = string >> 63;
        for (; braces; braces &= braces - 1) {
            if ((unsigned)__builtin_ctzll(braces) > bad)
                return 0;
            if (masks.open & braces & -braces)
                state.depth++;
            else if (--state.depth == 0)
                return at + (size_t)__builtin_ctzll(braces) + 1;
        }
        if (bad < 64)
            return 0;
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
    uint64_t open = equal(bytes, '{'),
             blank = equal(bytes, ' ') | equal(bytes, '\n') | equal(bytes, '\r') | equal(bytes, '\t');
    return (struct masks){quote,
                          equal(bytes, '\\'),
                          open,
                          equal(bytes, '}'),
                          open | blank | equal(bytes, '[') | equal(bytes, ',') | equal(bytes, ':'),
                          string};
}

#define WIDE __attribute__((target("avx2,pclmul,bmi")))

WIDE static inline __attribute__((always_inline)) uint64_t equal_wide(__m256i low, __m256i high, char c)
{
    const __m256i wanted = _mm256_set1_epi8(c);
    return (uint64_t)(unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted)) |
           (uint64_t)(unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted)) << 32;
}

/* The table has, at the lower four bits of each character that is wanted, the character. */
WIDE static inline __attribute__((always_inline)) uint64_t listed_wide(__m256i low, __m256i high, __m128i list)
{
    const __m256i table = _mm256_broadcastsi128_si256(list);
    low = _mm256_cmpeq_epi8(_mm256_shuffle_epi8(table, low), low);
    high = _mm256_cmpeq_epi8(_mm256_shuffle_epi8(table, high), high);
    return (uint64_t)(unsigned)_mm256_movemask_epi8(low) | (uint64_t)(unsigned)_mm256_movemask_epi8(high) << 32;
}

/* Multiplication without carries by all ones is the parity of the bits up to each. */
WIDE static inline __attribute__((always_inline)) struct masks read_masks_wide(const char *text)
{
    __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)text);
    __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(text + 32));
    uint64_t quote = equal_wide(low, high, '"');
    __m128i parity = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)quote), _mm_set1_epi8(-1), 0);
    const __m128i first = _mm_setr_epi8(' ', -1, -1, -1, -1, -1, -1, -1, -1, '\t', '\n', '{', ',', '\r', -1, -1);
    const __m128i second = _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, ':', '[', -1, -1, -1, -1);
    return (struct masks){quote,
                          equal_wide(low, high, '\\'),
                          equal_wide(low, high, '{'),
                          equal_wide(low, high, '}'),
                          listed_wide(low, high, first) | listed_wide(low, high, second),
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

/* The processor has AVX2, PCLMULQDQ and BMI1, and the kernel keeps the wide registers. */
static bool ask_processor(void)
{
    enum { SSE_AND_AVX = 6 };
    unsigned eax, ebx, ecx, edx, state, upper;
    const unsigned leaf_1 = bit_PCLMUL | bit_OSXSAVE | bit_AVX, leaf_7 = bit_AVX2 | bit_BMI;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (ecx & leaf_1) != leaf_1)
        return false;
    __asm__("xgetbv" : "=a"(state), "=d"(upper) : "c"(0));
    return (state & SSE_AND_AVX) == SSE_AND_AVX && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) &&
           (ebx & leaf_7) == leaf_7;
}

/* Asked when the first trace is read, and once: a virtual machine makes it slow. The compiler's own way asks as each program starts. */
static bool has_wide(void)
{
    enum { UNKNOWN, NARROW, IS_WIDE };
    static atomic_int known;
    int width = atomic_load_explicit(&known, memory_order_relaxed);
    if (width == UNKNOWN)
        atomic_store_explicit(&known, width = ask_processor() ? IS_WIDE : NARROW, memory_order_relaxed);
    return width == IS_WIDE;
}

size_t gt_scan_object_end(const char *text, size_t from, size_t length)
{
    if (has_wide())
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

/* ---- cutting ---- */

enum { DEFAULT_BLOCK = 256 * 1024 }; /* with what is made of it, it stays in a core's cache */
enum { LONG_EVENT = 8192 };          /* few are longer, unless they were torn off */
/* Text that is looked at again after damage is work without progress: no more than this for one file. */
#define RESCAN_BUDGET (UINT64_C(4) << 30)

enum place { AT_START, AMONG_MEMBERS, IN_EVENTS, IN_SKIPPED_MEMBER, BEHIND };

struct gt_scan {
    struct gt_input *input;
    enum gt_scan_form form;
    size_t block;
    enum place place;
    bool in_object, at_end; /* the events are a member of an object; the input has ended */
    bool has_list;
    bool skip_string, skip_escaped;
    size_t skip_depth;
    uint64_t bytes, rescanned;
    char *rest; /* the begin of what was not yet cut */
    size_t rest_length, rest_capacity;
};

int gt_scan_open(struct gt_scan **ret, struct gt_input *input, enum gt_scan_form form, size_t block)
{
    struct gt_scan *scan = calloc(1, sizeof *scan);
    if (!scan)
        return -ENOMEM;
    scan->input = input;
    scan->form = form;
    scan->block = block ? block : DEFAULT_BLOCK;
    *ret = scan;
    return 0;
}

uint64_t gt_scan_bytes(const struct gt_scan *scan)
{
    return scan->bytes;
}

bool gt_scan_has_list(const struct gt_scan *scan)
{
    return scan->has_list;
}

void gt_scan_close(struct gt_scan *scan)
{
    if (!scan)
        return;
    free(scan->rest);
    free(scan);
}

void gt_batch_release(struct gt_batch *batch)
{
    free(batch->text);
    free(batch->entry);
    *batch = (struct gt_batch){0};
}

static int reserve(char **text, size_t *capacity, size_t wanted)
{
    return GT_GROW_TO(*text, *capacity, wanted + GT_SCAN_PAD);
}

/* Bring the batch's text to `wanted` bytes, or to the end of the input. */
static int fill(struct gt_scan *scan, struct gt_batch *batch, size_t wanted, struct gt_error *error)
{
    if (reserve(&batch->text, &batch->capacity, wanted) < 0)
        return gt_error_system(error, ENOMEM, "reading a trace");
    if (wanted > batch->length && !scan->at_end) {
        ssize_t got = gt_input_read(scan->input, batch->text + batch->length, wanted - batch->length, error);
        if (got < 0)
            return (int)got;
        scan->at_end = (size_t)got < wanted - batch->length;
        batch->length += (size_t)got;
        scan->bytes += (uint64_t)got;
    }
    memset(batch->text + batch->length, 0, GT_SCAN_PAD);
    return 0;
}

static bool parts_values(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == ',';
}

static size_t skip_blanks(const struct gt_batch *batch, size_t at)
{
    while (at < batch->length && parts_values(batch->text[at]))
        at++;
    return at;
}

static void lose(struct gt_batch *batch, size_t at, size_t length, bool is_event)
{
    batch->damage.lost_bytes += length;
    batch->damage.bad_events += is_event;
    gt_damage_note(&batch->damage, batch->offset + at,
                   is_event ? "an event without an end" : "text that is not an event");
}

/* Text that is no event is left out word by word, so that blanks count nowhere, wherever blocks end. */
static size_t word_end(const struct gt_batch *batch, size_t at, const char *stops)
{
    while (at < batch->length && !strchr(stops, batch->text[at]) && !strchr(" ,\n\r\t", batch->text[at]))
        at++;
    return at;
}

/* How a cutting step ended. */
enum outcome { WENT_ON, NEEDS_MORE, FAILED };

static enum outcome add_entry(struct gt_batch *batch, struct gt_scan_entry entry)
{
    if (batch->count == batch->entries && GT_GROW_TO(batch->entry, batch->entries, batch->count + 1) < 0)
        return FAILED;
    batch->entry[batch->count++] = entry;
    return WENT_ON;
}

/* An event, or a line. */
static enum outcome add_event(struct gt_batch *batch, size_t *at, size_t end)
{
    struct gt_scan_entry entry = {.key_length = SIZE_MAX, .value = *at, .value_length = end - *at};
    *at = end;
    return add_entry(batch, entry);
}

/* An event that never ends is left out, up to the next. */
static enum outcome leave_out(struct gt_scan *scan, struct gt_batch *batch, size_t *at)
{
    size_t left = batch->length - *at, end, next = 0;
    uint64_t torn = 0;
    if (scan->rescanned < RESCAN_BUDGET)
        next = gt_torn_next(batch->text, *at + 1, batch->length, scan->at_end, &end, &torn);
    bool is_known = next && next != GT_TORN_UNKNOWN;
    if (!is_known && !scan->at_end && left < GT_SCAN_EVENT_CEILING)
        return NEEDS_MORE;
    next = is_known ? next : 0;
    batch->damage.cut_off |= scan->at_end && !next;
    scan->rescanned += next ? next - *at : left;
    if (!next)
        next = batch->length;
    lose(batch, *at, next - *at, true);
    batch->damage.bad_events += torn;
    *at = next;
    return WENT_ON;
}

/* An event that is long, or was torn off: looked at in order. */
static enum outcome cut_long_event(struct gt_scan *scan, struct gt_batch *batch, size_t *at)
{
    size_t left = batch->length - *at;
    struct gt_torn_look look = gt_torn_look_at(batch->text, *at, batch->length);
    if (look.end && look.end - *at <= GT_SCAN_EVENT_CEILING)
        return add_event(batch, at, look.end);
    bool may_end = !look.end && !look.is_torn && !scan->at_end && left < GT_SCAN_EVENT_CEILING;
    return may_end ? NEEDS_MORE : leave_out(scan, batch, at);
}

/* Behind a string that begins at `at`, 0 when it does not end. */
static size_t string_end(const struct gt_batch *batch, size_t at)
{
    for (at++; at < batch->length; at++) {
        if (batch->text[at] == '\\')
            at++;
        else if (batch->text[at] == '"')
            return at + 1;
    }
    return 0;
}

/* Text that is not an event is left out. If it has a phase, it was an event with a damaged opening brace. */
static enum outcome cut_text(struct gt_scan *scan, struct gt_batch *batch, size_t *at, const char *stops)
{
    size_t left = batch->length - *at, end = word_end(batch, *at + 1, stops);
    size_t length = left < LONG_EVENT ? batch->length : *at + LONG_EVENT;
    const char *key = memchr(batch->text + *at, '"', end - *at);
    struct gt_torn_look look = {0};
    if (key && scan->rescanned < RESCAN_BUDGET) {
        key += key[1] == '"'; /* the brace became a quote */
        look = gt_torn_look_inside(batch->text, (size_t)(key - batch->text), length);
        if (!look.end && !look.is_torn && left < LONG_EVENT && !scan->at_end)
            return NEEDS_MORE;
        scan->rescanned += look.end ? 0 : length - *at;
    }
    if (look.has_phase && !look.end)
        return leave_out(scan, batch, at);
    end = look.end ? look.end : end;
    lose(batch, *at, end - *at, look.has_phase);
    *at = end;
    return WENT_ON;
}

static enum outcome cut_event(struct gt_scan *scan, struct gt_batch *batch, size_t *at)
{
    char c = batch->text[*at];
    if (c == ']') {
        scan->place = scan->in_object ? AMONG_MEMBERS : BEHIND;
        ++*at;
        return WENT_ON;
    }
    if (c == '{') {
        size_t left = batch->length - *at;
        size_t end = gt_scan_object_end(batch->text, *at, left < LONG_EVENT ? batch->length : *at + LONG_EVENT);
        if (!end && left < LONG_EVENT && !scan->at_end)
            return NEEDS_MORE; /* as much is looked at, whatever is read at a time */
        return end ? add_event(batch, at, end) : cut_long_event(scan, batch, at);
    }
    return cut_text(scan, batch, at, "{],");
}

/* Behind a member's value that begins at `at`; 0 when it does not end here. */
static size_t value_end(const struct gt_batch *batch, size_t at)
{
    size_t depth = 0;
    for (; at < batch->length; at++) {
        char c = batch->text[at];
        if (c == '"') {
            at = string_end(batch, at);
            if (!at || !depth)
                return at;
            at--;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            if (!depth)
                return at;
            if (!--depth)
                return at + 1;
        } else if (!depth && parts_values(c)) {
            return at;
        }
    }
    return 0;
}

static enum outcome cut_value(struct gt_scan *scan, struct gt_batch *batch, size_t *at, struct gt_scan_entry entry)
{
    const char *key = batch->text + entry.key;
    if (batch->text[entry.value] == '[' && entry.key_length == 11 && memcmp(key, "traceEvents", 11) == 0) {
        scan->place = IN_EVENTS;
        scan->has_list = true;
        *at = entry.value + 1;
        return WENT_ON;
    }
    size_t end = value_end(batch, entry.value);
    if (!end && !scan->at_end && batch->length - *at < GT_SCAN_MEMBER_CEILING)
        return NEEDS_MORE;
    if (!end) {
        scan->place = IN_SKIPPED_MEMBER;
        scan->skip_depth = 0;
        scan->skip_string = scan->skip_escaped = false;
        *at = entry.value;
        return WENT_ON;
    }
    entry.value_length = end - entry.value;
    *at = end;
    return entry.value_length > GT_SCAN_MEMBER_CEILING ? WENT_ON : add_entry(batch, entry);
}

/* A stray bracket closed the list of an object: its events go on. */
static enum outcome reopen_list(struct gt_scan *scan, struct gt_batch *batch, size_t at)
{
    gt_damage_note(&batch->damage, batch->offset + at, "a bracket closes the list of events before its end");
    batch->damage.lost_bytes++;
    scan->place = IN_EVENTS;
    return WENT_ON;
}

static enum outcome cut_member(struct gt_scan *scan, struct gt_batch *batch, size_t *at)
{
    if (batch->text[*at] == '}') {
        scan->place = BEHIND;
        ++*at;
        return WENT_ON;
    }
    if (batch->text[*at] == '{' && scan->has_list) /* no member begins so */
        return reopen_list(scan, batch, *at);
    bool may_grow = !scan->at_end && batch->length - *at < GT_SCAN_MEMBER_CEILING;
    size_t key_end = batch->text[*at] == '"' ? string_end(batch, *at) : 0;
    size_t colon = key_end ? skip_blanks(batch, key_end) : 0;
    size_t value = colon && colon < batch->length && batch->text[colon] == ':' ? skip_blanks(batch, colon + 1) : 0;
    if (scan->has_list && key_end == *at + 4 && memcmp(batch->text + *at, "\"ph\"", 4) == 0)
        return reopen_list(scan, batch, *at); /* the bracket was the opening brace of an event */
    if (value && value < batch->length) {
        struct gt_scan_entry entry = {.key = *at + 1, .key_length = key_end - *at - 2, .value = value};
        return cut_value(scan, batch, at, entry);
    }
    if (may_grow && batch->text[*at] == '"' && (!key_end || colon == batch->length || value == batch->length))
        return NEEDS_MORE;
    size_t end = word_end(batch, *at + 1, "\"},");
    batch->damage.cut_off |= scan->at_end && end == batch->length;
    lose(batch, *at, end - *at, false);
    *at = end;
    return WENT_ON;
}

/* A member too long to keep: passed over with a few words of state. */
static enum outcome skip_member(struct gt_scan *scan, struct gt_batch *batch, size_t *at)
{
    for (; *at < batch->length; ++*at) {
        char c = batch->text[*at];
        if (scan->skip_string) {
            scan->skip_string = c != '"' || scan->skip_escaped;
            scan->skip_escaped = c == '\\' && !scan->skip_escaped;
        } else if (c == '"') {
            scan->skip_string = true;
        } else if (c == '{' || c == '[') {
            scan->skip_depth++;
        } else if ((c == '}' || c == ']' || c == ',') && !scan->skip_depth) {
            scan->place = AMONG_MEMBERS;
            return WENT_ON;
        } else if (c == '}' || c == ']') {
            scan->skip_depth--;
        }
    }
    batch->damage.cut_off |= scan->at_end;
    return WENT_ON;
}

/* Before the events, and behind them, where a second array may follow. */
static enum outcome cut_outside(struct gt_scan *scan, struct gt_batch *batch, size_t *at)
{
    char c = batch->text[*at];
    struct gt_torn_look look = {0};
    if (c == '{') {
        size_t left = batch->length - *at;
        look = gt_torn_look_at(batch->text, *at, left < LONG_EVENT ? batch->length : *at + LONG_EVENT);
        if (!look.has_phase && !look.is_torn && !look.end && left < LONG_EVENT && !scan->at_end)
            return NEEDS_MORE;
    }
    bool is_event = look.has_phase || (c == '{' && scan->place == BEHIND && !scan->in_object);
    if (is_event && scan->in_object)
        return reopen_list(scan, batch, *at);
    if (c == '[' || is_event) { /* a list, or events that stand line by line */
        scan->place = IN_EVENTS;
        scan->has_list = true;
        *at += c == '[';
    } else if (c == '{') {
        scan->place = AMONG_MEMBERS;
        scan->in_object = true;
        ++*at;
    } else if (c == '\xef' && batch->offset + *at == 0 && batch->length >= 3) {
        *at += 3; /* a byte order mark */
    } else {
        return cut_text(scan, batch, at, "[{");
    }
    return WENT_ON;
}

static enum outcome cut_line(struct gt_scan *scan, struct gt_batch *batch, size_t *at)
{
    const char *from = batch->text + *at, *newline = memchr(from, '\n', batch->length - *at);
    size_t left = batch->length - *at, length = newline ? (size_t)(newline - from) : left;
    if (!newline && !scan->at_end && left < GT_SCAN_EVENT_CEILING)
        return NEEDS_MORE;
    return add_event(batch, at, *at + length);
}

static enum outcome cut_one(struct gt_scan *scan, struct gt_batch *batch, size_t *at)
{
    if (scan->place == IN_SKIPPED_MEMBER)
        return skip_member(scan, batch, at);
    *at = skip_blanks(batch, *at);
    if (*at == batch->length)
        return WENT_ON;
    if (scan->form == GT_SCAN_LINES)
        return cut_line(scan, batch, at);
    switch (scan->place) {
    case IN_EVENTS: return cut_event(scan, batch, at);
    case AMONG_MEMBERS: return cut_member(scan, batch, at);
    default: return cut_outside(scan, batch, at);
    }
}

static int keep_rest(struct gt_scan *scan, const struct gt_batch *batch, size_t at)
{
    size_t left = batch->length - at;
    if (left && reserve(&scan->rest, &scan->rest_capacity, left) < 0)
        return -ENOMEM;
    if (left)
        memcpy(scan->rest, batch->text + at, left);
    scan->rest_length = left;
    return 0;
}

int gt_scan_next(struct gt_scan *scan, struct gt_batch *batch, struct gt_error *error)
{
    size_t at = 0, wanted = scan->rest_length + scan->block;
    enum outcome outcome = WENT_ON;
    batch->count = batch->length = 0;
    batch->damage = (struct gt_trace_damage){0};
    batch->offset = scan->bytes - scan->rest_length;
    if (reserve(&batch->text, &batch->capacity, wanted) < 0)
        return gt_error_system(error, ENOMEM, "reading a trace");
    if (scan->rest_length)
        memcpy(batch->text, scan->rest, scan->rest_length);
    batch->length = scan->rest_length;
    while (!batch->count) {
        int status = fill(scan, batch, wanted, error);
        if (status < 0)
            return status;
        while (at < batch->length && (outcome = cut_one(scan, batch, &at)) == WENT_ON)
            ;
        if (outcome == FAILED)
            return gt_error_system(error, ENOMEM, "reading a trace");
        if (scan->at_end || batch->count)
            break;
        if (at == batch->length) { /* nothing worth keeping */
            batch->offset += at;
            batch->length = at = 0;
        }
        wanted = batch->length + (batch->length > scan->block ? batch->length : scan->block);
    }
    if (keep_rest(scan, batch, at) < 0)
        return gt_error_system(error, ENOMEM, "reading a trace");
    if (scan->at_end && !batch->count && (scan->place == IN_EVENTS || scan->place == AMONG_MEMBERS))
        batch->damage.cut_off |= scan->in_object; /* the Trace Event Format allows an array without its end */
    return batch->count ? 1 : 0;
}
