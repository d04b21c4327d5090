#include "base/json_write.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"

void gt_json_init(struct gt_json *json, struct gt_buffer *out, int indent)
{
    *json = (struct gt_json){.out = out, .indent = indent};
}

static void line_break(struct gt_json *json)
{
    gt_buffer_char(json->out, '\n');
    for (int i = 0; i < json->depth * json->indent; i++)
        gt_buffer_char(json->out, ' ');
}

/* Deeper than GT_JSON_DEPTH the output has failed, and the last flag serves. */
static bool *member_flag(struct gt_json *json)
{
    return &json->has_member[json->depth < GT_JSON_DEPTH ? json->depth : GT_JSON_DEPTH - 1];
}

static void begin_value(struct gt_json *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (json->depth == 0)
        return;
    bool *has_member = member_flag(json);
    if (*has_member)
        gt_buffer_text(json->out, json->indent ? "," : ", ");
    *has_member = true;
    if (json->indent)
        line_break(json);
}

static void open_bracket(struct gt_json *json, char bracket)
{
    begin_value(json);
    gt_buffer_char(json->out, bracket);
    if (++json->depth >= GT_JSON_DEPTH && !json->out->failed)
        json->out->failed = -E2BIG;
    *member_flag(json) = false;
}

static void close_bracket(struct gt_json *json, char bracket)
{
    bool had_member = *member_flag(json);
    json->depth--;
    if (had_member && json->indent)
        line_break(json);
    gt_buffer_char(json->out, bracket);
}

void gt_json_object_begin(struct gt_json *json)
{
    open_bracket(json, '{');
}

void gt_json_object_end(struct gt_json *json)
{
    close_bracket(json, '}');
}

void gt_json_array_begin(struct gt_json *json)
{
    open_bracket(json, '[');
}

void gt_json_array_end(struct gt_json *json)
{
    close_bracket(json, ']');
}

static void quote_ascii(struct gt_buffer *out, unsigned char c)
{
    const char *escape = strchr("\"\"\\\\\nn\rr\tt\bb\ff", c);
    switch (c) {
    case '"':
    case '\\':
    case '\n':
    case '\r':
    case '\t':
    case '\b':
    case '\f':
        gt_buffer_char(out, '\\');
        gt_buffer_char(out, escape[1]);
        break;
    default:
        if (c < 0x20 || c == 0x7f)
            gt_buffer_printf(out, "\\u%04x", c);
        else
            gt_buffer_char(out, (char)c);
    }
}

/* What a terminal would obey is escaped, so that JSON can be looked at, and says the same. */
static void quote_sequence(struct gt_buffer *out, const char *sequence, int length)
{
    uint32_t acting = gt_utf8_acting(sequence, length);
    if (acting)
        gt_buffer_printf(out, "\\u%04x", (unsigned)acting);
    else
        gt_buffer_append(out, sequence, (size_t)length);
}

void gt_json_quote(struct gt_buffer *out, const char *text)
{
    gt_buffer_char(out, '"');
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int length = gt_utf8_length((const char *)s);
        if (length == 1)
            quote_ascii(out, *s);
        else if (length == 0)
            gt_buffer_text(out, "\xef\xbf\xbd");
        else
            quote_sequence(out, (const char *)s, length);
        s += length ? length : 1;
    }
    gt_buffer_char(out, '"');
}

void gt_json_key(struct gt_json *json, const char *key)
{
    begin_value(json);
    gt_json_quote(json->out, key);
    gt_buffer_text(json->out, ": ");
    json->after_key = true;
}

void gt_json_text(struct gt_json *json, const char *text)
{
    if (!text) {
        gt_json_null(json);
        return;
    }
    begin_value(json);
    gt_json_quote(json->out, text);
}

void gt_json_double(struct gt_json *json, double value)
{
    if (!isfinite(value)) {
        gt_json_null(json);
        return;
    }
    char text[GT_NUMBER_SIZE];
    begin_value(json);
    gt_buffer_append(json->out, text, gt_number_repr(text, value));
}

void gt_json_integer(struct gt_json *json, int64_t value)
{
    begin_value(json);
    gt_buffer_printf(json->out, "%lld", (long long)value);
}

void gt_json_bool(struct gt_json *json, bool value)
{
    begin_value(json);
    gt_buffer_text(json->out, value ? "true" : "false");
}

void gt_json_null(struct gt_json *json)
{
    begin_value(json);
    gt_buffer_text(json->out, "null");
}
