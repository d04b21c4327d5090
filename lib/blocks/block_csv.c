/* Sub-tracking files as CSV. A row is one write(2) at the end of the file, inside one page: whoever reads the file finds whole
 * rows, whenever, and so does who finds it after a kill. See gt_file_page_rest.
 *
 * The descriptor is one of the program we live in, which may close it and use its number again. So it gets a high number,
 * and its position has to be where the last row left it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/os/file.h"
#include "blocks/block.h"

enum {
    QUOTED_NAME_MAX = 2 * GT_BLOCK_NAME_MAX + 3,
    LINE_MAX_BYTES = QUOTED_NAME_MAX + 200,
    USUAL = 200,             /* bytes of a row */
    GROWTH = 16,             /* by how many digits the next row may be longer than any before */
    LOWEST_DESCRIPTOR = 500, /* out of the way of those that the program opens */
    CHECK_NS = 5 * 1000,     /* rows closer to each other do not check again whether another process writes, */
    LOOK_NS = 20 * 1000,     /* nor look again whether the file is where it was */
};

struct csv_file {
    pthread_mutex_t mutex;
    int fd;
    bool is_alone;                 /* no other process has written to a shared file yet */
    off_t end;                     /* where the last row of this process ended */
    off_t limit;                   /* of a file's size: beyond it a signal would end the program */
    size_t longest;                /* row so far, or USUAL */
    int64_t checked_ns, looked_ns; /* monotonic clock */
};

/* ---- a row as text ---- */

static const char pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354"
    "5556575859606162636465666768697071727374757677787980818283848586878889909192939495969798"
    "99";

static char *put_unsigned(char *at, uint64_t value)
{
    char text[20], *start = text + sizeof text;
    for (; value >= 100; value /= 100)
        memcpy(start -= 2, pairs + value % 100 * 2, 2);
    if (value >= 10)
        memcpy(start -= 2, pairs + value * 2, 2);
    else
        *--start = (char)('0' + value);
    size_t length = (size_t)(text + sizeof text - start);
    memcpy(at, start, length);
    return at + length;
}

/* Nanoseconds as seconds with nine decimals. */
static char *put_seconds(char *at, int64_t ns)
{
    if (ns < 0)
        *at++ = '-';
    uint64_t value = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    at = put_unsigned(at, value / 1000000000);
    uint32_t fraction = (uint32_t)(value % 1000000000);
    *at++ = '.';
    at[8] = (char)('0' + fraction % 10);
    fraction /= 10;
    for (int i = 6; i >= 0; i -= 2, fraction /= 100)
        memcpy(at + i, pairs + fraction % 100 * 2, 2);
    return at + 9;
}

/* A row as a line of CSV, \r\n included, without quoting the name; returns its length. `line` has
 * GT_BLOCK_NAME_MAX + 200 bytes. */
static size_t event_line(char *line, const struct gt_block_event_row *row, size_t name_length)
{
    char *at = put_unsigned(line, (uint64_t)row->process);
    *at++ = ',';
    memcpy(at, row->name, name_length);
    at += name_length;
    *at++ = ',';
    *at++ = (char)('0' + row->position);
    *at++ = ',';
    at = put_seconds(at, row->real_ns);
    *at++ = ',';
    at = put_unsigned(at, (uint64_t)row->thread);
    *at++ = ',';
    at = put_unsigned(at, row->call);
    *at++ = ',';
    if (row->total)
        at = put_unsigned(at, row->total);
    *at++ = ',';
    at = put_seconds(at, row->monotonic_ns);
    *at++ = ',';
    if (row->cpu_ns >= 0)
        at = put_seconds(at, row->cpu_ns);
    *at++ = '\r';
    *at++ = '\n';
    return (size_t)(at - line);
}

/* Bytes of the name that are written, and whether it must be quoted. */
static size_t name_length(const char *name, bool *quoted)
{
    size_t length = 0;
    *quoted = false;
    for (; name[length]; length++) {
        char c = name[length];
        *quoted |= c == ',' || c == '"' || c == '\r' || c == '\n';
    }
    return length;
}

/* ---- the file ---- */

static int keep_high(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR);
    if (high < 0)
        return fd;
    close(fd);
    return high;
}

/* A descriptor that is not ours any more is left alone. */
static int reopen(struct gt_block_file *file)
{
    struct csv_file *csv = file->state;
    struct stat facts;
    csv->fd = -1;
    int fd = open(file->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    int status = fstat(fd, &facts) < 0 || (csv->end = lseek(fd, 0, SEEK_END)) < 0 ? -errno : 0;
    if (status == 0 && (facts.st_dev != file->device || facts.st_ino != file->inode))
        status = -ENOENT;
    if (status < 0)
        close(fd);
    else
        csv->fd = keep_high(fd);
    struct rlimit limit;
    bool limited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < INT64_MAX;
    csv->limit = limited ? (off_t)limit.rlim_cur : INT64_MAX;
    return status;
}

static bool is_ours(const struct csv_file *csv)
{
    return csv->fd >= 0 && lseek(csv->fd, 0, SEEK_CUR) == csv->end;
}

/* Removed: nobody will find the rows. Whoever renames a shared file has taken it away as well. */
static int look(struct gt_block_file *file, int64_t now_ns)
{
    struct csv_file *csv = file->state;
    struct statx facts = {0};
    struct stat found;
    int status = is_ours(csv) ? 0 : reopen(file);
    csv->looked_ns = now_ns;
    if (status < 0)
        return status;
    if (!file->is_shared)
        return statx(csv->fd, "", AT_EMPTY_PATH, STATX_NLINK, &facts) == 0 && facts.stx_nlink == 0 ? -ENOENT : 0;
    if (stat(file->path, &found) < 0)
        return -errno;
    bool is_there = found.st_dev == file->device && found.st_ino == file->inode && found.st_size > 0;
    return is_there ? 0 : -ENOENT;
}

void gt_block_csv_header(struct gt_buffer *line)
{
    for (int i = 0; i < GT_BLOCK_EVENT_COLUMNS; i++)
        gt_buffer_printf(line, "%s%s", gt_block_event_columns[i], i + 1 < GT_BLOCK_EVENT_COLUMNS ? "," : "\r\n");
}

static int make_csv(int fd, const char *path, struct gt_error *error)
{
    struct gt_buffer line = {0};
    gt_block_csv_header(&line);
    ssize_t written = line.failed ? 0 : write(fd, line.data, line.length);
    int status = line.failed ? line.failed : written < 0 ? -errno : written < (ssize_t)line.length ? -ENOSPC : 0;
    gt_buffer_release(&line);
    return status < 0 ? gt_error_system(error, -status, "%s", path) : 0;
}

static int open_csv(struct gt_block_file *file, struct gt_error *error)
{
    struct csv_file *csv = calloc(1, sizeof *csv);
    int status = csv ? 0 : -ENOMEM;
    file->state = csv;
    if (status == 0) {
        pthread_mutex_init(&csv->mutex, NULL);
        csv->fd = -1;
        status = reopen(file);
        csv->is_alone = file->is_new;
        csv->longest = USUAL;
    }
    if (status < 0) {
        free(csv);
        return gt_error_system(error, -status, "%s", file->path);
    }
    return 0;
}

/* ---- rows ---- */

/* "a ""b"" c" for a name with quotes, commas or line breaks. */
static size_t quote(char *ret, const char *name, size_t length)
{
    size_t at = 0;
    ret[at++] = '"';
    for (size_t i = 0; i < length; i++) {
        if (name[i] == '"')
            ret[at++] = '"';
        ret[at++] = name[i];
    }
    ret[at++] = '"';
    return at;
}

/* What follows the last number of a row whose last bytes are `end`: "\r\n", or ",\r\n" without CPU time; 0: that is no row. */
static size_t tail_of(const char end[static 4])
{
    size_t tail = end[1] == ',' ? 3 : 2;
    char digit = end[3 - tail];
    return end[2] == '\r' && end[3] == '\n' && digit >= '0' && digit <= '9' ? tail : 0;
}

/* Zeros behind the last number, so that the next row does not cross the end of a page. */
static size_t stretch(struct csv_file *csv, char *line, size_t length, off_t at)
{
    csv->longest = length > csv->longest ? length : csv->longest;
    size_t zeros = gt_file_page_rest(at + (off_t)length, csv->longest + GROWTH);
    if (zeros) {
        size_t tail = tail_of(line + length - 4);
        memmove(line + length + zeros - tail, line + length - tail, tail);
        memset(line + length - tail, '0', zeros);
    }
    return length + zeros;
}

/* The same on the row that lies there already, for a row that is longer than any before. Returns where the file ends then. */
static off_t fill_page(struct gt_block_file *file, off_t at)
{
    struct csv_file *csv = file->state;
    char bytes[GT_PAGE + 3], end[4] = "";
    struct stat facts;
    size_t zeros = GT_PAGE - (size_t)at % GT_PAGE;
    int fd = open(file->path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    bool is_row = fd >= 0 && fstat(fd, &facts) == 0 && facts.st_dev == file->device && facts.st_ino == file->inode &&
                  pread(fd, end, 4, at - 4) == 4;
    size_t tail = is_row ? tail_of(end) : 0, length = zeros + tail;
    memset(bytes, '0', zeros);
    memcpy(bytes + zeros, end + 4 - tail, tail);
    if (tail && at + (off_t)zeros <= csv->limit && pwrite(fd, bytes, length, at - (off_t)tail) == (ssize_t)length)
        at = csv->end = lseek(csv->fd, at + (off_t)zeros, SEEK_SET);
    gt_close_fd(fd);
    return at;
}

/* The row at the end of the file, which is `at`. What a full disk cut off is taken back. -EAGAIN: it would cross the end of a
 * page, and that is not wanted. */
static int append(struct csv_file *csv, struct gt_block_event_row *row, off_t at, bool may_cross)
{
    char line[LINE_MAX_BYTES + GT_PAGE], name[QUOTED_NAME_MAX];
    struct gt_block_event_row as_written = *row;
    bool quoted;
    size_t length = name_length(row->name, &quoted);
    if (quoted) {
        length = quote(name, row->name, length);
        as_written.name = name;
    }
    if (row->position == GT_START)
        row->call = as_written.call = (uint64_t)at; /* its place in the file: unique and free */
    length = event_line(line, &as_written, length);
    if (!may_cross && (size_t)at % GT_PAGE + length > GT_PAGE)
        return -EAGAIN;
    length = stretch(csv, line, length, at);
    if (at > csv->limit - (off_t)length)
        return -EFBIG;
    ssize_t written = write(csv->fd, line, length);
    if (written == (ssize_t)length) {
        csv->end = at + written;
        return 0;
    }
    int status = written < 0 ? -errno : -ENOSPC;
    if (written > 0 && ftruncate(csv->fd, at) < 0)
        status = -errno;
    return status;
}

/* Nobody else writes: to a file of this process's own, or with the lock held. */
static int append_alone(struct gt_block_file *file, struct gt_block_event_row *row, off_t at)
{
    struct csv_file *csv = file->state;
    int status = append(csv, row, at, false);
    return status == -EAGAIN ? append(csv, row, fill_page(file, at), true) : status;
}

static int append_locked(struct gt_block_file *file, struct gt_block_event_row *row)
{
    struct csv_file *csv = file->state;
    struct statx facts = {0};
    while (flock(csv->fd, LOCK_EX) < 0 && errno == EINTR)
        continue; /* few file systems have none */
    int status = statx(csv->fd, "", AT_EMPTY_PATH, STATX_SIZE | STATX_NLINK, &facts) < 0 ? -errno : 0;
    if (status == 0)
        status = facts.stx_nlink == 0 ? -ENOENT : append_alone(file, row, (off_t)facts.stx_size);
    flock(csv->fd, LOCK_UN);
    return status;
}

/* Among several processes. The first to write needs no lock until it finds the rows of another. */
static int append_shared(struct gt_block_file *file, struct gt_block_event_row *row)
{
    struct csv_file *csv = file->state;
    struct statx facts = {0};
    int status = 0;
    if (csv->is_alone && row->monotonic_ns - csv->checked_ns >= CHECK_NS) {
        csv->checked_ns = row->monotonic_ns;
        status = statx(csv->fd, "", AT_EMPTY_PATH, STATX_SIZE | STATX_NLINK, &facts) < 0 ? -errno : 0;
        if (status == 0 && facts.stx_nlink == 0)
            status = -ENOENT;
        csv->is_alone = (off_t)facts.stx_size == csv->end;
    }
    if (status == 0)
        status = csv->is_alone ? append(csv, row, csv->end, false) : -EAGAIN;
    return status == -EAGAIN ? append_locked(file, row) : status;
}

static int write_csv(struct gt_block_file *file, struct gt_block_event_row *row)
{
    struct csv_file *csv = file->state;
    int status = 0;
    pthread_mutex_lock(&csv->mutex);
    if (row->monotonic_ns - csv->looked_ns >= LOOK_NS)
        status = look(file, row->monotonic_ns);
    if (status == 0)
        status = file->is_shared ? append_shared(file, row) : append_alone(file, row, csv->end);
    pthread_mutex_unlock(&csv->mutex);
    return status;
}

static void close_csv(struct gt_block_file *file)
{
    struct csv_file *csv = file->state;
    if (is_ours(csv))
        close(csv->fd);
    csv->fd = -1;
}

/* The number still means the file unless the program has closed it. */
static int disown_csv(struct gt_block_file *file)
{
    struct csv_file *csv = file->state;
    struct stat facts;
    if (csv->fd >= 0 && fstat(csv->fd, &facts) == 0 && facts.st_dev == file->device && facts.st_ino == file->inode)
        close(csv->fd);
    csv->fd = -1;
    return 0;
}

const struct gt_block_writer gt_block_csv = {
    .suffix = ".csv",
    .make = make_csv,
    .open = open_csv,
    .write = write_csv,
    .close = close_csv,
    .disown = disown_csv,
};
