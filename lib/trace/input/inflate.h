/* Libraries inflate what compressors made. zlib is linked; the others are opened when a file needs them. */
#ifndef GT_TRACE_INPUT_INFLATE_H
#define GT_TRACE_INPUT_INFLATE_H

#include <stddef.h>

struct gt_inflater {
    const char *name;  /* "gzip" */
    const char *magic; /* what its files begin with */
    size_t magic_length;
    const char *library, *unpack; /* for the sentence that the library is missing: its name, and a command instead */
    void *(*open)(void);          /* returns NULL where it is not available */
    /* Inflate from `in` to `out`, moving both on; 0 more is wanted, 1 a member has ended, -EBADMSG damaged, -EFBIG more
     * memory is wanted than anything sane takes. */
    int (*inflate)(void *state, const unsigned char **in, size_t *in_length, unsigned char **out, size_t *out_length);
    int (*reset)(void *state); /* another member follows */
    void (*close)(void *state);
};
extern const struct gt_inflater gt_inflate_zlib, gt_inflate_zstd, gt_inflate_xz, gt_inflate_bzip2;
/* Of members of zip archives: deflate without a header, and bytes as they are. */
extern const struct gt_inflater gt_inflate_deflate, gt_inflate_stored;

/* Returns who reads files that begin so; NULL for plain ones. */
const struct gt_inflater *gt_inflater_for(const unsigned char *head, size_t length);

#endif
