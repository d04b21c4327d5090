#include "trace/input/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buffer.h"
#include "base/os/file.h"
#include "trace/input/inflate.h"
#include "trace/input/zip.h"

enum { COMPRESSED_BLOCK = 256 * 1024, INFLATED_BLOCK = 1024 * 1024, BOMB_RATIO = 1000, MAGIC = 8 };
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
    bool between, at_end; /* between two members; nothing more comes */
    uint64_t limit;       /* compressed bytes that may still be read: those of a zip archive's member */
    bool is_member;
    uint32_t wanted_checksum, checksum;
    char trouble[80]; /* "": none */
};

__attribute__((format(printf, 2, 3))) static void end_early(struct gt_input *input, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(input->trouble, sizeof input->trouble, format, arguments);
    va_end(arguments);
    input->at_end = true;
}

static ssize_t read_some(struct gt_input *input, void *buffer, size_t size, struct gt_error *error)
{
    ssize_t got;
    if (size > input->limit)
        size = (size_t)input->limit;
    do
        got = read(input->fd, buffer, size);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return gt_error_system(error, errno, "%s", input->path);
    input->taken += (uint64_t)got;
    input->limit -= (uint64_t)got;
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

static int open_inflater(struct gt_input *input, const struct gt_inflater *inflater, struct gt_error *error)
{
    input->inflater = inflater;
    input->state = inflater->open();
    if (!input->state && inflater->library)
        return gt_error_set(error, ENOSYS, "%s: compressed by %s, and %s cannot be loaded here: unpack it (%s)",
                            input->path, inflater->name, inflater->library, inflater->unpack);
    input->inflated = malloc(INFLATED_BLOCK);
    return input->state && input->inflated ? 0 : gt_error_system(error, ENOMEM, "%s", input->path);
}

/* A member of an archive is inflated as the archive says. */
static int start(struct gt_input *input, const struct gt_inflater *inflater, struct gt_error *error)
{
    input->block = malloc(COMPRESSED_BLOCK);
    if (!input->block)
        return gt_error_system(error, ENOMEM, "%s", input->path);
    ssize_t got = fill(input, input->block, MAGIC, error);
    if (got < 0)
        return (int)got;
    input->at = input->block;
    input->left = (size_t)got;
    if (!inflater)
        inflater = gt_inflater_for(input->block, (size_t)got);
    return inflater ? open_inflater(input, inflater, error) : 0;
}

/* ---- members of zip archives: "archive.zip/member" ---- */

static const struct gt_inflater *inflater_of(int method)
{
    enum { STORED = 0, DEFLATED = 8, BZIP2 = 12, ZSTD = 93, XZ = 95 };
    return method == STORED     ? &gt_inflate_stored
           : method == DEFLATED ? &gt_inflate_deflate
           : method == BZIP2    ? &gt_inflate_bzip2
           : method == ZSTD     ? &gt_inflate_zstd
           : method == XZ       ? &gt_inflate_xz
                                : NULL;
}

/* The descriptor of the archive that a path leads into; *member is the part of the path behind it. -1: none. */
static int open_archive(const char *path, const char **member)
{
    struct stat about;
    char *prefix = strdup(path);
    int fd = -1;
    for (char *slash = prefix ? strchr(prefix + 1, '/') : NULL; slash && fd < 0; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (stat(prefix, &about) < 0)
            break;
        if (S_ISREG(about.st_mode)) {
            fd = open(prefix, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
            *member = path + (slash - prefix) + 1;
            break;
        }
        *slash = '/';
    }
    free(prefix);
    return fd;
}

static int start_member(struct gt_input *input, const char *name, struct gt_error *error)
{
    struct gt_zip zip;
    int status = gt_zip_list(&zip, input->fd, input->size);
    const struct gt_zip_member *member = status < 0 ? NULL : gt_zip_find(&zip, name);
    const struct gt_inflater *inflater = member ? inflater_of(member->method) : NULL;
    if (status < 0 || !member)
        status = gt_error_system(error, status == -ENOMEM ? ENOMEM : ENOENT, "%s", input->path);
    else if (member->is_encrypted)
        status = gt_error_set(error, EINVAL, "%s: encrypted; unpack it", input->path);
    else if (!inflater)
        status = gt_error_set(error, EINVAL, "%s: compressed by zip's method %d, which is not read; unpack it",
                              input->path, member->method);
    else if (lseek(input->fd, (off_t)member->place, SEEK_SET) < 0)
        status = gt_error_system(error, errno, "%s", input->path);
    if (status >= 0) {
        input->is_member = true;
        input->limit = member->length;
        input->size = member->length < input->size ? member->length : input->size;
        input->wanted_checksum = member->checksum;
        status = start(input, inflater, error);
    }
    gt_zip_release(&zip);
    return status;
}

static int open_path(const char *path, const char **member, struct gt_error *error)
{
    struct gt_error trouble = {0};
    int status = gt_given_file_check(path, &trouble); /* a pipe must not keep us waiting */
    int fd = status == -ENOTDIR || status == -ENOENT ? open_archive(path, member) : -1;
    if (fd >= 0)
        return fd;
    if (status < 0)
        return gt_error_copy(error, &trouble);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd < 0 ? gt_error_system(error, errno, "%s", path) : fd;
}

int gt_input_open(struct gt_input **ret, const char *path, uint64_t ceiling, struct gt_error *error)
{
    struct stat about;
    const char *member = NULL;
    int status = 0, fd = open_path(path, &member, error);
    if (fd < 0)
        return fd;
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
    input->limit = UINT64_MAX;
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    status = member ? start_member(input, member, error) : start(input, NULL, error);
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

static bool begins_member(const struct gt_input *input)
{
    if (input->inflater == &gt_inflate_zstd && (*input->at & 0xf0) == 0x50)
        return true; /* a frame to be skipped */
    return *input->at == (unsigned char)*input->inflater->magic;
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
    if (!begins_member(input) || input->inflater->reset(input->state) < 0)
        end_early(input, "something else follows the %s data", input->inflater->name);
    input->between = false;
}

/* The file ends here: it may do so between members, and at the end of bytes that are stored as they are. */
static void end_input(struct gt_input *input)
{
    bool is_stored = input->inflater == &gt_inflate_stored && !input->limit;
    if (!input->between && !is_stored)
        end_early(input, "the %s data is cut off", input->inflater->name);
    input->at_end = true;
}

static ssize_t inflate_into(struct gt_input *input, char *buffer, size_t size, struct gt_error *error)
{
    unsigned char *out = (unsigned char *)buffer;
    size_t room = size;
    while (room && !input->at_end) {
        size_t left = input->left, before = room;
        if (input->between && left && !input->is_member)
            next_member(input);
        if (input->at_end || (input->between && left && !input->left))
            continue;
        int status = 0;
        if (!input->between)
            status = input->inflater->inflate(input->state, &input->at, &input->left, &out, &room);
        if (status == -EFBIG) {
            end_early(input, "the %s data takes more than 256 MB of memory to read", input->inflater->name);
        } else if (status < 0 || (!status && input->left == left && room == before && left && !input->between)) {
            end_early(input, "the %s data is damaged", input->inflater->name);
        } else if (status > 0) {
            input->between = true;
            input->at_end |= input->is_member;
        } else if (!input->left && room == before) {
            status = refill(input, error);
            if (status < 0)
                return status;
            if (!status)
                end_input(input);
        }
    }
    return (ssize_t)(size - room);
}

/* Archives hold a checksum of each member. */
static void check(struct gt_input *input, const char *bytes, size_t length)
{
    if (!input->is_member)
        return;
    input->checksum = (uint32_t)crc32_z(input->checksum, (const unsigned char *)bytes, length);
    if (input->at_end && !*input->trouble && input->checksum != input->wanted_checksum)
        end_early(input, "the zip data is damaged: its checksum differs");
}

static ssize_t copy_inflated(struct gt_input *input, char *buffer, size_t size, struct gt_error *error)
{
    size_t filled = 0;
    while (filled < size) {
        if (input->inflated_from == input->inflated_to) {
            ssize_t got = inflate_into(input, input->inflated, INFLATED_BLOCK, error);
            if (got < 0)
                return got;
            check(input, input->inflated, (size_t)got);
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
    return *input->trouble ? input->trouble : NULL;
}

int gt_input_whole(struct gt_input *input, size_t most, char **ret, size_t *length, struct gt_error *error)
{
    struct gt_buffer text = {.ceiling = most + INFLATED_BLOCK};
    bool is_small = !input->inflater && input->size < INFLATED_BLOCK;
    size_t block = is_small ? (size_t)input->size + 1 : INFLATED_BLOCK;
    ssize_t got = 0;
    while ((got = gt_buffer_reserve(&text, block)) >= 0) {
        got = gt_input_read(input, text.data + text.length, block, error);
        if (got <= 0)
            break;
        text.length += (size_t)got;
    }
    if (text.failed)
        got = text.failed == -EFBIG ? gt_error_set(error, EFBIG, "%s: more than %zu MB, which is read only as a whole",
                                                   input->path, most >> 20)
                                    : gt_error_system(error, ENOMEM, "%s", input->path);
    if (got < 0) {
        gt_buffer_release(&text);
        return (int)got;
    }
    text.data[text.length] = '\0';
    *ret = text.data;
    *length = text.length;
    return 0;
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

enum { BLOCK = 256 * 1024, LONGEST = 64 << 20 };

static int read_more(struct gt_lines *lines, struct gt_error *error)
{
    struct gt_buffer *text = &lines->text;
    if (lines->at) {
        memmove(text->data, text->data + lines->at, text->length - lines->at);
        text->length -= lines->at;
        lines->offset += lines->at;
        lines->searched -= lines->at;
        lines->at = 0;
    }
    if (text->length > LONGEST) {
        lines->too_long++;
        lines->offset += text->length;
        text->length = lines->searched = 0;
    }
    if (gt_buffer_reserve(text, BLOCK) < 0)
        return gt_error_system(error, ENOMEM, "reading lines");
    ssize_t got = gt_input_read(lines->input, text->data + text->length, BLOCK, error);
    if (got < 0)
        return (int)got;
    lines->at_end = got < BLOCK;
    text->length += (size_t)got;
    return 0;
}

int gt_lines_next(struct gt_lines *lines, struct gt_span *ret, struct gt_error *error)
{
    for (;;) {
        const char *data = lines->text.data;
        const char *end = data ? memchr(data + lines->searched, '\n', lines->text.length - lines->searched) : NULL;
        size_t length = end ? (size_t)(end - data) : lines->text.length;
        if (end || (lines->at_end && length > lines->at)) {
            *ret = (struct gt_span){data + lines->at, length - lines->at};
            ret->length -= ret->length && ret->text[ret->length - 1] == '\r';
            lines->at = lines->searched = length + (end != NULL);
            return 1;
        }
        if (lines->at_end)
            return 0;
        lines->searched = length;
        int status = read_more(lines, error);
        if (status < 0)
            return status;
    }
}

void gt_lines_release(struct gt_lines *lines)
{
    gt_buffer_release(&lines->text);
}
