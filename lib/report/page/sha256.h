/* SHA-256 (FIPS 180-4) of bytes in memory: pages name the scripts that may run by it. */
#ifndef GT_REPORT_PAGE_SHA256_H
#define GT_REPORT_PAGE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { GT_SHA256_SIZE = 32 };

void gt_sha256(uint8_t ret[GT_SHA256_SIZE], const void *bytes, size_t length);

#endif
