/* A walk goes over JSON text where it stands: members of an object and elements of an array are spans of the text.
 *
 * It is strict as RFC 8259, but for what traces in the wild hold: raw control characters in strings, and the numbers
 * NaN, Infinity, inf and nan; both set `mended`. Nesting deeper than GT_WALK_DEPTH is refused. */
#ifndef GT_TRACE_INPUT_WALK_H
#define GT_TRACE_INPUT_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"

#define GT_WALK_DEPTH 512

struct gt_span {
    const char *text; /* NULL: not there */
    size_t length;
};

struct gt_walk {
    const char *at, *end;
    bool begun, mended;
};

/* Opens a walk. -EBADMSG: the text does not begin with '{' or '['. */
int gt_walk_open(struct gt_walk *walk, struct gt_span text);
/* Returns 1 for a member, 0 at the end of the object, -EBADMSG. `key` is without its quotes, `value` as it stands,
 * with them. */
int gt_walk_member(struct gt_walk *walk, struct gt_span *key, struct gt_span *value);
/* These do the same in two steps; between them `walk->at` stands on the value, which the caller may walk himself. */
int gt_walk_key(struct gt_walk *walk, struct gt_span *key);
int gt_walk_value(struct gt_walk *walk, struct gt_span *value);
int gt_walk_element(struct gt_walk *walk, struct gt_span *value);
/* Returns true where nothing but blanks remains behind the object or array. */
bool gt_walk_at_end(struct gt_walk *walk);

static inline struct gt_span gt_span_of(const char *text)
{
    return (struct gt_span){text, strlen(text)};
}
/* What stands between the quotes of a JSON string, which has not failed. */
static inline struct gt_span gt_span_in_quotes(const struct gt_buffer *json)
{
    return (struct gt_span){json->data + 1, json->length - 2};
}
static inline bool gt_span_is(struct gt_span span, const char *text)
{
    size_t length = strlen(text);
    return span.length == length && memcmp(span.text, text, length) == 0;
}
static inline bool gt_span_same(struct gt_span a, struct gt_span b)
{
    return a.length == b.length && (!a.length || memcmp(a.text, b.text, a.length) == 0);
}
/* Returns a string value without its quotes, other values as they are. */
struct gt_span gt_span_unquoted(struct gt_span value);
bool gt_span_has_escape(struct gt_span text);
/* Undoes the escapes of a string without quotes into `out`, as UTF-8; lone surrogates become U+FFFD. */
int gt_span_unescape(struct gt_span text, struct gt_buffer *out);
/* Makes it a text without escapes, which then lies in `scratch`; one that has none stays where it is. */
int gt_span_plain(struct gt_span *text, struct gt_buffer *scratch);
/* Appends a text as a JSON string. */
void gt_span_quote(struct gt_buffer *out, struct gt_span text);

/* Reads a decimal number, also in quotes, times 10^scale, rounded half away from zero: exact whatever its size.
 * -EBADMSG: it is no number; -ERANGE: it lies outside of int64. */
int gt_span_decimal(struct gt_span value, int scale, int64_t *ret);
/* Reads a number, NaN and infinities as they are. -EBADMSG: it is none. */
int gt_span_double(struct gt_span value, double *ret);

/* Members of JSON objects by their names, and what there is of values that were cut off. */

struct gt_wanted_member {
    const char *key;
    struct gt_span *to;
};

/* Finds members of an object; those that are not there stay as they are, and so do all where it is no object. */
void gt_find_members(struct gt_span object, const struct gt_wanted_member *wanted, size_t count);
#define GT_FIND(object, ...)                                                \
    gt_find_members(object, (const struct gt_wanted_member[]){__VA_ARGS__}, \
                    sizeof((const struct gt_wanted_member[]){__VA_ARGS__}) / sizeof(struct gt_wanted_member))

/* Opens a walk over an array; false for other values. */
bool gt_open_list(struct gt_walk *walk, struct gt_span list);
/* Returns a walk over an array; over nothing for other values. */
struct gt_walk gt_walk_list(struct gt_span list);

#endif
