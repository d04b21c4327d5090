/* A zip archive is a list of members, each of which can be read from its place. The format: PKWARE's APPNOTE.TXT. */
#ifndef GT_TRACE_INPUT_ZIP_H
#define GT_TRACE_INPUT_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct gt_zip_member {
    char *name;
    uint64_t place, length; /* of its compressed bytes, in the file */
    uint32_t checksum;
    uint16_t method;
    bool is_encrypted;
};

/* All zero is empty. */
struct gt_zip {
    struct gt_zip_member *member; /* files, no folders, in the order of the archive */
    size_t member_count, member_capacity;
};

/* Is this the begin of an archive? */
bool gt_zip_begins(const void *head, size_t length);
/* Lists the members by the archive's directory. -EBADMSG: it has none, as when it is cut off; -EFBIG: it is too large. */
int gt_zip_list(struct gt_zip *ret, int fd, uint64_t size);
const struct gt_zip_member *gt_zip_find(const struct gt_zip *zip, const char *name);
void gt_zip_release(struct gt_zip *zip);

#endif
