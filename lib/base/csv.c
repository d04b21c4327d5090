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
    struct gt_buffer text; /* of the file: from `used` on it belongs to no record yet */
    size_t used;
    char **field;
    size_t count, capacity;
    uint64_t line, record_line;
    bool is_at_end, complete, returned;
};

int gt_csv_open(struct gt_csv_reader **ret, int fd, const char *name, struct gt_error *error)
{
    struct gt_csv_reader *reader = calloc(1, sizeof *reader);
    if (!reader || !(reader->name = strdup(name))) {
        free(reader);
        return gt_error_system(error, ENOMEM, "%s", name);
    }
    reader->fd = fd;
    reader->line = 1;
    reader->complete = true;
    *ret = reader;
    return 0;
}

void gt_csv_close(struct gt_csv_reader *reader)
{
    if (!reader)
        return;
    gt_buffer_release(&reader->text);
    free(reader->field);
    free(reader->name);
    free(reader);
}

/* Reads more of the file behind the record at hand, which moves. */
static int read_more(struct gt_csv_reader *reader, struct gt_error *error)
{
    struct gt_buffer *text = &reader->text;
    size_t left = text->length - reader->used;
    ssize_t got;
    if (left)
        memmove(text->data, text->data + reader->used, left);
    reader->used = 0;
    text->length = left;
    int status = left > RECORD_CEILING ? -EFBIG : gt_buffer_reserve(text, left < BLOCK ? BLOCK : left);
    if (status < 0) {
        text->length = 0;
        return gt_error_system(error, -status, "%s, line %llu", reader->name, (unsigned long long)reader->line);
    }
    do
        got = read(reader->fd, text->data + left, text->capacity - left - 1);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return gt_error_system(error, errno, "%s", reader->name);
    text->length += (size_t)got;
    text->data[text->length] = '\0';
    reader->is_at_end = !got;
    return 0;
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

/* A hole in a file is one fault, however long it is. */
static int refuse_nul(struct gt_csv_reader *reader, const char *at, struct gt_error *error)
{
    reader->used = (size_t)(at - reader->text.data);
    do {
        while (reader->used < reader->text.length && !reader->text.data[reader->used])
            reader->used++;
    } while (reader->used == reader->text.length && !reader->is_at_end && read_more(reader, NULL) == 0);
    return gt_error_set(error, EBADMSG, "%s, line %llu: a NUL byte", reader->name, (unsigned long long)reader->line);
}

/* Takes the record that ends at `end`. Its fields end in NUL, and lose their quotes. */
static void take_record(struct gt_csv_reader *reader, char *end, bool has_quotes)
{
    reader->complete = end < reader->text.data + reader->text.length;
    reader->returned = *end == '\r';
    reader->used = (size_t)(end - reader->text.data) + reader->complete + (reader->returned && end[1] == '\n');
    *end = '\0';
    for (size_t i = 1; i < reader->count; i++)
        reader->field[i][-1] = '\0';
    for (size_t i = 0; has_quotes && i < reader->count; i++) {
        char *put = reader->field[i];
        copy_field(put, '\0', &put);
        *put = '\0';
    }
}

/* Returns 1, or 0 where the end of the record was not read yet. */
static int find_record(struct gt_csv_reader *reader, struct gt_error *error)
{
    char *at = reader->text.data + reader->used, *end = reader->text.data + reader->text.length, *field = at;
    bool is_quoted = false, was_quoted = false, has_quotes = false;
    uint64_t line = reader->line;
    reader->count = 0;
    for (;; at++) {
        at = next_special(at, end);
        bool is_last = at == end;
        if (!reader->is_at_end && (is_last || (*at == '\r' && at + 1 == end)))
            return 0;
        if (is_last && is_quoted) {
            reader->used = reader->text.length;
            return gt_error_set(error, EBADMSG, "%s, line %llu: a quoted field has no end", reader->name,
                                (unsigned long long)reader->line);
        }
        if (!is_last && !*at) {
            reader->line = line;
            return refuse_nul(reader, at, error);
        }
        if (*at == '"') {
            was_quoted = was_quoted || field + strspn(field, " ") == at;
            is_quoted ^= was_quoted;
            has_quotes |= was_quoted;
            continue;
        }
        if (is_quoted) {
            line += *at == '\n' || (*at == '\r' && at[1] != '\n');
            continue;
        }
        if (GT_APPEND(reader, field, field) < 0)
            return gt_error_system(error, ENOMEM, "%s", reader->name);
        if (*at != ',')
            break;
        field = at + 1;
        was_quoted = false;
    }
    reader->record_line = reader->line;
    reader->line = line + 1;
    take_record(reader, at, has_quotes);
    return 1;
}

int gt_csv_next(struct gt_csv_reader *reader, char ***fields, size_t *count, struct gt_error *error)
{
    int status;
    do {
        status = reader->used < reader->text.length ? find_record(reader, error) : 0;
        if (!status && reader->is_at_end)
            return 0;
        if (!status)
            status = read_more(reader, error);
        if (status < 0)
            return status;
    } while (!status || (reader->count == 1 && !*reader->field[0])); /* an empty line is no record */
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
