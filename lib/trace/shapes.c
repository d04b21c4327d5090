#include "trace/shapes.h"

#include <errno.h>
#include <stdlib.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { LONGEST = 96, MOST_LINKS = 4096, MOST_OTHERS = 16, ABSENT = 255, DEEPEST = 16, FEW_LESSONS = 2000 };

enum level { TOP, ARGUMENT, WITHIN, END };

/* Text, and then a value, or the end of the event. */
struct link {
    char text[LONGEST]; /* followed by zeros */
    uint8_t length;
    uint8_t level;           /* of the value: a member of the event or of its arguments, or within one of these */
    uint8_t key, key_length; /* of the value's key in the text */
    uint8_t args, args_end;  /* where the arguments begin and end, ABSENT */
    uint16_t next, other;    /* what may follow the value; what may stand here instead; 0: nothing */
};

struct gt_shapes {
    struct link *link; /* the first one is before all events */
    size_t count;
    uint64_t met, lessons;
};

int gt_shapes_open(struct gt_shapes **ret)
{
    *ret = calloc(1, sizeof **ret);
    if (*ret)
        (*ret)->link = calloc(MOST_LINKS, sizeof *(*ret)->link);
    if (!*ret || !(*ret)->link) {
        free(*ret);
        *ret = NULL;
        return -ENOMEM;
    }
    (*ret)->count = 1;
    return 0;
}

uint64_t gt_shapes_met(const struct gt_shapes *shapes)
{
    return shapes->met;
}

void gt_shapes_close(struct gt_shapes *shapes)
{
    if (!shapes)
        return;
    free(shapes->link);
    free(shapes);
}

/* ---- values ---- */

const char *gt_shapes_string_end_plain(const char *text)
{
    while (*text != '"' && *text != '\\' && (unsigned char)*text >= 0x20)
        text++;
    return text;
}

const char *gt_shapes_string_end(const char *text)
{
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), last_control = _mm_set1_epi8(0x1f);
    for (;; text += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)text);
        __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, last_control), bytes);
        __m128i stop = _mm_or_si128(control,
                                    _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)));
        unsigned mask = (unsigned)_mm_movemask_epi8(stop);
        if (mask)
            return text + __builtin_ctz(mask);
    }
#else
    return gt_shapes_string_end_plain(text);
#endif
}

/* How many of eight bytes are digits before the first that is none. */
static inline unsigned digits_of_eight(const char *at)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t bytes, other;
    memcpy(&bytes, at, sizeof bytes);
    bytes ^= UINT64_C(0x3030303030303030); /* digits are now 0 to 9, and with 0x76 others have the highest bit */
    other = (((bytes & UINT64_C(0x7f7f7f7f7f7f7f7f)) + UINT64_C(0x7676767676767676)) | bytes) &
            UINT64_C(0x8080808080808080);
    return other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
#else
    unsigned count = 0;
    while (count < 8 && at[count] >= '0' && at[count] <= '9')
        count++;
    return count;
#endif
}

static inline const char *digits_end(const char *at)
{
    unsigned count;
    do
        at += count = digits_of_eight(at);
    while (count == 8);
    return at;
}

static inline const char *number_end(const char *text)
{
    const char *digits = text + (*text == '-'), *at = digits_end(digits);
    if (at == digits || (*digits == '0' && at > digits + 1))
        return NULL;
    if (*at == '.') {
        digits = at + 1;
        at = digits_end(digits);
        if (at == digits)
            return NULL;
    }
    if ((*at | 0x20) != 'e')
        return at;
    digits = at + 1 + (at[1] == '+' || at[1] == '-');
    at = digits_end(digits);
    return at == digits ? NULL : at;
}

const char *gt_shapes_number_end(const char *text)
{
    return number_end(text);
}

/* Behind a string without escapes or a number; NULL for what is neither. */
static inline const char *value_end(const char *at)
{
    if (*at != '"')
        return number_end(at);
    at = gt_shapes_string_end(at + 1);
    return *at == '"' ? at + 1 : NULL;
}

/* ---- events of a known shape ---- */

static inline bool is_here(const struct link *link, const char *at)
{
#if defined(__SSE2__)
    for (unsigned i = 0; i < link->length; i += 16) {
        __m128i here = _mm_loadu_si128((const __m128i *)(const void *)(at + i));
        __m128i wanted = _mm_loadu_si128((const __m128i *)(const void *)(link->text + i));
        unsigned differ = ~(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(here, wanted)) & 0xffff;
        if (differ && i + (unsigned)__builtin_ctz(differ) < link->length)
            return false;
    }
    return true;
#else
    for (unsigned i = 0; i < link->length; i++)
        if (at[i] != link->text[i])
            return false;
    return true;
#endif
}

static inline void begin_arguments(struct gt_raw_event *item, const struct link *link, const char *at)
{
    gt_raw_event_forget_arguments(item); /* of several members of one name the last counts */
    item->args.text = at + link->args;
}

static inline void end_arguments(struct gt_raw_event *item, const struct link *link, const char *at)
{
    item->args.length = (size_t)(at + link->args_end + 1 - item->args.text);
}

/* The arguments may begin and end in one text, and others may have ended before. */
static inline void mark_arguments(struct gt_raw_event *item, const struct link *link, const char *at)
{
    if (link->args_end != ABSENT && (link->args == ABSENT || link->args_end < link->args))
        end_arguments(item, link, at);
    if (link->args != ABSENT)
        begin_arguments(item, link, at);
    if (link->args != ABSENT && link->args_end != ABSENT && link->args_end > link->args)
        end_arguments(item, link, at);
}

static inline bool take(struct gt_raw_event *item, const struct link *link, const char *at, const char *end)
{
    struct gt_span key = {at + link->key, link->key_length},
                   value = {at + link->length, (size_t)(end - at) - link->length};
    if (link->level == TOP)
        return gt_raw_event_take_member(item, key, value) >= 0;
    if (link->level == ARGUMENT)
        gt_raw_event_take_argument(item, key, value);
    return true;
}

/* False where the event is of no known shape, or wrong: it has to be read. */
static bool meet(const struct gt_shapes *shapes, struct gt_raw_event *item, struct gt_span text)
{
    const char *at = text.text, *last = text.text + text.length, *end = NULL;
    const struct link *all = shapes->link, *link = all;
    gt_raw_event_begin(item, text);
    while (link->level != END) {
        uint16_t number = link->next;
        for (; number; number = link->other) {
            link = &all[number];
            if (is_here(link, at) && (end = link->level == END ? at + link->length : value_end(at + link->length)))
                break;
        }
        if (!number || end > last)
            return false;
        if (link->args != ABSENT || link->args_end != ABSENT)
            mark_arguments(item, link, at);
        if (link->level < WITHIN && !take(item, link, at, end))
            return false;
        at = end;
    }
    return at == last && item->phase;
}

/* ---- learning ---- An event that was read without complaint is walked again, and what stands between its values is kept. */

struct lesson {
    struct gt_shapes *shapes;
    const char *at;   /* behind the last value */
    struct link link; /* what comes next */
    uint16_t *place;  /* where its number belongs */
    bool is_unsuitable;
};

/* The text up to here is whole. */
static void keep(struct lesson *lesson, const char *from)
{
    struct gt_shapes *shapes = lesson->shapes;
    size_t length = (size_t)(from - lesson->at);
    unsigned others = 0;
    if (lesson->is_unsuitable || length > LONGEST) {
        lesson->is_unsuitable = true;
        return;
    }
    memcpy(lesson->link.text, lesson->at, length);
    lesson->link.length = (uint8_t)length;
    for (; *lesson->place; lesson->place = &shapes->link[*lesson->place].other, others++) {
        struct link *known = &shapes->link[*lesson->place];
        if (known->length == length && memcmp(known->text, lesson->link.text, length) == 0 &&
            known->level == lesson->link.level)
            break;
    }
    lesson->is_unsuitable = !*lesson->place && (others == MOST_OTHERS || shapes->count == MOST_LINKS);
    if (lesson->is_unsuitable)
        return;
    if (!*lesson->place) {
        *lesson->place = (uint16_t)shapes->count;
        shapes->link[shapes->count++] = lesson->link;
    }
    lesson->place = &shapes->link[*lesson->place].next;
    lesson->link = (struct link){.args = ABSENT, .args_end = ABSENT};
}

static void mark(struct lesson *lesson, uint8_t *mark, const char *place)
{
    size_t offset = (size_t)(place - lesson->at);
    lesson->is_unsuitable |= *mark != ABSENT || offset >= LONGEST;
    *mark = (uint8_t)offset;
}

static void learn_scalar(struct lesson *lesson, struct gt_span value, enum level level, struct gt_span key)
{
    if (*value.text == 't' || *value.text == 'f' || *value.text == 'n')
        return; /* words are part of the text */
    lesson->link.level = (uint8_t)level;
    size_t offset = key.text ? (size_t)(key.text - lesson->at) : 0;
    lesson->is_unsuitable |= offset + key.length > LONGEST;
    lesson->link.key = (uint8_t)offset;
    lesson->link.key_length = (uint8_t)key.length;
    keep(lesson, value.text);
    lesson->at = value.text + value.length;
}

/* Values within an argument, which itself means nothing. */
static void learn_within(struct lesson *lesson, struct gt_span value, int depth)
{
    struct gt_walk walk;
    struct gt_span key = {0}, inner;
    if ((*value.text != '{' && *value.text != '[')) {
        learn_scalar(lesson, value, WITHIN, (struct gt_span){0});
        return;
    }
    lesson->is_unsuitable |= depth == DEEPEST || gt_walk_open(&walk, value) < 0;
    while (!lesson->is_unsuitable &&
           (*value.text == '{' ? gt_walk_member(&walk, &key, &inner) : gt_walk_element(&walk, &inner)) > 0)
        learn_within(lesson, inner, depth + 1);
}

static bool is_unchanged(const struct gt_raw_event *a, const struct gt_raw_event *b)
{
    return a->real_pid.text == b->real_pid.text && a->real_tid.text == b->real_tid.text &&
           a->label.text == b->label.text && a->bytes == b->bytes && a->correlation == b->correlation &&
           a->external == b->external && a->step == b->step;
}

/* Whether it tells nothing that has a column. */
static bool means_nothing(struct gt_span key, struct gt_span value)
{
    struct gt_raw_event before, after;
    gt_raw_event_forget_arguments(&before);
    before.bytes = before.correlation = before.external = before.step = 5; /* so that a value of none is seen as well */
    after = before;
    gt_raw_event_take_argument(&after, key, value);
    return is_unchanged(&before, &after);
}

static void learn_arguments(struct lesson *lesson, struct gt_span args)
{
    struct gt_walk walk;
    struct gt_span key, value;
    gt_walk_open(&walk, args);
    mark(lesson, &lesson->link.args, args.text);
    while (!lesson->is_unsuitable && gt_walk_member(&walk, &key, &value) > 0) {
        bool is_scalar = *value.text != '{' && *value.text != '[';
        bool is_word = *value.text == 't' || *value.text == 'f' || *value.text == 'n';
        if (is_scalar && !is_word)
            learn_scalar(lesson, value, ARGUMENT, key);
        else if (means_nothing(key, value))
            learn_within(lesson, value, 0);
        else
            lesson->is_unsuitable = true;
    }
    if (!lesson->is_unsuitable)
        mark(lesson, &lesson->link.args_end, args.text + args.length - 1);
}

static void learn(struct gt_shapes *shapes, struct gt_span text)
{
    struct lesson lesson = {.shapes = shapes, .at = text.text, .place = &shapes->link->next};
    struct gt_walk walk;
    struct gt_span key, value;
    lesson.link.args = lesson.link.args_end = ABSENT;
    gt_walk_open(&walk, text);
    while (!lesson.is_unsuitable && gt_walk_member(&walk, &key, &value) > 0) {
        bool is_nested = *value.text == '{' || *value.text == '[';
        if (*value.text == '{' && gt_span_is(key, "args"))
            learn_arguments(&lesson, value);
        else if (is_nested || *value.text == 't' || *value.text == 'f' || *value.text == 'n')
            lesson.is_unsuitable = true;
        else
            learn_scalar(&lesson, value, TOP, key);
    }
    lesson.link.level = END;
    keep(&lesson, text.text + text.length);
}

int gt_shapes_parse(struct gt_shapes *shapes, struct gt_raw_event *item, struct gt_span text)
{
    if (text.length && text.text[text.length - 1] == '}' && meet(shapes, item, text)) {
        shapes->met++;
        return 0;
    }
    int status = gt_raw_event_parse(item, text);
    bool is_regular = status == 0 && !(item->has & GT_RAW_EVENT_MENDED) && text.text[text.length - 1] == '}';
    if (is_regular && shapes->lessons < FEW_LESSONS + shapes->met / 8) {
        shapes->lessons++; /* where they are of no use, there are no more */
        learn(shapes, text);
    }
    return status;
}
