/* A function that can fail tells why in a struct gt_error: a code and one sentence. The first error stays. */
#ifndef GT_BASE_ERROR_H
#define GT_BASE_ERROR_H

#include <stdarg.h>

#include "gpu_tracker.h"

/* Fill `error` (which may be NULL) unless it already holds an error, and return -code.
 * The sentence names the object and the cause and has no full stop at its end. One whose format begins with "%s" begins
 * with the path of the file that it is about. */
int gt_error_set(struct gt_error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same, with ": " and the system's text for `code` appended. */
int gt_error_system(struct gt_error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same for a file that may not be replaced: EEXIST, "PATH already exists", and the option that replaces it. */
int gt_error_exists(struct gt_error *error, const char *path);

/* Copy `from` to `error` unless that already holds an error. Returns -from->code. */
int gt_error_copy(struct gt_error *error, const struct gt_error *from);

/* Tell a caller's `warn`, which may be NULL, one sentence. */
void gt_warn(void (*warn)(void *context, const char *sentence), void *context, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
