/* JSON is written to a buffer piece by piece, and the writer puts commas, line breaks and indentation between the pieces.
 * With an indent above 0 it lays out as Python's json.dumps(value, indent=indent, ensure_ascii=False) does; with 0 it
 * writes one line with ", " and ": ". Errors are those of the buffer. */
#ifndef GT_BASE_JSON_WRITE_H
#define GT_BASE_JSON_WRITE_H

#include <stdbool.h>
#include <stdint.h>

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
void gt_json_null(struct gt_json *json);

/* Append the text as a JSON string, for other writers. */
void gt_json_quote(struct gt_buffer *out, const char *text);

#endif
