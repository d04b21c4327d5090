/* Sub-tracking files as CSV, written by storing into a shared mapping: no system call and no lock for a row.
 *
 * A thread takes a chunk of the file for itself. A chunk is first filled with line feeds by pwrite, so that a full disk
 * shows there and not as a signal at a store into the mapping, and so that what is never used reads as blank lines, which
 * CSV readers skip. Rows end in \r\n, written last: a row that a kill tore apart ends in a bare line feed. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/csv.h"
#include "sample/block.h"

enum { FILLER = 4096, CHUNK_SMALLEST = 4096, CHUNK_LARGEST = 256 * 1024 };

struct chunk {
    struct chunk *next; /* in the file's list of all, or of free ones */
    char *memory;
    size_t offset, size, used;
};

struct csv_file {
    pthread_mutex_t mutex; /* taken when a chunk is, some hundred rows apart */
    size_t end;            /* of the file */
    struct chunk *spare;   /* left over by threads that ended */
    struct chunk *last;    /* the chunk at the end of the file, while it is mapped */
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

size_t gt_border_line(char *line, const struct gt_border_row *row, size_t name_length)
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
    at = put_seconds(at, row->monotonic_ns);
    *at++ = ',';
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
        if (length == GT_BLOCK_NAME_MAX) {
            while (length && ((unsigned char)name[length] & 0xc0) == 0x80)
                length--; /* not in the middle of a character */
            break;
        }
    }
    return length;
}

/* ---- chunks ---- */

static int fill(int fd, size_t offset, size_t size)
{
    char filler[FILLER];
    struct iovec part[CHUNK_LARGEST / FILLER];
    memset(filler, '\n', sizeof filler);
    while (size > 0) {
        int count = 0;
        for (size_t left = size; left > 0 && count < CHUNK_LARGEST / FILLER; count++) {
            part[count] = (struct iovec){.iov_base = filler, .iov_len = left < FILLER ? left : FILLER};
            left -= part[count].iov_len;
        }
        ssize_t written = pwritev(fd, part, count, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? -errno : -EIO;
        offset += (size_t)written;
        size -= (size_t)written;
    }
    return 0;
}

/* Add a chunk of `size` bytes at the end. The file is opened anew each time: a descriptor kept open could be closed, and its
 * number reused, by the program we live in. */
static int grow(struct gt_block_file *file, struct chunk *chunk, size_t size)
{
    struct csv_file *csv = file->state;
    int fd = open(file->path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int status = fill(fd, csv->end, size);
    if (status < 0 && ftruncate(fd, (off_t)csv->end) < 0)
        status = -errno;
    void *memory = MAP_FAILED;
    if (status == 0) {
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, (off_t)csv->end);
        if (memory == MAP_FAILED)
            status = -errno;
    }
    close(fd);
    if (status < 0)
        return status;
    *chunk = (struct chunk){.memory = memory, .offset = csv->end, .size = size};
    csv->end += size;
    csv->last = chunk;
    return 0;
}

static struct chunk *take_spare(struct csv_file *csv, size_t needed)
{
    for (struct chunk **link = &csv->spare; *link; link = &(*link)->next)
        if ((*link)->size - (*link)->used >= needed) {
            struct chunk *chunk = *link;
            *link = chunk->next;
            return chunk;
        }
    return NULL;
}

static size_t next_size(const struct chunk *previous)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = previous ? previous->size * 4 : CHUNK_SMALLEST;
    size = size < CHUNK_LARGEST ? size : CHUNK_LARGEST;
    return (size + page - 1) / page * page;
}

/* Replace `*place` by a chunk that has room for `needed` bytes. */
static int take_chunk(struct gt_block_file *file, void **place, size_t needed)
{
    struct csv_file *csv = file->state;
    struct chunk *previous = *place;
    int status = 0;
    pthread_mutex_lock(&csv->mutex);
    struct chunk *chunk = take_spare(csv, needed);
    if (!chunk) {
        chunk = calloc(1, sizeof *chunk);
        status = chunk ? grow(file, chunk, next_size(previous)) : -ENOMEM;
    }
    if (status == 0 && previous && csv->last == previous)
        csv->last = NULL;
    pthread_mutex_unlock(&csv->mutex);
    if (status < 0) {
        free(chunk);
        return status;
    }
    if (previous) {
        munmap(previous->memory, previous->size);
        free(previous);
    }
    *place = chunk;
    return 0;
}

/* ---- the writer ---- */

static int open_csv(struct gt_block_file *file, struct gt_error *error)
{
    struct csv_file *csv = calloc(1, sizeof *csv);
    struct chunk *chunk = calloc(1, sizeof *chunk);
    int status = csv && chunk ? 0 : -ENOMEM;
    if (status == 0) {
        pthread_mutex_init(&csv->mutex, NULL);
        file->state = csv;
        status = grow(file, chunk, next_size(NULL));
    }
    if (status < 0) {
        free(csv);
        free(chunk);
        return gt_error_system(error, -status, "%s", file->path);
    }
    for (int i = 0; i < GT_BORDER_COLUMNS; i++) {
        const char *name = gt_border_columns[i];
        memcpy(chunk->memory + chunk->used, name, strlen(name));
        chunk->used += strlen(name);
        memcpy(chunk->memory + chunk->used, i + 1 < GT_BORDER_COLUMNS ? "," : "\r\n",
               i + 1 < GT_BORDER_COLUMNS ? 1 : 2);
        chunk->used += i + 1 < GT_BORDER_COLUMNS ? 1 : 2;
    }
    csv->spare = chunk;
    return 0;
}

/* A name with quotes, commas or line breaks. A tear inside quotes would swallow what follows, so this row goes through one
 * pwrite that does not cross a page: the kernel copies it whole or not at all. */
static int write_quoted(struct gt_block_file *file, struct chunk *chunk, const char *line, size_t length)
{
    size_t room = FILLER - (chunk->offset + chunk->used) % FILLER;
    if (room < length)
        chunk->used += room;
    if (chunk->size - chunk->used < length)
        return 0;
    int fd = open(file->path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t written = pwrite(fd, line, length, (off_t)(chunk->offset + chunk->used));
    int status = written == (ssize_t)length ? 1 : written < 0 ? -errno : -EIO;
    close(fd);
    chunk->used += status == 1 ? length : 0;
    return status;
}

static int write_with_quotes(struct gt_block_file *file, void **place, struct gt_border_row *row)
{
    char name[2 * GT_BLOCK_NAME_MAX + 3], line[2 * GT_BLOCK_NAME_MAX + 200];
    bool quoted;
    size_t length = name_length(row->name, &quoted), at = 0;
    name[at++] = '"';
    for (size_t i = 0; i < length; i++) {
        if (row->name[i] == '"')
            name[at++] = '"';
        name[at++] = row->name[i];
    }
    name[at++] = '"';
    struct gt_border_row with_quotes = *row;
    with_quotes.name = name;
    for (;;) {
        struct chunk *chunk = *place;
        int status = 0;
        if (chunk && row->position == GT_START)
            row->call = with_quotes.call = chunk->offset + chunk->used;
        if (chunk)
            status = write_quoted(file, chunk, line, gt_border_line(line, &with_quotes, at));
        if (status == 0)
            status = take_chunk(file, place, sizeof line);
        else
            return status < 0 ? status : 0;
        if (status < 0)
            return status;
    }
}

static int write_csv(struct gt_block_file *file, void **place, struct gt_border_row *row)
{
    bool quoted;
    size_t length = name_length(row->name, &quoted);
    if (quoted)
        return write_with_quotes(file, place, row);
    char line[GT_BLOCK_NAME_MAX + 200];
    struct chunk *chunk = *place;
    if (!chunk || chunk->size - chunk->used < length + 200) {
        int status = take_chunk(file, place, length + 200);
        if (status < 0)
            return status;
        chunk = *place;
    }
    if (row->position == GT_START)
        row->call = chunk->offset + chunk->used; /* its place in the file: unique and free */
    size_t bytes = gt_border_line(line, row, length);
    char *at = chunk->memory + chunk->used;
    memcpy(at, line, bytes - 2);
    atomic_signal_fence(memory_order_seq_cst);
    memcpy(at + bytes - 2, "\r\n", 2);
    chunk->used += bytes;
    return 0;
}

static void leave_csv(struct gt_block_file *file, void *place)
{
    struct csv_file *csv = file->state;
    struct chunk *chunk = place;
    if (!chunk)
        return;
    pthread_mutex_lock(&csv->mutex);
    chunk->next = csv->spare;
    csv->spare = chunk;
    pthread_mutex_unlock(&csv->mutex);
}

static void close_csv(struct gt_block_file *file)
{
    struct csv_file *csv = file->state;
    if (csv->last && truncate(file->path, (off_t)(csv->last->offset + csv->last->used)) < 0)
        return; /* blank lines remain at the end */
}

const struct gt_block_writer gt_block_csv = {
    .suffix = ".csv",
    .open = open_csv,
    .write = write_csv,
    .leave = leave_csv,
    .close = close_csv,
};
