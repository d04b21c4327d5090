/* Names, commands and paths come from outside and may hold any bytes but NUL.
 *
 * Programs get them as valid UTF-8. People see what a terminal would obey escaped, so that no name moves the cursor or adds a line. A
 * backslash stays one: a name that holds a backslash and an n looks like one that holds a newline. */
#ifndef GT_BASE_UTF8_H
#define GT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* Returns the length in bytes of the sequence at `text`, which is not empty and ends in NUL; 0 when it is not valid. */
int gt_utf8_length(const char *text);

bool gt_utf8_is_valid(const char *text);
/* Append the text, with U+FFFD for each byte that is not part of a valid sequence. Returns 0 or -ENOMEM. */
int gt_utf8_valid(struct gt_buffer *out, const char *text);

/* These two do the same for so many bytes, which may hold NUL and are followed by one. They are fast where bytes are ASCII. */
bool gt_utf8_are_valid(const char *bytes, size_t length);
int gt_utf8_valid_bytes(struct gt_buffer *out, const char *bytes, size_t length);

/* Returns the code of the character at `text`, of so many bytes, when it is beyond ASCII and only acts on how others are shown (it
 * controls, breaks lines or sets the direction of writing) or is not shown at all; else 0. */
uint32_t gt_utf8_acting(const char *text, int length);

enum { GT_UTF8_SHOWN = 12 };
/* Write one character of *text, which is not empty, as people see it, and move *text behind it. Returns the length in bytes. Line
 * breaks and tabs become \n, \r and \t; other control characters and bytes that are not UTF-8 become \xNN; characters that only change
 * how others are shown (breaks of lines, directions of writing), or that nobody sees, become \uNNNN, beyond 16 bits \UNNNNNNNN. */
size_t gt_utf8_show_next(const char **text, char ret[GT_UTF8_SHOWN]);
/* Append all of the text in that way. Returns 0 or -ENOMEM. */
int gt_utf8_show(struct gt_buffer *out, const char *text);
/* Returns how many columns it then takes, every character one. */
size_t gt_utf8_columns(const char *text);

/* Append the character of a code. */
void gt_utf8_append(struct gt_buffer *out, uint32_t code);
/* Returns the code of the character at `text`, which is valid. */
uint32_t gt_utf8_code(const char *text);
/* Returns the columns of a terminal that a character takes: 0, 1 or 2. */
int gt_utf8_code_width(uint32_t code);
/* Returns the same of the character at `text`, which is valid and shown as it is: 2 for those of East Asia and pictures, 0 for those that
 * join the one before, and for the further bytes of a character. */
size_t gt_utf8_width(const char *text);
/* Returns the sum of them over so many bytes. */
size_t gt_utf8_width_of(const char *text, size_t length);

#endif
