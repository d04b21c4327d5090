#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "trace/input.h"

static void *zlib_open(void)
{
    z_stream *stream = calloc(1, sizeof *stream);
    if (stream && inflateInit2(stream, 15 + 16) != Z_OK) { /* gzip only */
        free(stream);
        stream = NULL;
    }
    return stream;
}

static int zlib_inflate(void *state, const unsigned char **in, size_t *in_length, unsigned char **out,
                        size_t *out_length)
{
    z_stream *stream = state;
    uInt given = *in_length > INT_MAX ? INT_MAX : (uInt)*in_length;
    uInt room = *out_length > INT_MAX ? INT_MAX : (uInt)*out_length;
    stream->next_in = (z_const Bytef *)(uintptr_t)*in;
    stream->avail_in = given;
    stream->next_out = *out;
    stream->avail_out = room;
    int status = inflate(stream, Z_NO_FLUSH);
    *in += given - stream->avail_in;
    *in_length -= given - stream->avail_in;
    *out += room - stream->avail_out;
    *out_length -= room - stream->avail_out;
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

const struct gt_inflater gt_inflate_zlib = {zlib_open, zlib_inflate, zlib_reset, zlib_close};
