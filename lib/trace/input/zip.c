#include "trace/input/zip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"

enum {
    LOCAL_SIZE = 30,
    ENTRY_SIZE = 46,
    END_SIZE = 22,
    END64_SIZE = 56,
    LOCATOR_SIZE = 20,
    MOST_COMMENT = 65535,
    ENCRYPTED = 1,
};
#define LOCAL "PK\3\4"
#define ENTRY "PK\1\2"
#define END "PK\5\6"
#define END64 "PK\6\6"
#define LOCATOR "PK\6\7"
#define MOST_DIRECTORY (UINT64_C(256) << 20)

static uint64_t number(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

static bool read_at(int fd, void *buffer, size_t length, uint64_t place)
{
    for (size_t filled = 0; filled < length;) {
        if (place > INT64_MAX - length)
            return false;
        ssize_t got = pread(fd, (char *)buffer + filled, length - filled, (off_t)(place + filled));
        if (got <= 0 && !(got < 0 && errno == EINTR))
            return false;
        filled += got > 0 ? (size_t)got : 0;
    }
    return true;
}

bool gt_zip_begins(const void *head, size_t length)
{
    return length >= 4 && memcmp(head, LOCAL, 4) == 0;
}

/* Folders end in a slash, and have nothing to read. */
static int add_member(struct gt_zip *zip, const struct gt_zip_member *found, const unsigned char *name, size_t length)
{
    if (!length || name[length - 1] == '/' || memchr(name, '\0', length))
        return 0;
    struct gt_zip_member *member = GT_GROW(zip, member);
    if (!member)
        return -ENOMEM;
    *member = *found;
    member->name = strndup((const char *)name, length);
    return member->name ? 0 : -ENOMEM;
}

/* ---- the directory at the end ---- */

struct directory {
    uint64_t place, length;
};

static bool find_end64(int fd, uint64_t end, struct directory *ret)
{
    unsigned char locator[LOCATOR_SIZE], record[END64_SIZE];
    if (end < LOCATOR_SIZE || !read_at(fd, locator, sizeof locator, end - LOCATOR_SIZE) ||
        memcmp(locator, LOCATOR, 4) != 0 || !read_at(fd, record, sizeof record, number(locator + 8, 8)) ||
        memcmp(record, END64, 4) != 0)
        return false;
    *ret = (struct directory){number(record + 48, 8), number(record + 40, 8)};
    return true;
}

/* Its last record stands at the end, before a comment. */
static bool find_directory(int fd, uint64_t size, struct directory *ret)
{
    size_t length = size < END_SIZE + MOST_COMMENT ? (size_t)size : END_SIZE + MOST_COMMENT;
    unsigned char *tail = malloc(length + 1);
    bool found = false;
    if (!tail || length < END_SIZE || !read_at(fd, tail, length, size - length)) {
        free(tail);
        return false;
    }
    for (size_t at = length - END_SIZE + 1; at-- > 0 && !found;) {
        if (memcmp(tail + at, END, 4) != 0 || at + END_SIZE + number(tail + at + 20, 2) > length)
            continue;
        *ret = (struct directory){number(tail + at + 16, 4), number(tail + at + 12, 4)};
        found = (ret->place != UINT32_MAX && ret->length != UINT32_MAX) || find_end64(fd, size - length + at, ret);
    }
    free(tail);
    return found && ret->place <= size && ret->length <= size - ret->place;
}

/* Numbers that do not fit in four bytes stand in the extra field 1, in this order. */
static void read_extra(const unsigned char *extra, size_t length, uint64_t *inflated, uint64_t *compressed,
                       uint64_t *place)
{
    uint64_t *const wide[] = {inflated, compressed, place};
    for (size_t at = 0; at + 4 <= length; at += 4 + number(extra + at + 2, 2)) {
        size_t from = at + 4, end = from + number(extra + at + 2, 2);
        if (number(extra + at, 2) != 1)
            continue;
        for (int i = 0; i < 3; i++)
            if (*wide[i] == UINT32_MAX && from + 8 <= end && end <= length) {
                *wide[i] = number(extra + from, 8);
                from += 8;
            }
    }
}

/* `place` is that of the header before the bytes, whose own length can differ from the directory's. */
static bool find_bytes(int fd, uint64_t place, uint64_t *ret)
{
    unsigned char local[LOCAL_SIZE];
    if (!read_at(fd, local, sizeof local, place) || memcmp(local, LOCAL, 4) != 0)
        return false;
    *ret = place + LOCAL_SIZE + number(local + 26, 2) + number(local + 28, 2);
    return true;
}

static int add_entry(struct gt_zip *zip, int fd, uint64_t size, const unsigned char *entry)
{
    size_t name = number(entry + 28, 2), extra = number(entry + 30, 2);
    uint64_t compressed = number(entry + 20, 4), inflated = number(entry + 24, 4), place = number(entry + 42, 4);
    read_extra(entry + ENTRY_SIZE + name, extra, &inflated, &compressed, &place);
    struct gt_zip_member member = {.length = compressed,
                                   .checksum = (uint32_t)number(entry + 16, 4),
                                   .method = (uint16_t)number(entry + 10, 2),
                                   .is_encrypted = number(entry + 8, 2) & ENCRYPTED};
    if (!find_bytes(fd, place, &member.place) || member.place > size)
        return 0;
    return add_member(zip, &member, entry + ENTRY_SIZE, name);
}

static int list_directory(struct gt_zip *zip, int fd, uint64_t size, const struct directory *directory)
{
    if (directory->length > MOST_DIRECTORY)
        return -EFBIG;
    size_t length = (size_t)directory->length;
    unsigned char *bytes = malloc(length + 1);
    int status = !bytes ? -ENOMEM : read_at(fd, bytes, length, directory->place) ? 0 : -EBADMSG;
    for (size_t at = 0; status >= 0 && at + ENTRY_SIZE <= length && memcmp(bytes + at, ENTRY, 4) == 0;) {
        size_t whole = ENTRY_SIZE + number(bytes + at + 28, 2) + number(bytes + at + 30, 2) +
                       number(bytes + at + 32, 2);
        if (whole > length - at)
            break;
        status = add_entry(zip, fd, size, bytes + at);
        at += whole;
    }
    free(bytes);
    return status;
}

int gt_zip_list(struct gt_zip *ret, int fd, uint64_t size)
{
    struct directory directory;
    unsigned char head[4];
    *ret = (struct gt_zip){0};
    if (!read_at(fd, head, sizeof head, 0) || !gt_zip_begins(head, sizeof head))
        return -EBADMSG;
    int status = find_directory(fd, size, &directory) ? list_directory(ret, fd, size, &directory) : -EBADMSG;
    if (status < 0)
        gt_zip_release(ret);
    return status;
}

const struct gt_zip_member *gt_zip_find(const struct gt_zip *zip, const char *name)
{
    for (size_t i = 0; i < zip->member_count; i++)
        if (strcmp(zip->member[i].name, name) == 0)
            return &zip->member[i];
    return NULL;
}

void gt_zip_release(struct gt_zip *zip)
{
    for (size_t i = 0; i < zip->member_count; i++)
        free(zip->member[i].name);
    free(zip->member);
    *zip = (struct gt_zip){0};
}
