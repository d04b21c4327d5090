#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/given_file.h"
#include "base/library.h"
#include "trace/input.h"

/* ---- ISA-L: Intel's storage library inflates faster than zlib. It is optional twice: its header when we are built,
 * the library when we run. ---- */

#if __has_include(<isa-l/igzip_lib.h>)
#include <isa-l/igzip_lib.h>

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

/* ---- zlib ---- */

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

/* ---- the file ---- */

enum { COMPRESSED_BLOCK = 256 * 1024, INFLATED_BLOCK = 1024 * 1024, BOMB_RATIO = 1000 };
#define BOMB_ALLOWANCE (UINT64_C(256) << 20)
#define DEFAULT_CEILING (UINT64_C(1) << 40)

struct gt_input {
    int fd;
    char *path;
    uint64_t size, ceiling, taken, given; /* bytes on disk; allowed; read from the file; handed out */
    const struct gt_inflater *inflater;   /* NULL: plain */
    void *state;
    unsigned char *block;
    const unsigned char *at;
    size_t left;
    char *inflated; /* always as much at a time, so that damage ends it at one place whatever the callers ask for */
    size_t inflated_from, inflated_to;
    bool between, at_end; /* between two gzip members; nothing more comes */
    const char *trouble;
};

static ssize_t read_some(struct gt_input *input, void *buffer, size_t size, struct gt_error *error)
{
    ssize_t got;
    do
        got = read(input->fd, buffer, size);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return gt_error_system(error, errno, "%s", input->path);
    input->taken += (uint64_t)got;
    return got;
}

static ssize_t fill(struct gt_input *input, void *buffer, size_t size, struct gt_error *error)
{
    size_t filled = 0;
    while (filled < size) {
        ssize_t got = read_some(input, (char *)buffer + filled, size - filled, error);
        if (got < 0)
            return got;
        if (!got)
            break;
        filled += (size_t)got;
    }
    return (ssize_t)filled;
}

static int start(struct gt_input *input, struct gt_error *error)
{
    input->block = malloc(COMPRESSED_BLOCK);
    if (!input->block)
        return gt_error_system(error, ENOMEM, "%s", input->path);
    ssize_t got = fill(input, input->block, 2, error);
    if (got < 0)
        return (int)got;
    input->at = input->block;
    input->left = (size_t)got;
    if (got < 2 || input->block[0] != 0x1f || input->block[1] != 0x8b)
        return 0;
    input->inflater = &gt_inflate_isal;
    input->state = input->inflater->open();
    if (!input->state) {
        input->inflater = &gt_inflate_zlib;
        input->state = input->inflater->open();
    }
    input->inflated = malloc(INFLATED_BLOCK);
    return input->state && input->inflated ? 0 : gt_error_system(error, ENOMEM, "%s", input->path);
}

int gt_input_open(struct gt_input **ret, const char *path, uint64_t ceiling, struct gt_error *error)
{
    struct stat about;
    int status = gt_given_file_check(path, error); /* a pipe must not keep us waiting */
    if (status < 0)
        return status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return gt_error_system(error, errno, "%s", path);
    struct gt_input *input = calloc(1, sizeof *input);
    char *copy = strdup(path);
    if (!input || !copy)
        status = gt_error_system(error, ENOMEM, "%s", path);
    else if (fstat(fd, &about) < 0)
        status = gt_error_system(error, errno, "%s", path);
    else if (!S_ISREG(about.st_mode))
        status = gt_error_set(error, EINVAL, "%s: not a regular file", path);
    if (status < 0) {
        free(input);
        free(copy);
        close(fd);
        return status;
    }
    input->fd = fd;
    input->path = copy;
    input->size = (uint64_t)about.st_size;
    input->ceiling = ceiling ? ceiling : DEFAULT_CEILING;
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    status = start(input, error);
    if (status < 0)
        gt_input_close(input);
    else
        *ret = input;
    return status;
}

/* The next compressed bytes; false at the end of the file. */
static int refill(struct gt_input *input, struct gt_error *error)
{
    ssize_t got = read_some(input, input->block, COMPRESSED_BLOCK, error);
    if (got < 0)
        return (int)got;
    input->at = input->block;
    input->left = (size_t)got;
    return got > 0;
}

/* Zeros that pad the file are no member; anything else but another header is not ours. */
static void next_member(struct gt_input *input)
{
    while (input->left && !*input->at) {
        input->at++;
        input->left--;
    }
    if (!input->left)
        return;
    if (*input->at != 0x1f || input->inflater->reset(input->state) < 0) {
        input->trouble = "something else follows the gzip data";
        input->at_end = true;
    }
    input->between = false;
}

static ssize_t inflate_into(struct gt_input *input, char *buffer, size_t size, struct gt_error *error)
{
    unsigned char *out = (unsigned char *)buffer;
    size_t room = size;
    while (room && !input->at_end) {
        size_t left = input->left, before = room;
        if (input->between && left)
            next_member(input);
        if (input->at_end || (input->between && left && !input->left))
            continue;
        int status = 0;
        if (!input->between)
            status = input->inflater->inflate(input->state, &input->at, &input->left, &out, &room);
        if (status < 0) {
            input->trouble = "the gzip data is damaged";
            input->at_end = true;
        } else if (status > 0) {
            input->between = true;
        } else if (input->left == left && room == before && left && !input->between) {
            input->trouble = "the gzip data is damaged";
            input->at_end = true;
        } else if (!input->left && room == before) {
            status = refill(input, error);
            if (status < 0)
                return status;
            if (!status) {
                input->at_end = true;
                if (!input->between)
                    input->trouble = "the gzip data is cut off";
            }
        }
    }
    return (ssize_t)(size - room);
}

static ssize_t copy_inflated(struct gt_input *input, char *buffer, size_t size, struct gt_error *error)
{
    size_t filled = 0;
    while (filled < size) {
        if (input->inflated_from == input->inflated_to) {
            ssize_t got = inflate_into(input, input->inflated, INFLATED_BLOCK, error);
            if (got < 0)
                return got;
            if (!got)
                break;
            input->inflated_from = 0;
            input->inflated_to = (size_t)got;
        }
        size_t left = input->inflated_to - input->inflated_from;
        size_t length = left < size - filled ? left : size - filled;
        memcpy(buffer + filled, input->inflated + input->inflated_from, length);
        input->inflated_from += length;
        filled += length;
    }
    return (ssize_t)filled;
}

static ssize_t copy_into(struct gt_input *input, char *buffer, size_t size, struct gt_error *error)
{
    size_t first = input->left < size ? input->left : size;
    memcpy(buffer, input->at, first);
    input->at += first;
    input->left -= first;
    ssize_t more = fill(input, buffer + first, size - first, error);
    return more < 0 ? more : (ssize_t)first + more;
}

ssize_t gt_input_read(struct gt_input *input, char *buffer, size_t size, struct gt_error *error)
{
    ssize_t got = input->inflater ? copy_inflated(input, buffer, size, error) : copy_into(input, buffer, size, error);
    if (got <= 0)
        return got;
    input->given += (uint64_t)got;
    if (input->inflater && input->given > input->ceiling)
        return gt_error_set(error, EFBIG, "%s: inflates to more than %llu bytes", input->path,
                            (unsigned long long)input->ceiling);
    if (input->inflater && input->given > BOMB_ALLOWANCE && input->given / BOMB_RATIO > input->taken)
        return gt_error_set(error, EFBIG, "%s: inflates to more than %d times its size", input->path, BOMB_RATIO);
    return got;
}

const char *gt_input_trouble(const struct gt_input *input)
{
    return input->trouble;
}

bool gt_input_is_compressed(const struct gt_input *input)
{
    return input->inflater;
}

uint64_t gt_input_size(const struct gt_input *input)
{
    return input->size;
}

void gt_input_close(struct gt_input *input)
{
    if (!input)
        return;
    if (input->state)
        input->inflater->close(input->state);
    free(input->block);
    free(input->inflated);
    free(input->path);
    close(input->fd);
    free(input);
}
