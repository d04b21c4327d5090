/* A merged timeline as it is written: plain or gzip, beside its place and renamed when it is whole. */
#ifndef GT_ANALYSE_MERGED_FILE_H
#define GT_ANALYSE_MERGED_FILE_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"

struct gt_merged_file;

/* Names that end in .gz are written as gzip, the same bytes for the same content. -EEXIST without `overwrite`. */
int gt_merged_file_open(struct gt_merged_file **ret, const char *path, bool overwrite, struct gt_error *error);
/* Text that is appended here goes to the file with the next flush. */
struct gt_buffer *gt_merged_file_text(struct gt_merged_file *file);
/* Write when enough has come together. */
int gt_merged_file_flush(struct gt_merged_file *file, struct gt_error *error);
/* Write the rest and put the file into its place, or (not `whole`) remove it. Releases `file`, which may be NULL. */
int gt_merged_file_close(struct gt_merged_file *file, bool whole, struct gt_error *error);

#endif
