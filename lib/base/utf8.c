#include "base/utf8.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

int gt_utf8_length(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    int length = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    for (int i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool surrogate = s[0] == 0xed && s[1] > 0x9f;
    bool beyond = s[0] == 0xf4 && s[1] > 0x8f;
    return overlong || surrogate || beyond ? 0 : length;
}

/* Where the bytes that are ASCII from `at` on end. */
static size_t skip_ascii(const char *bytes, size_t at, size_t length)
{
    uint64_t word;
    for (; at + sizeof word <= length; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        if (word & UINT64_C(0x8080808080808080))
            break;
    }
    while (at < length && !(bytes[at] & 0x80))
        at++;
    return at;
}

bool gt_utf8_are_valid(const char *bytes, size_t length)
{
    for (size_t at = skip_ascii(bytes, 0, length); at < length; at = skip_ascii(bytes, at, length)) {
        int step = gt_utf8_length(bytes + at);
        if (!step)
            return false;
        at += (size_t)step;
    }
    return true;
}

int gt_utf8_valid_bytes(struct gt_buffer *out, const char *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        size_t end = skip_ascii(bytes, at, length);
        gt_buffer_append(out, bytes + at, end - at);
        int step = end < length ? gt_utf8_length(bytes + end) : 0;
        if (end < length && step)
            gt_buffer_append(out, bytes + end, (size_t)step);
        else if (end < length)
            gt_buffer_text(out, "\xef\xbf\xbd");
        at = end + (size_t)(step ? step : 1);
    }
    return out->failed;
}

bool gt_utf8_is_valid(const char *text)
{
    return gt_utf8_are_valid(text, strlen(text));
}

int gt_utf8_valid(struct gt_buffer *out, const char *text)
{
    return gt_utf8_valid_bytes(out, text, strlen(text));
}

static uint32_t code_point(const unsigned char *s, int length)
{
    uint32_t code = length == 2 ? s[0] & 0x1f : length == 3 ? s[0] & 0x0f : s[0] & 0x07;
    for (int i = 1; i < length; i++)
        code = code << 6 | (s[i] & 0x3f);
    return code;
}

/* The controls of ISO 6429 (C1), breaks of lines and paragraphs, what sets the direction of writing (Unicode standard annex 9), and the
 * other format characters, which nobody sees: two names that look alike would differ in them. */
static bool only_acts(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } acting[] = {{0x80, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},   {0x180e, 0x180e}, {0x200b, 0x200f},
                  {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
    for (size_t i = 0; i < sizeof acting / sizeof *acting; i++)
        if (code >= acting[i].first && code <= acting[i].last)
            return true;
    return false;
}

static size_t show_byte(unsigned char byte, char ret[GT_UTF8_SHOWN])
{
    static const char named[] = "\nn\rr\tt";
    const char *found = byte ? strchr(named, byte) : NULL;
    if (found && byte < ' ')
        return (size_t)snprintf(ret, GT_UTF8_SHOWN, "\\%c", found[1]);
    return (size_t)snprintf(ret, GT_UTF8_SHOWN, "\\x%02x", byte);
}

uint32_t gt_utf8_acting(const char *text, int length)
{
    uint32_t code = length > 1 ? code_point((const unsigned char *)text, length) : 0;
    return code && only_acts(code) ? code : 0;
}

size_t gt_utf8_show_next(const char **text, char ret[GT_UTF8_SHOWN])
{
    const unsigned char *s = (const unsigned char *)*text;
    int length = gt_utf8_length(*text);
    uint32_t acting = gt_utf8_acting(*text, length);
    *text += length ? length : 1;
    if (!length || *s < ' ' || *s == 0x7f)
        return show_byte(*s, ret);
    if (acting)
        return (size_t)snprintf(ret, GT_UTF8_SHOWN, acting > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)acting);
    memcpy(ret, s, (size_t)length);
    ret[length] = '\0';
    return (size_t)length;
}

int gt_utf8_show(struct gt_buffer *out, const char *text)
{
    char piece[GT_UTF8_SHOWN];
    while (*text) {
        size_t length = gt_utf8_show_next(&text, piece);
        gt_buffer_append(out, piece, length);
    }
    return out->failed;
}

size_t gt_utf8_columns(const char *text)
{
    char piece[GT_UTF8_SHOWN];
    size_t columns = 0;
    while (*text) {
        bool is_one = *text & 0x80;
        size_t length = gt_utf8_show_next(&text, piece);
        columns += is_one && piece[0] != '\\' ? 1 : length;
    }
    return columns;
}

void gt_utf8_append(struct gt_buffer *out, uint32_t code)
{
    utf8proc_uint8_t bytes[4];
    gt_buffer_append(out, bytes, (size_t)utf8proc_encode_char((utf8proc_int32_t)code, bytes));
}

uint32_t gt_utf8_code(const char *text)
{
    int length = gt_utf8_length(text);
    return length > 1 ? code_point((const unsigned char *)text, length) : (unsigned char)*text;
}

/* A character that Unicode did not know when libutf8proc was made takes one column, as what terminals show in its place. */
int gt_utf8_code_width(uint32_t code)
{
    static const uint32_t first_mark = 0x300;
    if (code < first_mark || utf8proc_category((utf8proc_int32_t)code) == UTF8PROC_CATEGORY_CN)
        return 1;
    return utf8proc_charwidth((utf8proc_int32_t)code);
}

size_t gt_utf8_width(const char *text)
{
    return (*text & 0xc0) == 0x80 ? 0 : (size_t)gt_utf8_code_width(gt_utf8_code(text));
}

size_t gt_utf8_width_of(const char *text, size_t length)
{
    size_t columns = 0;
    for (size_t i = 0; i < length; i++)
        columns += gt_utf8_width(text + i);
    return columns;
}
