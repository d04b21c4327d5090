/* This is base64 with padding (RFC 4648). */
#ifndef GT_REPORT_PAGE_BASE64_H
#define GT_REPORT_PAGE_BASE64_H

#include "base/buffer.h"

void gt_base64_append(struct gt_buffer *out, const void *bytes, size_t length);

#endif
