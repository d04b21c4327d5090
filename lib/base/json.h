/* JSON is written to a buffer piece by piece, and the writer puts commas, line breaks and indentation between the pieces.
 * With an indent above 0 it lays out as Python's json.dumps(value, indent=indent, ensure_ascii=False) does; with 0 it
 * writes one line with ", " and ": ". Errors are those of the buffer. */
#ifndef GT_BASE_JSON_H
#define GT_BASE_JSON_H

#include <jansson.h>
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

/* Values that were read, and are changed, are jansson's: https://jansson.readthedocs.io. Its functions accept NULL for a value, as for a
 * member that is not there. */

/* Read the next value of a file, of `most` bytes at most, and nothing behind it. Returns NULL and *error, which may be NULL. */
json_t *gt_json_read(FILE *file, size_t most, size_t flags, json_error_t *error);
/* Returns NaN for what is no number. */
double gt_json_number_or_nan(const json_t *value);
/* The member behind `name`, the first one for NULL; NULL at the end. */
const char *gt_json_next_member(const json_t *object, const char *name, json_t **ret);

#define gt_json_foreach_member(object, name, value) \
    for (name = gt_json_next_member(object, NULL, &value); name; name = gt_json_next_member(object, name, &value))

#endif
