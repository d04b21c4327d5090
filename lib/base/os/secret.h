/* Words of a command that look like secrets are not kept. */
#ifndef GT_BASE_OS_SECRET_H
#define GT_BASE_OS_SECRET_H

#include "base/buffer.h"

/* What stands where a secret was. */
#define GT_SECRET_HIDDEN "***"

/* Append the words, with blanks between them, and without what looks like a secret: values of options and
 * variables named so ("--token X", "--pass X", "-p X", "-pX", "--api-key=X", "AWS_SECRET_ACCESS_KEY=X",
 * "Authorization:X", "?a=1&sig=X"), passwords in addresses ("https://user:X@host"), words that begin as keys of
 * well-known services do ("ghp_...", "hf_..."), and long words of letters and digits in disorder. 0 or -ENOMEM. */
int gt_secret_hide(struct gt_buffer *out, char *const words[]);
/* Do the same with words that each end in NUL, as in /proc/PID/cmdline; `text` has `length` bytes and a NUL behind them. */
int gt_secret_hide_line(struct gt_buffer *out, char *text, size_t length);

#endif
