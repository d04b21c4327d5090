#include "base/csv.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/utf8.h"

#define BLOCK 262144
#define RECORD_CEILING (16u << 20)

struct gt_csv_reader {
    int fd;
    char *name;
    char *block;
    size_t used, filled;
    struct gt_buffer record; /* field texts, each followed by a NUL */
    size_t *start;           /* offsets of the fields in `record` */
    char **field;
    size_t count, capacity;
    uint64_t line, record_line;
    bool complete, returned, ended, after_return;
};

int gt_csv_open(struct gt_csv_reader **ret, int fd, const char *name, struct gt_error *error)
{
    struct gt_csv_reader *reader = calloc(1, sizeof *reader);
    if (reader) {
        reader->fd = fd;
        reader->line = 1;
        reader->complete = true;
        reader->record.ceiling = RECORD_CEILING;
        reader->name = strdup(name);
        reader->block = malloc(BLOCK);
    }
    if (!reader || !reader->name || !reader->block) {
        gt_csv_close(reader);
        return gt_error_system(error, ENOMEM, "%s", name);
    }
    *ret = reader;
    return 0;
}

void gt_csv_close(struct gt_csv_reader *reader)
{
    if (!reader)
        return;
    gt_buffer_release(&reader->record);
    free(reader->start);
    free(reader->field);
    free(reader->block);
    free(reader->name);
    free(reader);
}

/* The next byte, -1 at the end, -2 on a read error (in errno). */
static int next_byte(struct gt_csv_reader *reader)
{
    if (reader->used == reader->filled) {
        ssize_t got;
        do
            got = read(reader->fd, reader->block, BLOCK);
        while (got < 0 && errno == EINTR);
        if (got <= 0)
            return got < 0 ? -2 : -1;
        reader->used = 0;
        reader->filled = (size_t)got;
    }
    return (unsigned char)reader->block[reader->used++];
}

/* A hole in a file is one fault, however long it is. */
static void skip_nuls(struct gt_csv_reader *reader)
{
    int c;
    while ((c = next_byte(reader)) == 0)
        ;
    reader->used -= c > 0;
}

static int hold_field(struct gt_csv_reader *reader)
{
    if (reader->count < reader->capacity)
        return 0;
    size_t capacity = reader->capacity; /* of both arrays */
    int status = GT_GROW_TO(reader->start, capacity, reader->count + 1);
    return status < 0 ? status : GT_GROW_TO(reader->field, reader->capacity, reader->count + 1);
}

enum ending { FIELD_ENDS, RECORD_ENDS, FILE_ENDS };

static void count_line(struct gt_csv_reader *reader, int c)
{
    if (c == '\r' || (c == '\n' && !reader->after_return))
        reader->line++;
    reader->after_return = c == '\r';
}

static int read_field(struct gt_csv_reader *reader, struct gt_error *error)
{
    bool quoted = false, was_quoted = false;
    int status = hold_field(reader);
    size_t begun = reader->record.length;
    if (!status)
        reader->start[reader->count++] = begun;
    while (!status) {
        int c = next_byte(reader);
        if (c == -2)
            return gt_error_system(error, errno, "%s", reader->name);
        if (c == -1 && quoted)
            return gt_error_set(error, EBADMSG, "%s, line %llu: a quoted field has no end", reader->name,
                                (unsigned long long)reader->record_line);
        if (c == -1)
            return FILE_ENDS;
        bool line_feed_of_pair = c == '\n' && reader->after_return && !quoted;
        count_line(reader, c);
        if (line_feed_of_pair)
            continue; /* the second half of \r\n, whose record ended at \r */
        if (c == 0) {
            skip_nuls(reader);
            return gt_error_set(error, EBADMSG, "%s, line %llu: a NUL byte", reader->name,
                                (unsigned long long)reader->line);
        }
        if (c == '"' && (quoted || (!was_quoted && reader->record.length == begun))) {
            quoted = !quoted;
            was_quoted = true;
            continue;
        }
        if (c == '"' && was_quoted) { /* a doubled quote: the field goes on */
            quoted = true;
            status = gt_buffer_char(&reader->record, '"');
            continue;
        }
        if (!quoted && c == ',')
            return FIELD_ENDS;
        if (!quoted && (c == '\n' || c == '\r'))
            return RECORD_ENDS;
        status = gt_buffer_char(&reader->record, (char)c);
    }
    return gt_error_system(error, -status, "%s, line %llu", reader->name, (unsigned long long)reader->record_line);
}

static bool is_plain(unsigned char c)
{
    static const bool special[256] = {[','] = true, ['"'] = true, ['\r'] = true, ['\n'] = true, ['\0'] = true};
    return !special[c];
}

/* The first byte that is not plain, or `end`. All of those bytes are below '-', as few others are, which a word of eight
 * bytes tells at once: a byte below n borrows in x - n, and the first to do so is not disturbed by others. */
static char *next_special(char *p, char *end)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    while (end - p >= 8) {
        uint64_t word;
        memcpy(&word, p, sizeof word);
        word = le64toh(word);
        uint64_t low = (word - each * '-') & ~word & each << 7;
        if (!low) {
            p += 8;
            continue;
        }
        p += __builtin_ctzll(low) / 8;
        if (!is_plain((unsigned char)*p))
            return p;
        p++;
    }
    while (p < end && is_plain((unsigned char)*p))
        p++;
    return p;
}

/* The record at hand when it lies whole in the block and holds no quote: split where it stands. False: not so, and
 * nothing was consumed. */
static bool split_in_place(struct gt_csv_reader *reader)
{
    char *p = reader->block + reader->used, *end = reader->block + reader->filled;
    if (p < end && *p == '\n' && reader->after_return)
        p++;
    reader->count = 0;
    for (char *field = p;; field = ++p) {
        p = next_special(p, end);
        bool ends = p < end && (*p == '\n' || (*p == '\r' && p + 1 < end && p[1] == '\n'));
        if (p == end || (*p != ',' && !ends) || hold_field(reader) < 0)
            return false;
        reader->field[reader->count++] = field;
        if (ends)
            break;
    }
    reader->returned = *p == '\r';
    char *next = p + (reader->returned ? 2 : 1);
    *p = '\0';
    for (size_t i = 1; i < reader->count; i++)
        reader->field[i][-1] = '\0';
    reader->used = (size_t)(next - reader->block);
    reader->record_line = reader->line++;
    reader->after_return = false;
    reader->complete = true;
    return true;
}

static int read_record(struct gt_csv_reader *reader, struct gt_error *error)
{
    gt_buffer_clear(&reader->record);
    reader->count = 0;
    reader->record_line = reader->line;
    int ending;
    do {
        ending = read_field(reader, error);
        if (ending < 0)
            return ending;
        if (gt_buffer_char(&reader->record, '\0') < 0)
            return gt_error_system(error, EFBIG, "%s, line %llu", reader->name,
                                   (unsigned long long)reader->record_line);
    } while (ending == FIELD_ENDS);
    reader->ended = ending == FILE_ENDS;
    if (reader->count > 1 || reader->record.length > 1)
        reader->complete = ending == RECORD_ENDS;
    reader->returned = ending == RECORD_ENDS && reader->after_return;
    for (size_t i = 0; i < reader->count; i++)
        reader->field[i] = reader->record.data + reader->start[i];
    return 0;
}

int gt_csv_next(struct gt_csv_reader *reader, char ***fields, size_t *count, struct gt_error *error)
{
    do {
        if (reader->ended)
            return 0;
        int status = split_in_place(reader) ? 0 : read_record(reader, error);
        if (status < 0)
            return status;
    } while (reader->count == 1 && !*reader->field[0]); /* an empty line is no record */
    *fields = reader->field;
    *count = reader->count;
    return 1;
}

bool gt_csv_is_complete(const struct gt_csv_reader *reader)
{
    return reader->complete;
}

bool gt_csv_has_return(const struct gt_csv_reader *reader)
{
    return reader->returned;
}

uint64_t gt_csv_line(const struct gt_csv_reader *reader)
{
    return reader->record_line;
}

/* What a field reads from `at` goes to `put`, which is never ahead. Returns where the field ends. */
static const char *copy_field(const char *at, char separator, char **put)
{
    const char *first = at + strspn(at, " ");
    bool was_quoted = *first == '"', quoted = was_quoted;
    for (at = was_quoted ? first + 1 : at; *at && (quoted || *at != separator); at++) {
        bool is_quote = was_quoted && *at == '"';
        if (is_quote && quoted && at[1] == '"')
            at++; /* a doubled one */
        else if (is_quote) {
            quoted = !quoted;
            continue;
        }
        *(*put)++ = *at;
    }
    return at;
}

size_t gt_csv_split(char *line, char separator, char **field, size_t most)
{
    size_t count = 0;
    char *put = line;
    for (const char *at = line; count < most; at++) {
        field[count++] = put;
        at = copy_field(at, separator, &put);
        bool is_last = !*at;
        *put++ = '\0';
        if (is_last)
            break;
    }
    return count;
}

static void put_field(struct gt_buffer *out, const char *text)
{
    if (!text[strcspn(text, ",\"\r\n")]) {
        gt_buffer_text(out, text);
        return;
    }
    gt_buffer_char(out, '"');
    for (const char *quote; (quote = strchr(text, '"')); text = quote + 1) {
        gt_buffer_append(out, text, (size_t)(quote - text));
        gt_buffer_text(out, "\"\"");
    }
    gt_buffer_text(out, text);
    gt_buffer_char(out, '"');
}

void gt_csv_field(struct gt_buffer *out, const char *text)
{
    struct gt_buffer valid = {0};
    if (gt_utf8_is_valid(text)) {
        put_field(out, text);
        return;
    }
    if (gt_utf8_valid(&valid, text) < 0)
        out->failed = valid.failed;
    put_field(out, valid.data ? valid.data : "");
    gt_buffer_release(&valid);
}

void gt_csv_field_for_people(struct gt_buffer *out, const char *text)
{
    struct gt_buffer marked = {0};
    if (!*text || !strchr("=+-@\t\r\n", *text)) {
        gt_csv_field(out, text);
        return;
    }
    gt_buffer_char(&marked, '\'');
    if (gt_buffer_text(&marked, text) < 0)
        out->failed = marked.failed;
    gt_csv_field(out, marked.data ? marked.data : "");
    gt_buffer_release(&marked);
}
