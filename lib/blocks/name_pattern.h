/* Names chosen by POSIX extended regular expressions. */
#ifndef GT_BLOCKS_NAME_PATTERN_H
#define GT_BLOCKS_NAME_PATTERN_H

#include <regex.h>
#include <stdbool.h>

#include "base/error.h"

/* Compile `pattern`, which is to match a whole name, or with `is_part` any part of one. -EINVAL names the pattern and the place of what
 * is wrong with it. Freed with regfree. */
int gt_name_pattern_compile(regex_t *ret, const char *pattern, bool is_part, struct gt_error *error);

bool gt_name_pattern_matches(const regex_t *pattern, const char *name);

#endif
