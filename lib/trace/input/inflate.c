#include "trace/input/inflate.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/os/library.h"

static uint32_t at_most(size_t length)
{
    return length > INT_MAX ? INT_MAX : (uint32_t)length;
}

/* A library took all but `in_left` and `out_left` of what it was given. */
static void move_on(const unsigned char **in, size_t *in_length, unsigned char **out, size_t *out_length, size_t taken,
                    size_t made)
{
    *in += taken;
    *in_length -= taken;
    *out += made;
    *out_length -= made;
}

/* Opens a library for a structure of this size, which begins with its gt_library. NULL: it is not installed. */
static void *open_library(size_t size, const char *const *names, const struct gt_symbol *symbols, size_t count)
{
    struct gt_library *library = calloc(1, size);
    if (library && gt_library_open(library, NULL, names, symbols, count, library, NULL) < 0) {
        free(library);
        library = NULL;
    }
    return library;
}

/* ---- zlib ---- */

static void *zlib_open_for(int bits)
{
    z_stream *stream = calloc(1, sizeof *stream);
    if (stream && inflateInit2(stream, bits) != Z_OK) {
        free(stream);
        stream = NULL;
    }
    return stream;
}

static void *zlib_open(void)
{
    return zlib_open_for(15 + 16); /* gzip only */
}

static void *deflate_open(void)
{
    return zlib_open_for(-15);
}

static int zlib_inflate(void *state, const unsigned char **in, size_t *in_length, unsigned char **out,
                        size_t *out_length)
{
    z_stream *stream = state;
    uInt given = at_most(*in_length), room = at_most(*out_length);
    stream->next_in = (z_const Bytef *)(uintptr_t)*in;
    stream->avail_in = given;
    stream->next_out = *out;
    stream->avail_out = room;
    int status = inflate(stream, Z_NO_FLUSH);
    move_on(in, in_length, out, out_length, given - stream->avail_in, room - stream->avail_out);
    return status == Z_STREAM_END ? 1 : status == Z_OK || status == Z_BUF_ERROR ? 0 : -EBADMSG;
}

static int zlib_reset(void *state)
{
    return inflateReset(state) == Z_OK ? 0 : -EBADMSG;
}

static void zlib_close(void *state)
{
    inflateEnd(state);
    free(state);
}

const struct gt_inflater gt_inflate_zlib = {.name = "gzip",
                                            .magic = "\x1f\x8b",
                                            .magic_length = 2,
                                            .open = zlib_open,
                                            .inflate = zlib_inflate,
                                            .reset = zlib_reset,
                                            .close = zlib_close};
const struct gt_inflater gt_inflate_deflate = {
    .name = "zip", .open = deflate_open, .inflate = zlib_inflate, .reset = zlib_reset, .close = zlib_close};

static void *stored_open(void)
{
    return malloc(1);
}

static int stored_some(void *state, const unsigned char **in, size_t *in_length, unsigned char **out,
                       size_t *out_length)
{
    size_t length = *in_length < *out_length ? *in_length : *out_length;
    (void)state;
    memcpy(*out, *in, length);
    move_on(in, in_length, out, out_length, length, length);
    return 0;
}

static int stored_reset(void *state)
{
    (void)state;
    return 0;
}

const struct gt_inflater gt_inflate_stored = {
    .name = "zip", .open = stored_open, .inflate = stored_some, .reset = stored_reset, .close = free};

/* ---- zstd: the streaming interface of zstd.h, stable since 1.0 ---- */

struct zstd_span {
    const void *data;
    size_t size, at;
};

struct zstd {
    struct gt_library library;
    void *(*create)(void);
    size_t (*free)(void *);
    size_t (*init)(void *);
    size_t (*decompress)(void *, struct zstd_span *out, struct zstd_span *in);
    unsigned (*is_error)(size_t);
    void *stream;
};

static void zstd_close(void *state)
{
    struct zstd *zstd = state;
    if (zstd->stream)
        zstd->free(zstd->stream);
    gt_library_close(&zstd->library);
    free(zstd);
}

static int zstd_reset(void *state)
{
    struct zstd *zstd = state;
    return zstd->is_error(zstd->init(zstd->stream)) ? -EBADMSG : 0;
}

static void *zstd_open(void)
{
    static const char *const names[] = {"libzstd.so.1", NULL};
    static const struct gt_symbol symbols[] = {
        GT_SYMBOL(zstd, create, "ZSTD_createDStream", true), GT_SYMBOL(zstd, free, "ZSTD_freeDStream", true),
        GT_SYMBOL(zstd, init, "ZSTD_initDStream", true),     GT_SYMBOL(zstd, decompress, "ZSTD_decompressStream", true),
        GT_SYMBOL(zstd, is_error, "ZSTD_isError", true),
    };
    struct zstd *zstd = open_library(sizeof *zstd, names, symbols, sizeof symbols / sizeof *symbols);
    if (!zstd)
        return NULL;
    zstd->stream = zstd->create();
    if (zstd->stream && zstd_reset(zstd) == 0)
        return zstd;
    zstd_close(zstd);
    return NULL;
}

static int zstd_some(void *state, const unsigned char **in, size_t *in_length, unsigned char **out, size_t *out_length)
{
    struct zstd *zstd = state;
    struct zstd_span from = {*in, *in_length, 0}, to = {*out, *out_length, 0};
    size_t status = zstd->decompress(zstd->stream, &to, &from);
    move_on(in, in_length, out, out_length, from.at, to.at);
    return zstd->is_error(status) ? -EBADMSG : status == 0;
}

const struct gt_inflater gt_inflate_zstd = {.name = "zstd",
                                            .magic = "\x28\xb5\x2f\xfd",
                                            .magic_length = 4,
                                            .library = "libzstd.so.1",
                                            .unpack = "zstd -d",
                                            .open = zstd_open,
                                            .inflate = zstd_some,
                                            .reset = zstd_reset,
                                            .close = zstd_close};

/* ---- xz: liblzma's stream as lzma/base.h lays it out, stable since 5.0 ---- */

#define XZ_MOST_MEMORY (UINT64_C(256) << 20) /* xz -9 takes 65 MiB */
enum { XZ_OK = 0, XZ_STREAM_END = 1, XZ_MEMLIMIT_ERROR = 6, XZ_BUF_ERROR = 10 };

struct xz_stream {
    const uint8_t *in;
    size_t in_length;
    uint64_t in_total;
    uint8_t *out;
    size_t out_length;
    uint64_t out_total;
    const void *allocator;
    void *internal, *reserved[4];
    uint64_t reserved_number[8];
};

struct xz {
    struct gt_library library;
    int (*decoder)(struct xz_stream *, uint64_t memory, uint32_t flags);
    int (*code)(struct xz_stream *, int action);
    void (*end)(struct xz_stream *);
    struct xz_stream stream;
};

static void xz_close(void *state)
{
    struct xz *xz = state;
    xz->end(&xz->stream);
    gt_library_close(&xz->library);
    free(xz);
}

static int xz_reset(void *state)
{
    struct xz *xz = state;
    return xz->decoder(&xz->stream, XZ_MOST_MEMORY, 0) == XZ_OK ? 0 : -EBADMSG;
}

static void *xz_open(void)
{
    static const char *const names[] = {"liblzma.so.5", NULL};
    static const struct gt_symbol symbols[] = {
        GT_SYMBOL(xz, decoder, "lzma_stream_decoder", true),
        GT_SYMBOL(xz, code, "lzma_code", true),
        GT_SYMBOL(xz, end, "lzma_end", true),
    };
    struct xz *xz = open_library(sizeof *xz, names, symbols, sizeof symbols / sizeof *symbols);
    if (!xz || xz_reset(xz) == 0)
        return xz;
    xz_close(xz);
    return NULL;
}

static int xz_some(void *state, const unsigned char **in, size_t *in_length, unsigned char **out, size_t *out_length)
{
    struct xz *xz = state;
    xz->stream.in = *in;
    xz->stream.in_length = *in_length;
    xz->stream.out = *out;
    xz->stream.out_length = *out_length;
    int status = xz->code(&xz->stream, 0);
    move_on(in, in_length, out, out_length, *in_length - xz->stream.in_length, *out_length - xz->stream.out_length);
    return status == XZ_STREAM_END                     ? 1
           : status == XZ_OK || status == XZ_BUF_ERROR ? 0
           : status == XZ_MEMLIMIT_ERROR               ? -EFBIG
                                                       : -EBADMSG;
}

const struct gt_inflater gt_inflate_xz = {.name = "xz",
                                          .magic = "\xfd\x37zXZ\0",
                                          .magic_length = 6,
                                          .library = "liblzma.so.5",
                                          .unpack = "xz -d",
                                          .open = xz_open,
                                          .inflate = xz_some,
                                          .reset = xz_reset,
                                          .close = xz_close};

/* ---- bzip2: bz_stream of bzlib.h, stable since 1.0 ---- */

enum { BZIP2_OK = 0, BZIP2_STREAM_END = 4 };

struct bzip2_stream {
    const unsigned char *in;
    unsigned in_length, in_total[2];
    unsigned char *out;
    unsigned out_length, out_total[2];
    void *state, *allocate, *release, *opaque;
};

struct bzip2 {
    struct gt_library library;
    int (*init)(struct bzip2_stream *, int verbosity, int small);
    int (*decompress)(struct bzip2_stream *);
    int (*end)(struct bzip2_stream *);
    struct bzip2_stream stream;
};

static void bzip2_close(void *state)
{
    struct bzip2 *bzip2 = state;
    bzip2->end(&bzip2->stream);
    gt_library_close(&bzip2->library);
    free(bzip2);
}

static int bzip2_reset(void *state)
{
    struct bzip2 *bzip2 = state;
    bzip2->end(&bzip2->stream); /* of one that was never begun it does nothing */
    return bzip2->init(&bzip2->stream, 0, 0) == BZIP2_OK ? 0 : -EBADMSG;
}

static void *bzip2_open(void)
{
    static const char *const names[] = {"libbz2.so.1.0", "libbz2.so.1", NULL};
    static const struct gt_symbol symbols[] = {
        GT_SYMBOL(bzip2, init, "BZ2_bzDecompressInit", true),
        GT_SYMBOL(bzip2, decompress, "BZ2_bzDecompress", true),
        GT_SYMBOL(bzip2, end, "BZ2_bzDecompressEnd", true),
    };
    struct bzip2 *bzip2 = open_library(sizeof *bzip2, names, symbols, sizeof symbols / sizeof *symbols);
    if (!bzip2 || bzip2_reset(bzip2) == 0)
        return bzip2;
    bzip2_close(bzip2);
    return NULL;
}

static int bzip2_some(void *state, const unsigned char **in, size_t *in_length, unsigned char **out, size_t *out_length)
{
    struct bzip2 *bzip2 = state;
    unsigned given = at_most(*in_length), room = at_most(*out_length);
    bzip2->stream.in = *in;
    bzip2->stream.in_length = given;
    bzip2->stream.out = *out;
    bzip2->stream.out_length = room;
    int status = bzip2->decompress(&bzip2->stream);
    move_on(in, in_length, out, out_length, given - bzip2->stream.in_length, room - bzip2->stream.out_length);
    return status == BZIP2_STREAM_END ? 1 : status == BZIP2_OK ? 0 : -EBADMSG;
}

const struct gt_inflater gt_inflate_bzip2 = {.name = "bzip2",
                                             .magic = "BZh",
                                             .magic_length = 3,
                                             .library = "libbz2.so.1.0",
                                             .unpack = "bzip2 -d",
                                             .open = bzip2_open,
                                             .inflate = bzip2_some,
                                             .reset = bzip2_reset,
                                             .close = bzip2_close};

const struct gt_inflater *gt_inflater_for(const unsigned char *head, size_t length)
{
    static const struct gt_inflater *const all[] = {&gt_inflate_zlib, &gt_inflate_zstd, &gt_inflate_xz,
                                                    &gt_inflate_bzip2};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (length >= all[i]->magic_length && memcmp(head, all[i]->magic, all[i]->magic_length) == 0)
            return all[i];
    return NULL;
}
