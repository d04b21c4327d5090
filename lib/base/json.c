#include "base/json.h"

#include <errno.h>
#include <jansson.h>
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

/* The only file that knows jansson: a gt_json_value is a json_t under another name. */

static struct gt_json_value *value_of(json_t *json)
{
    return (struct gt_json_value *)(void *)json;
}

static json_t *json_of(const struct gt_json_value *value)
{
    return (json_t *)(uintptr_t)value;
}

/* ---- reading ---- */

static size_t flags_of(unsigned flags)
{
    return (flags & GT_JSON_UNIQUE_NAMES ? JSON_REJECT_DUPLICATES : 0U) |
           (flags & GT_JSON_ANY_VALUE ? JSON_DECODE_ANY : 0U) | (flags & GT_JSON_NULS ? JSON_ALLOW_NUL : 0U) |
           (flags & GT_JSON_MORE_FOLLOWS ? JSON_DISABLE_EOF_CHECK : 0U);
}

static struct gt_json_value *finish(json_t *json, const json_error_t *problem, struct gt_json_trouble *trouble)
{
    if (!json && trouble) {
        trouble->line = problem->line;
        snprintf(trouble->text, sizeof trouble->text, "%s", problem->text);
    }
    return value_of(json);
}

struct gt_json_value *gt_json_parse(const char *text, size_t length, unsigned flags, struct gt_json_trouble *trouble)
{
    json_error_t problem = {0};
    return finish(json_loadb(text, length, flags_of(flags), &problem), &problem, trouble);
}

struct gt_json_value *gt_json_parse_text(const char *text, unsigned flags, struct gt_json_trouble *trouble)
{
    return gt_json_parse(text, text ? strlen(text) : 0, flags, trouble);
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

struct gt_json_value *gt_json_read(FILE *file, size_t most, unsigned flags, struct gt_json_trouble *trouble)
{
    struct source source = {file, most, false};
    json_error_t problem = {0};
    json_t *json = json_load_callback(take, &source, flags_of(flags), &problem);
    if (!json && source.is_too_long)
        snprintf(problem.text, sizeof problem.text, "it is longer than %zu bytes", most);
    return finish(json, &problem, trouble);
}

void gt_json_free(struct gt_json_value *tree)
{
    json_decref(json_of(tree));
}

/* ---- asking ---- */

/* A question about one value that jansson answers. */
#define ASK(type, name, answer)                            \
    type gt_json_##name(const struct gt_json_value *value) \
    {                                                      \
        return answer(json_of(value));                     \
    }
ASK(bool, is_object, json_is_object)
ASK(bool, is_array, json_is_array)
ASK(bool, is_text, json_is_string)
ASK(bool, is_integer, json_is_integer)
ASK(bool, is_number, json_is_number)
ASK(bool, is_bool, json_is_boolean)
ASK(bool, is_true, json_is_true)
ASK(bool, is_null, json_is_null)
ASK(const char *, text_of, json_string_value)
ASK(double, number_of, json_number_value)
ASK(int64_t, integer_of, json_integer_value)
ASK(size_t, count, json_array_size)

double gt_json_number_or_nan(const struct gt_json_value *value)
{
    return gt_json_is_number(value) ? gt_json_number_of(value) : NAN;
}

struct gt_json_value *gt_json_member(const struct gt_json_value *object, const char *name)
{
    return value_of(json_object_get(json_of(object), name));
}

struct gt_json_value *gt_json_item(const struct gt_json_value *array, size_t index)
{
    return value_of(json_array_get(json_of(array), index));
}

const char *gt_json_next_member(const struct gt_json_value *object, const char *name, struct gt_json_value **ret)
{
    json_t *json = json_of(object);
    void *at = name ? json_object_iter_next(json, json_object_key_to_iter(name)) : json_object_iter(json);
    *ret = value_of(json_object_iter_value(at));
    return json_object_iter_key(at);
}

/* ---- making ---- */

#define MAKE(name, arguments, made)                    \
    struct gt_json_value *gt_json_new_##name arguments \
    {                                                  \
        return value_of(made);                         \
    }
MAKE(object, (void), json_object())
MAKE(array, (void), json_array())
MAKE(text, (const char *text, size_t length), json_stringn(text, length))
MAKE(integer, (int64_t integer), json_integer(integer))
MAKE(number, (double number), json_real(number))
MAKE(bool, (bool is_true), json_boolean(is_true))
MAKE(null, (void), json_null())

int gt_json_set(struct gt_json_value *object, const char *name, struct gt_json_value *value)
{
    return json_object_set_new(json_of(object), name, json_of(value)) < 0 ? -ENOMEM : 0;
}

int gt_json_append(struct gt_json_value *array, struct gt_json_value *value)
{
    return json_array_append_new(json_of(array), json_of(value)) < 0 ? -ENOMEM : 0;
}

int gt_json_rename(struct gt_json_value *object, const char *name, const char *new_name)
{
    json_t *json = json_of(object);
    if (json_object_set(json, new_name, json_object_get(json, name)) < 0)
        return -ENOMEM;
    json_object_del(json, name);
    return 0;
}

char *gt_json_dump(const struct gt_json_value *tree)
{
    return json_dumps(json_of(tree), JSON_COMPACT | JSON_ENCODE_ANY);
}
