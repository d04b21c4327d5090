/* Telling UTF-8 from other bytes, and texts from outside: names, commands, paths, which may hold anything but NUL.
 *
 * Programs get them as they are, in valid UTF-8. People see what a terminal would obey escaped, so that no name moves the cursor or
 * adds a line. A backslash stays one: a name that holds a backslash and an n looks as one that holds a newline does. */
#ifndef GT_BASE_UTF8_H
#define GT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Length of the valid sequence at `text`, which is not empty and ends in NUL; 0 when it is not one. */
int gt_utf8_length(const char *text);

bool gt_utf8_is_valid(const char *text);
/* The text, with U+FFFD for each byte that is not part of a valid sequence. */
int gt_utf8_valid(struct gt_buffer *out, const char *text);

/* The same of so many bytes, which may hold NUL and are followed by one. Fast where they are ASCII. */
bool gt_utf8_are_valid(const char *bytes, size_t length);
int gt_utf8_valid_bytes(struct gt_buffer *out, const char *bytes, size_t length);

enum { GT_UTF8_SHOWN = 8 };
/* One character of *text, which is not empty, as people see it, NUL-terminated; *text goes behind it. Returns its bytes. Line breaks
 * and tabs are \n, \r and \t, other control characters and bytes that are no UTF-8 \xNN, and characters that only change how others
 * are shown (breaks of lines, directions of writing) \uNNNN. */
size_t gt_utf8_show_next(const char **text, char ret[GT_UTF8_SHOWN]);
/* The whole text so. */
int gt_utf8_show(struct gt_buffer *out, const char *text);
/* How many columns it then takes, every character one. */
size_t gt_utf8_columns(const char *text);

#endif
