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
    if (acting > 0xffff)
        gt_buffer_printf(out, "\\u%04x\\u%04x", 0xd800 + (unsigned)((acting - 0x10000) >> 10),
                         0xdc00 + (unsigned)(acting & 0x3ff));
    else if (acting)
        gt_buffer_printf(out, "\\u%04x", (unsigned)acting);
    else
        gt_buffer_append(out, sequence, (size_t)length);
}

/* Letters that stand for themselves, as nearly all do. */
static size_t plain_length(const unsigned char *text)
{
    const unsigned char *end = text;
    while (*end >= 0x20 && *end < 0x7f && *end != '"' && *end != '\\')
        end++;
    return (size_t)(end - text);
}

void gt_json_quote(struct gt_buffer *out, const char *text)
{
    gt_buffer_char(out, '"');
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        size_t plain = plain_length(s);
        gt_buffer_append(out, s, plain);
        s += plain;
        if (!*s)
            break;
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

bool gt_json_is_object(const struct gt_json_value *value)
{
    return json_is_object(json_of(value));
}

bool gt_json_is_array(const struct gt_json_value *value)
{
    return json_is_array(json_of(value));
}

bool gt_json_is_text(const struct gt_json_value *value)
{
    return json_is_string(json_of(value));
}

bool gt_json_is_integer(const struct gt_json_value *value)
{
    return json_is_integer(json_of(value));
}

bool gt_json_is_number(const struct gt_json_value *value)
{
    return json_is_number(json_of(value));
}

bool gt_json_is_bool(const struct gt_json_value *value)
{
    return json_is_boolean(json_of(value));
}

bool gt_json_is_true(const struct gt_json_value *value)
{
    return json_is_true(json_of(value));
}

bool gt_json_is_null(const struct gt_json_value *value)
{
    return json_is_null(json_of(value));
}

const char *gt_json_text_of(const struct gt_json_value *value)
{
    return json_string_value(json_of(value));
}

double gt_json_number_of(const struct gt_json_value *value)
{
    return json_number_value(json_of(value));
}

double gt_json_number_or_nan(const struct gt_json_value *value)
{
    return gt_json_is_number(value) ? gt_json_number_of(value) : NAN;
}

int64_t gt_json_integer_of(const struct gt_json_value *value)
{
    return json_integer_value(json_of(value));
}

size_t gt_json_count(const struct gt_json_value *array)
{
    return json_array_size(json_of(array));
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

struct gt_json_value *gt_json_new_object(void)
{
    return value_of(json_object());
}

struct gt_json_value *gt_json_new_array(void)
{
    return value_of(json_array());
}

struct gt_json_value *gt_json_new_text(const char *text, size_t length)
{
    return value_of(json_stringn(text, length));
}

struct gt_json_value *gt_json_new_integer(int64_t integer)
{
    return value_of(json_integer(integer));
}

struct gt_json_value *gt_json_new_number(double number)
{
    return value_of(json_real(number));
}

struct gt_json_value *gt_json_new_bool(bool is_true)
{
    return value_of(json_boolean(is_true));
}

struct gt_json_value *gt_json_new_null(void)
{
    return value_of(json_null());
}

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
