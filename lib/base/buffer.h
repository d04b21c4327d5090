/* A run of bytes that grows. A NUL follows it always. */
#ifndef GT_BASE_BUFFER_H
#define GT_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct gt_buffer {
    char *data; /* NULL while nothing was appended */
    size_t length;
    size_t capacity;
    size_t ceiling; /* 0: no ceiling */
    int failed;     /* 0, or the negative errno of the first append that failed; later appends do nothing */
};

/* All of these return 0, -ENOMEM, or -EFBIG beyond the ceiling, and the same again once one has failed. */
int gt_buffer_reserve(struct gt_buffer *buffer, size_t more);
int gt_buffer_append(struct gt_buffer *buffer, const void *bytes, size_t length);
int gt_buffer_text(struct gt_buffer *buffer, const char *text);
int gt_buffer_char(struct gt_buffer *buffer, char c);
int gt_buffer_fill(struct gt_buffer *buffer, char c, size_t count);
int gt_buffer_printf(struct gt_buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The buffer is empty, has not failed, and keeps its memory. */
void gt_buffer_clear(struct gt_buffer *buffer);
void gt_buffer_release(struct gt_buffer *buffer);
/* Hand the bytes to the caller, who frees them; where `status` is negative they are released. `length` may be NULL. Returns the status. */
int gt_buffer_give(struct gt_buffer *buffer, int status, char **ret, size_t *length);
/* Append base64 with padding (RFC 4648). */
void gt_base64_append(struct gt_buffer *out, const void *bytes, size_t length);
/* Appends the numbers below `count` that are not there, "3, 5-7"; returns how many. */
size_t gt_buffer_absent(struct gt_buffer *buffer, const bool *is_there, size_t count);

#endif
