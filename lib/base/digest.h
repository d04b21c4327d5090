/* What pages need of bytes: their SHA-256, and their base64. */
#ifndef GT_BASE_DIGEST_H
#define GT_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* SHA-256 (FIPS 180-4) of bytes in memory: pages name the scripts that may run by it. */
enum { GT_SHA256_SIZE = 32 };

void gt_sha256(uint8_t ret[GT_SHA256_SIZE], const void *bytes, size_t length);

/* Append base64 with padding (RFC 4648). */
void gt_base64_append(struct gt_buffer *out, const void *bytes, size_t length);

#endif
