/* CSV as RFC 4180 defines it and as Python's csv module writes it: quotes are doubled, fields may hold line breaks, and
 * lines end in \r\n, \n or \r. The reader keeps one record and one block of the file in memory. */
#ifndef GT_BASE_CSV_H
#define GT_BASE_CSV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

struct gt_csv_reader;

/* `fd` stays the caller's, and `name` stands in messages. Returns 0 or -ENOMEM. */
int gt_csv_open(struct gt_csv_reader **ret, int fd, const char *name, struct gt_error *error);
/* Returns 1 for a record, 0 at the end, or negative errno with a sentence that names file and line: -EBADMSG for a NUL byte
 * or a quote without its end, -EFBIG for a record of more than 16 MiB. The fields are without their quotes, end in NUL and
 * are borrowed until the next call. A last record without a line end counts; gt_csv_is_complete() is then false. */
int gt_csv_next(struct gt_csv_reader *reader, char ***fields, size_t *count, struct gt_error *error);
bool gt_csv_is_complete(const struct gt_csv_reader *reader); /* the last record ended with a line end */
bool gt_csv_has_return(const struct gt_csv_reader *reader);  /* its line end had a \r */
uint64_t gt_csv_line(const struct gt_csv_reader *reader);    /* line number at which the last record began, from 1 */
void gt_csv_close(struct gt_csv_reader *reader);

/* Split a line without its end in place, where lines come from elsewhere than a file (or from one that grows), or fields are separated
 * by another character. Blanks in front of a quote are passed over. Returns how many of the first `most` fields there are. */
size_t gt_csv_split(char *line, char separator, char **field, size_t most);

/* Append one field, which is quoted only when it must be. The caller writes the commas. */
void gt_csv_field(struct gt_buffer *out, const char *text);
/* The same for spreadsheets. They would compute a field that begins with = + - @ or a control character, so it gets an
 * apostrophe in front, which they take for "this is text". Files that programs read must not have it. */
void gt_csv_field_for_people(struct gt_buffer *out, const char *text);

#endif
