#include "trace/input/torn.h"

#include <string.h>

enum { DEEPEST = 512 };

enum state { KEY_OR_END, KEY, COLON, VALUE, VALUE_OR_END, BEHIND_VALUE };

struct look {
    const char *text;
    size_t at, length, depth;
    enum state state;
    bool is_array[DEEPEST];
    bool is_phase; /* the key read last is "ph" */
    struct gt_torn_look found;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bool is_in_array(const struct look *look)
{
    return look->depth && look->is_array[look->depth - 1];
}

/* Behind the string that begins here; 0 when it does not end in this text. */
static size_t string_end(const struct look *look)
{
    for (size_t at = look->at + 1; at < look->length; at++) {
        const char *quote = memchr(look->text + at, '"', look->length - at);
        if (!quote)
            return 0;
        size_t place = (size_t)(quote - look->text), from = place;
        while (from > look->at + 1 && look->text[from - 1] == '\\')
            from--;
        if ((place - from) % 2 == 0)
            return place + 1;
        at = place;
    }
    return 0;
}

static bool open_value(struct look *look, bool is_array)
{
    if (look->depth == DEEPEST)
        return false;
    look->is_array[look->depth++] = is_array;
    look->state = is_array ? VALUE_OR_END : KEY_OR_END;
    look->at++;
    return true;
}

static bool close_value(struct look *look, bool is_array)
{
    if (is_in_array(look) != is_array)
        return false;
    look->depth--;
    look->at++;
    look->state = BEHIND_VALUE;
    return true;
}

/* A text of one letter behind "ph" tells an event: of the object itself, or of one that an array swallowed. */
static bool read_string(struct look *look, size_t end)
{
    const char *text = look->text + look->at;
    size_t length = end - look->at;
    if (look->state == KEY || look->state == KEY_OR_END) {
        look->is_phase = length == 4 && memcmp(text, "\"ph\"", 4) == 0;
        look->state = COLON;
    } else {
        bool is_phase = look->is_phase && length == 3 && !is_in_array(look);
        look->found.has_phase |= is_phase && look->depth == 1;
        if (is_phase && look->depth > 1 && look->is_array[look->depth - 2])
            return false;
        look->is_phase = false;
        look->state = BEHIND_VALUE;
    }
    look->at = end;
    return true;
}

/* A number or a word; both may be of any letters, which parsing judges. */
static bool read_word(struct look *look)
{
    size_t from = look->at;
    while (look->at < look->length && !is_blank(look->text[look->at]) && !strchr(",:[]{}\"", look->text[look->at]))
        look->at++;
    look->state = BEHIND_VALUE;
    look->is_phase = false;
    return look->at > from;
}

static bool read_value(struct look *look, char c)
{
    if (c == '{' || c == '[')
        return open_value(look, c == '[');
    if (c == ']' && look->state == VALUE_OR_END)
        return close_value(look, true);
    return read_word(look);
}

static bool read_next(struct look *look, char c)
{
    switch (look->state) {
    case KEY_OR_END: return c == '}' && close_value(look, false);
    case KEY: return false;
    case COLON:
        look->state = VALUE;
        look->at++;
        return c == ':';
    case VALUE:
    case VALUE_OR_END: return read_value(look, c);
    default:
        if (c == '}' || c == ']')
            return close_value(look, c == ']');
        look->state = is_in_array(look) ? VALUE : KEY;
        look->at++;
        return c == ',';
    }
}

static struct gt_torn_look look_at(const char *text, size_t from, size_t length, bool is_inside)
{
    struct look look;
    look.text = text; /* the stack of arrays is not cleared */
    look.at = from;
    look.length = length;
    look.depth = is_inside;
    look.is_array[0] = false;
    look.state = is_inside ? KEY_OR_END : VALUE;
    look.is_phase = false;
    look.found = (struct gt_torn_look){0};
    do {
        while (look.at < length && is_blank(text[look.at]))
            look.at++;
        if (look.at == length)
            return look.found;
        bool is_string = text[look.at] == '"' && look.state != COLON && look.state != BEHIND_VALUE && look.depth;
        size_t end = is_string ? string_end(&look) : 0;
        if (is_string && !end)
            return look.found;
        look.found.is_torn = is_string ? !read_string(&look, end) : !read_next(&look, text[look.at]);
        if (look.found.is_torn)
            return look.found;
    } while (look.depth);
    look.found.end = look.at;
    return look.found;
}

struct gt_torn_look gt_torn_look_at(const char *text, size_t from, size_t length)
{
    return look_at(text, from, length, false);
}

struct gt_torn_look gt_torn_look_inside(const char *text, size_t from, size_t length)
{
    return look_at(text, from, length, true);
}

/* The first brace from here on that begins a line or follows a comma, with a quote behind it. */
static size_t next_border(const char *text, size_t from, size_t length)
{
    for (size_t at = from; at < length; at++) {
        const char *brace = memchr(text + at, '{', length - at);
        if (!brace)
            return 0;
        at = (size_t)(brace - text);
        size_t before = at, behind = at + 1;
        while (before && is_blank(text[before - 1]) && text[before - 1] != '\n')
            before--;
        while (behind < length && is_blank(text[behind]))
            behind++;
        bool is_begin = before && (text[before - 1] == '\n' || text[before - 1] == ',');
        if (is_begin && behind < length && text[behind] == '"')
            return at;
    }
    return 0;
}

size_t gt_torn_next(const char *text, size_t from, size_t length, bool at_end, size_t *end, uint64_t *torn)
{
    while ((from = next_border(text, from, length))) {
        struct gt_torn_look look = gt_torn_look_at(text, from, length);
        *end = look.end;
        if (look.end && look.has_phase)
            return from;
        if (!look.end && !look.is_torn && !at_end)
            return look.has_phase ? from : GT_TORN_UNKNOWN;
        *torn += !look.end && look.has_phase;
        from = look.end ? look.end : from + 1;
    }
    return 0;
}
