#include "base/json.h"

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

static void begin(struct gt_json *json, char bracket)
{
    begin_value(json);
    gt_buffer_char(json->out, bracket);
    if (++json->depth >= GT_JSON_DEPTH && !json->out->failed)
        json->out->failed = -E2BIG;
    *member_flag(json) = false;
}

static void end(struct gt_json *json, char bracket)
{
    bool had_member = *member_flag(json);
    json->depth--;
    if (had_member && json->indent)
        line_break(json);
    gt_buffer_char(json->out, bracket);
}

void gt_json_object_begin(struct gt_json *json)
{
    begin(json, '{');
}

void gt_json_object_end(struct gt_json *json)
{
    end(json, '}');
}

void gt_json_array_begin(struct gt_json *json)
{
    begin(json, '[');
}

void gt_json_array_end(struct gt_json *json)
{
    end(json, ']');
}

/* Escapes what JSON requires, and what a terminal would obey, so that JSON can be read there. */
static void quote_sequence(struct gt_buffer *out, const char *sequence, int length)
{
    static const char named[] = "\"\"\\\\\nn\rr\tt\bb\ff";
    uint32_t acting = gt_utf8_acting(sequence, length);
    unsigned char c = (unsigned char)*sequence;
    const char *escape = length == 1 && (c < 0x20 || c == '"' || c == '\\') ? strchr(named, c) : NULL;
    if (escape)
        gt_buffer_printf(out, "\\%c", escape[1]);
    else if (length == 1 && (c < 0x20 || c == 0x7f))
        gt_buffer_printf(out, "\\u%04x", c);
    else if (acting > 0xffff)
        gt_buffer_printf(out, "\\u%04x\\u%04x", 0xd800 + (unsigned)((acting - 0x10000) >> 10),
                         0xdc00 + (unsigned)(acting & 0x3ff));
    else if (acting)
        gt_buffer_printf(out, "\\u%04x", (unsigned)acting);
    else
        gt_buffer_append(out, length ? sequence : "\xef\xbf\xbd", length ? (size_t)length : 3);
}

void gt_json_quote(struct gt_buffer *out, const char *text)
{
    gt_buffer_char(out, '"');
    for (const char *at = text; *at;) {
        const char *plain = at; /* nearly all characters stand for themselves */
        while (*at >= 0x20 && *at < 0x7f && *at != '"' && *at != '\\')
            at++;
        gt_buffer_append(out, plain, (size_t)(at - plain));
        if (!*at)
            break;
        int length = gt_utf8_length(at);
        quote_sequence(out, at, length);
        at += length ? length : 1;
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

static void write_null(struct gt_json *json)
{
    begin_value(json);
    gt_buffer_text(json->out, "null");
}

void gt_json_text(struct gt_json *json, const char *text)
{
    if (!text) {
        write_null(json);
        return;
    }
    begin_value(json);
    gt_json_quote(json->out, text);
}

void gt_json_double(struct gt_json *json, double value)
{
    if (!isfinite(value)) {
        write_null(json);
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

struct source {
    FILE *file;
    size_t left;
    bool is_too_long;
};

/* One byte at a time: what follows the value is not to be taken. */
static size_t take(void *buffer, size_t size, void *context)
{
    struct source *source = context;
    int c = size && source->left ? getc_unlocked(source->file) : EOF;
    source->is_too_long = !source->left;
    if (c == EOF)
        return 0;
    *(char *)buffer = (char)c;
    source->left--;
    return 1;
}

json_t *gt_json_read(FILE *file, size_t most, size_t flags, json_error_t *error)
{
    struct source source = {file, most, false};
    json_t *json = json_load_callback(take, &source, flags, error);
    if (!json && error && source.is_too_long)
        snprintf(error->text, sizeof error->text, "it is longer than %zu bytes", most);
    return json;
}

double gt_json_number_or_nan(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *gt_json_next_member(const json_t *object, const char *name, json_t **ret)
{
    json_t *json = (json_t *)(uintptr_t)object;
    void *at = name ? json_object_iter_next(json, json_object_key_to_iter(name)) : json_object_iter(json);
    *ret = json_object_iter_value(at);
    return json_object_iter_key(at);
}
