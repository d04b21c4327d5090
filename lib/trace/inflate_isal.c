/* Intel's storage library inflates five times as fast as zlib. It is optional twice: its header when we are built, the
 * library when we run. */
#include <stddef.h>

#include "trace/input.h"

#if __has_include(<isa-l/igzip_lib.h>)
#include <errno.h>
#include <isa-l/igzip_lib.h>
#include <limits.h>
#include <stdlib.h>

#include "base/library.h"

struct isal {
    struct gt_library library;
    void (*init)(struct inflate_state *);
    void (*reset)(struct inflate_state *);
    int (*inflate)(struct inflate_state *);
    struct inflate_state stream;
};

static void isal_close(void *state)
{
    struct isal *isal = state;
    gt_library_close(&isal->library);
    free(isal);
}

static void *isal_open(void)
{
    static const char *const names[] = {"libisal.so.2", NULL};
    static const struct gt_symbol symbols[] = {
        GT_SYMBOL(isal, init, "isal_inflate_init", true),
        GT_SYMBOL(isal, reset, "isal_inflate_reset", true),
        GT_SYMBOL(isal, inflate, "isal_inflate", true),
    };
    struct isal *isal = calloc(1, sizeof *isal);
    if (!isal)
        return NULL;
    if (gt_library_open(&isal->library, NULL, names, symbols, sizeof symbols / sizeof *symbols, isal, NULL) < 0) {
        free(isal);
        return NULL;
    }
    isal->init(&isal->stream);
    isal->stream.crc_flag = ISAL_GZIP;
    return isal;
}

static int inflate_some(void *state, const unsigned char **in, size_t *in_length, unsigned char **out,
                        size_t *out_length)
{
    struct isal *isal = state;
    uint32_t given = *in_length > INT_MAX ? INT_MAX : (uint32_t)*in_length;
    uint32_t room = *out_length > INT_MAX ? INT_MAX : (uint32_t)*out_length;
    isal->stream.next_in = (uint8_t *)(uintptr_t)*in;
    isal->stream.avail_in = given;
    isal->stream.next_out = *out;
    isal->stream.avail_out = room;
    int status = isal->inflate(&isal->stream);
    *in += given - isal->stream.avail_in;
    *in_length -= given - isal->stream.avail_in;
    *out += room - isal->stream.avail_out;
    *out_length -= room - isal->stream.avail_out;
    if (status < 0)
        return -EBADMSG;
    return isal->stream.block_state == ISAL_BLOCK_FINISH;
}

static int isal_reset(void *state)
{
    struct isal *isal = state;
    isal->reset(&isal->stream);
    isal->stream.crc_flag = ISAL_GZIP;
    return 0;
}

const struct gt_inflater gt_inflate_isal = {isal_open, inflate_some, isal_reset, isal_close};

#else

static void *not_built(void)
{
    return NULL;
}

const struct gt_inflater gt_inflate_isal = {not_built, NULL, NULL, NULL};

#endif
