/* JSON is written to a buffer piece by piece, and the writer puts commas, line breaks and indentation between the pieces.
 * With an indent above 0 it lays out as Python's json.dumps(value, indent=indent, ensure_ascii=False) does; with 0 it
 * writes one line with ", " and ": ". Errors are those of the buffer. */
#ifndef GT_BASE_JSON_H
#define GT_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buffer.h"

#define GT_JSON_DEPTH 32 /* deeper nesting fails the buffer with -E2BIG */

struct gt_json {
    struct gt_buffer *out;
    int indent;
    int depth;
    bool has_member[GT_JSON_DEPTH];
    bool after_key;
};

void gt_json_init(struct gt_json *json, struct gt_buffer *out, int indent);
void gt_json_object_begin(struct gt_json *json);
void gt_json_object_end(struct gt_json *json);
void gt_json_array_begin(struct gt_json *json);
void gt_json_array_end(struct gt_json *json);
void gt_json_key(struct gt_json *json, const char *key);
void gt_json_text(struct gt_json *json, const char *text); /* NULL writes null; invalid UTF-8 becomes U+FFFD */
void gt_json_double(struct gt_json *json, double value);   /* NaN and infinities write null */
void gt_json_integer(struct gt_json *json, int64_t value);
void gt_json_bool(struct gt_json *json, bool value);

/* Append the text as a JSON string, for other writers. */
void gt_json_quote(struct gt_buffer *out, const char *text);

/* JSON read into a tree of values, which may be changed, made and written. Every function accepts NULL for a value, as for a member that
 * is not there. A value lives as long as the tree that it belongs to. */

struct gt_json_value;

enum gt_json_flag {
    GT_JSON_UNIQUE_NAMES = 1, /* an object with two members of one name is an error */
    GT_JSON_ANY_VALUE = 2,    /* the text may be a number, a text, a bool or null; else only an array or an object */
    GT_JSON_NULS = 4,         /* texts may hold \u0000 */
    GT_JSON_MORE_FOLLOWS = 8  /* reading ends behind the value; else only blanks may follow */
};

/* The reason why a text is not JSON, and its line. */
struct gt_json_trouble {
    int line;
    char text[160];
};

/* Parse a text. Returns its value, to be freed with gt_json_free, or NULL and *trouble, which may be NULL. */
struct gt_json_value *gt_json_parse(const char *text, size_t length, unsigned flags, struct gt_json_trouble *trouble);
struct gt_json_value *gt_json_parse_text(const char *text, unsigned flags, struct gt_json_trouble *trouble);
/* Read the next value of a file, of `most` bytes at most, and nothing behind it. */
struct gt_json_value *gt_json_read(FILE *file, size_t most, unsigned flags, struct gt_json_trouble *trouble);
void gt_json_free(struct gt_json_value *tree);

bool gt_json_is_object(const struct gt_json_value *value);
bool gt_json_is_array(const struct gt_json_value *value);
bool gt_json_is_text(const struct gt_json_value *value);
bool gt_json_is_integer(const struct gt_json_value *value); /* written without a point or an exponent */
bool gt_json_is_number(const struct gt_json_value *value);
bool gt_json_is_bool(const struct gt_json_value *value);
bool gt_json_is_true(const struct gt_json_value *value);
bool gt_json_is_null(const struct gt_json_value *value);

/* NULL for a value of another kind. */
const char *gt_json_text_of(const struct gt_json_value *value);
/* Zero for a value of another kind. */
double gt_json_number_of(const struct gt_json_value *value);
/* Returns NaN for what is no number. */
double gt_json_number_or_nan(const struct gt_json_value *value);
int64_t gt_json_integer_of(const struct gt_json_value *value);
/* Returns how many items an array has; 0 for a value of another kind. */
size_t gt_json_count(const struct gt_json_value *array);
/* NULL when there is none. */
struct gt_json_value *gt_json_member(const struct gt_json_value *object, const char *name);
struct gt_json_value *gt_json_item(const struct gt_json_value *array, size_t index);
/* The member behind `name`, the first one for NULL; NULL at the end. */
const char *gt_json_next_member(const struct gt_json_value *object, const char *name, struct gt_json_value **ret);

#define gt_json_foreach_member(object, name, value) \
    for (name = gt_json_next_member(object, NULL, &value); name; name = gt_json_next_member(object, name, &value))
#define gt_json_foreach_item(array, index, value) \
    for (index = 0; index < gt_json_count(array) && (value = gt_json_item(array, index)); index++)

/* New values; NULL without memory. A text that is no UTF-8 makes none. */
struct gt_json_value *gt_json_new_object(void);
struct gt_json_value *gt_json_new_array(void);
struct gt_json_value *gt_json_new_text(const char *text, size_t length);
struct gt_json_value *gt_json_new_integer(int64_t integer);
struct gt_json_value *gt_json_new_number(double number); /* finite */
struct gt_json_value *gt_json_new_bool(bool is_true);
struct gt_json_value *gt_json_new_null(void);
/* Give `value` to an object or an array, which frees it also when it cannot be kept. Returns 0, or -ENOMEM, also when
 * `value` is NULL. */
int gt_json_set(struct gt_json_value *object, const char *name, struct gt_json_value *value);
int gt_json_append(struct gt_json_value *array, struct gt_json_value *value);
/* Give a member another name, under which it is the last one. Returns 0 or -ENOMEM. */
int gt_json_rename(struct gt_json_value *object, const char *name, const char *new_name);

/* The tree as compact text, to be freed; NULL without memory. */
char *gt_json_dump(const struct gt_json_value *tree);

#endif
