/* CSV as RFC 4180 has it and as Python's csv module writes it: quotes doubled, fields may hold line breaks,
 * lines end in \r\n, \n or \r. Reading streams through a buffer of bounded size. */
#ifndef GT_BASE_CSV_H
#define GT_BASE_CSV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

struct gt_csv_reader;

/* `fd` stays the caller's; `name` is for messages. A record longer than 16 MiB is an error. */
int gt_csv_open(struct gt_csv_reader **ret, int fd, const char *name, struct gt_error *error);
/* 1 a record, 0 the end, negative an error that names file and line. `*fields` are NUL-terminated and borrowed until the
 * next call. Quotes are taken away. A last record without a line end is returned, with gt_csv_is_complete() false. */
int gt_csv_next(struct gt_csv_reader *reader, char ***fields, size_t *count, struct gt_error *error);
bool gt_csv_is_complete(const struct gt_csv_reader *reader); /* the last record ended with a line end */
bool gt_csv_has_return(const struct gt_csv_reader *reader);  /* its line end had a \r */
uint64_t gt_csv_line(const struct gt_csv_reader *reader);    /* line number at which the last record began, from 1 */
void gt_csv_close(struct gt_csv_reader *reader);

/* Append one field, quoted only when it must be; the caller writes the commas. */
void gt_csv_field(struct gt_buffer *out, const char *text);
/* The same for spreadsheets: they would compute a field that begins with = + - @ or a control character, so it gets an apostrophe in
 * front, which they take for "this is text". Not for files that programs read. */
void gt_csv_field_for_people(struct gt_buffer *out, const char *text);

#endif
