/* A file of Arrow's IPC format, written batch by batch (https://arrow.apache.org/docs/format/Columnar.html). */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "analyse/export/tables.h"
#include "base/buffer.h"
#include "base/file.h"

/* ---- FlatBuffers, as far as Arrow's messages need them: a table has a list of its members before it, and everything
 * refers to what stands behind it (https://flatbuffers.dev/internals) ---- */

enum { MOST_MEMBERS = 6 };

struct member {
    size_t size; /* bytes; 0: the member is missing */
    uint64_t value;
};

/* Appends zeros until the length is `rest` above a multiple of `unit`. */
static void align(struct gt_buffer *out, size_t unit, size_t rest)
{
    gt_buffer_fill(out, 0, (unit + rest - out->length % unit) % unit);
}

static void refer(struct gt_buffer *out, size_t from, size_t to)
{
    uint32_t distance = (uint32_t)(to - from);
    if (!out->failed)
        memcpy(out->data + from, &distance, sizeof distance);
}

/* Returns where the table begins, and in place[i] where member i is. Large members come first, so that all are aligned. */
static size_t put_table(struct gt_buffer *out, const struct member *member, int members, size_t *place)
{
    uint16_t list[2 + MOST_MEMBERS] = {(uint16_t)(4 + 2 * members), 4};
    int32_t back = list[0];
    align(out, 8, (12 - (size_t)list[0] % 8) % 8);
    size_t begin = out->length + list[0];
    for (size_t size = 8; size; size /= 2)
        for (int i = 0; i < members; i++)
            if (member[i].size == size) {
                list[2 + i] = list[1];
                place[i] = begin + list[1];
                list[1] = (uint16_t)(list[1] + size);
            }
    gt_buffer_append(out, list, list[0]);
    gt_buffer_append(out, &back, sizeof back);
    for (size_t size = 8; size; size /= 2)
        for (int i = 0; i < members; i++)
            if (member[i].size == size)
                gt_buffer_append(out, &member[i].value,
                                 size); /* little-endian, as all machines are that this runs on */
    return begin;
}

/* Returns where a vector begins, whose items are to follow, aligned to `unit` bytes. */
static size_t begin_vector(struct gt_buffer *out, size_t items, size_t unit)
{
    uint32_t count = (uint32_t)items;
    align(out, unit, unit - sizeof count);
    gt_buffer_append(out, &count, sizeof count);
    return out->length - sizeof count;
}

static void put_vector(struct gt_buffer *out, size_t reference, const struct gt_buffer *items, size_t size)
{
    refer(out, reference, begin_vector(out, items->length / size, 8));
    gt_buffer_append(out, items->data, items->length);
}

/* ---- Arrow's messages ---- */

enum { VERSION_5 = 4, SCHEMA = 1, RECORD_BATCH = 3, TYPE_INT = 2, TYPE_UTF8 = 5 };

static bool is_text(const struct gt_table_column *column)
{
    return column->kind == GT_CELL_PLAIN_TEXT;
}

static void put_field(struct gt_buffer *out, size_t reference, const struct gt_table_column *column)
{
    enum { NAME, NULLABLE, TYPE_KIND, TYPE, DICTIONARY, CHILDREN, MEMBERS };
    static const struct member integer[] = {{4, 64}, {1, 1}}; /* of 64 bits, signed */
    const struct member member[MEMBERS] = {[NAME] = {4, 0},
                                           [NULLABLE] = {1, 1},
                                           [TYPE_KIND] = {1, is_text(column) ? TYPE_UTF8 : TYPE_INT},
                                           [TYPE] = {4, 0},
                                           [CHILDREN] = {4, 0}};
    size_t place[MEMBERS], of_type[2];
    refer(out, reference, put_table(out, member, MEMBERS, place));
    refer(out, place[NAME], begin_vector(out, strlen(column->key), 4));
    gt_buffer_append(out, column->key, strlen(column->key) + 1);
    refer(out, place[TYPE], put_table(out, integer, is_text(column) ? 0 : 2, of_type));
    refer(out, place[CHILDREN], begin_vector(out, 0, 4));
}

static void put_schema(struct gt_buffer *out, size_t reference, const struct gt_table *table)
{
    enum { ENDIANNESS, FIELDS, MEMBERS };
    static const struct member member[MEMBERS] = {{2, 0}, {4, 0}};
    size_t place[MEMBERS];
    refer(out, reference, put_table(out, member, MEMBERS, place));
    refer(out, place[FIELDS], begin_vector(out, table->columns, 4));
    size_t fields = out->length;
    gt_buffer_fill(out, 0, 4 * table->columns);
    for (size_t i = 0; i < table->columns; i++)
        put_field(out, fields + 4 * i, &table->column[i]);
}

/* Begins a message, and returns where it refers to what it is about. */
static size_t begin_message(struct gt_buffer *out, int kind, uint64_t body)
{
    enum { VERSION, KIND, CONTENT, BODY, MEMBERS };
    const struct member member[MEMBERS] = {{2, VERSION_5}, {1, (uint64_t)kind}, {4, 0}, {8, body}};
    size_t place[MEMBERS];
    gt_buffer_fill(out, 0, 4);
    refer(out, 0, put_table(out, member, MEMBERS, place));
    return place[CONTENT];
}

/* Bytes of the buffers of a column: validity, of texts where each ends, and the values. */
static size_t sizes_of(const struct gt_table_column *column, size_t ret[3])
{
    size_t count = 0;
    ret[count++] = column->missing ? (column->count + 7) / 8 : 0;
    if (is_text(column))
        ret[count++] = (column->count + 1) * sizeof(int32_t);
    ret[count++] = is_text(column) ? (size_t)column->begin[column->texts] : column->count * sizeof(int64_t);
    return count;
}

static size_t padded(size_t length)
{
    return (length + 7) / 8 * 8;
}

/* Returns the bytes of the batch behind the message. */
static uint64_t put_batch(struct gt_buffer *out, const struct gt_table *table)
{
    enum { ROWS, NODES, BUFFERS, MEMBERS };
    const struct member member[MEMBERS] = {{8, gt_table_rows(table)}, {4, 0}, {4, 0}};
    struct gt_buffer nodes = {0}, buffers = {0};
    int64_t body = 0;
    for (size_t i = 0; i < table->columns; i++) {
        const struct gt_table_column *column = &table->column[i];
        size_t size[3], count = sizes_of(column, size);
        gt_buffer_append(&nodes, (const int64_t[]){(int64_t)column->count, (int64_t)column->missing}, 16);
        for (size_t k = 0; k < count; k++) {
            gt_buffer_append(&buffers, (const int64_t[]){body, (int64_t)size[k]}, 16);
            body += (int64_t)padded(size[k]);
        }
    }
    size_t place[MEMBERS], content = begin_message(out, RECORD_BATCH, (uint64_t)body);
    refer(out, content, put_table(out, member, MEMBERS, place));
    put_vector(out, place[NODES], &nodes, 16);
    put_vector(out, place[BUFFERS], &buffers, 16);
    out->failed = out->failed ? out->failed : nodes.failed ? nodes.failed : buffers.failed;
    gt_buffer_release(&nodes);
    gt_buffer_release(&buffers);
    return (uint64_t)body;
}

/* ---- the file ---- */

struct block {
    int64_t place;
    int32_t head, padding;
    int64_t body;
};

struct arrow_file {
    int fd;
    int64_t place;
    struct gt_buffer blocks; /* a struct block for each batch */
};

static int put(struct arrow_file *file, const void *bytes, size_t length)
{
    static const char zero[8];
    file->place += (int64_t)padded(length);
    int status = length ? gt_file_write_all(file->fd, bytes, length) : 0;
    return status < 0 ? status : gt_file_write_all(file->fd, zero, padded(length) - length);
}

static int put_message(struct arrow_file *file, const struct gt_buffer *message)
{
    const uint32_t head[] = {UINT32_MAX, (uint32_t)padded(message->length)};
    int status = message->failed ? message->failed : put(file, head, sizeof head);
    return status < 0 ? status : put(file, message->data, message->length);
}

static int begin_file(struct arrow_file *file, const struct gt_table *table)
{
    struct gt_buffer message = {0};
    put_schema(&message, begin_message(&message, SCHEMA, 0), table);
    int status = put(file, "ARROW1\0", 8);
    status = status < 0 ? status : put_message(file, &message);
    gt_buffer_release(&message);
    return status;
}

static int put_column(struct arrow_file *file, const struct gt_table_column *column)
{
    struct gt_buffer ends = {0};
    size_t size[3], count = sizes_of(column, size);
    int status = put(file, column->validity, size[0]);
    for (size_t i = 0; is_text(column) && i <= column->count; i++)
        gt_buffer_append(&ends, &(int32_t){(int32_t)column->begin[i]}, sizeof(int32_t));
    if (status >= 0 && is_text(column))
        status = ends.failed ? ends.failed : put(file, ends.data, ends.length);
    gt_buffer_release(&ends);
    return status < 0 ? status : put(file, is_text(column) ? column->text : column->cell, size[count - 1]);
}

static int end_file(struct arrow_file *file, const struct gt_table *table)
{
    enum { VERSION, FIELDS, DICTIONARIES, BATCHES, MEMBERS };
    static const struct member member[MEMBERS] = {{2, VERSION_5}, {4, 0}, {4, 0}, {4, 0}};
    static const struct gt_buffer none = {0};
    const uint32_t end[] = {UINT32_MAX, 0};
    struct gt_buffer out = {0};
    size_t place[MEMBERS];
    gt_buffer_fill(&out, 0, 4);
    refer(&out, 0, put_table(&out, member, MEMBERS, place));
    put_schema(&out, place[FIELDS], table);
    put_vector(&out, place[DICTIONARIES], &none, sizeof(struct block));
    put_vector(&out, place[BATCHES], &file->blocks, sizeof(struct block));
    uint32_t length = (uint32_t)out.length;
    gt_buffer_append(&out, &length, sizeof length);
    gt_buffer_append(&out, "ARROW1", 6);
    int status = file->blocks.failed ? file->blocks.failed : out.failed;
    status = status < 0 ? status : put(file, end, sizeof end);
    status = status < 0 ? status : gt_file_write_all(file->fd, out.data, out.length);
    gt_buffer_release(&out);
    return status;
}

static int take_batch(void *context, const struct gt_table *table, bool is_last)
{
    struct arrow_file *file = context;
    struct gt_buffer message = {0};
    int status = file->place ? 0 : begin_file(file, table);
    struct block block = {.place = file->place};
    if (gt_table_rows(table)) {
        block.body = (int64_t)put_batch(&message, table);
        status = status < 0 ? status : put_message(file, &message);
        block.head = (int32_t)(file->place - block.place);
        for (size_t i = 0; i < table->columns && status >= 0; i++)
            status = put_column(file, &table->column[i]);
        gt_buffer_append(&file->blocks, &block, sizeof block);
        gt_buffer_release(&message);
    }
    return status >= 0 && is_last ? end_file(file, table) : status;
}

int gt_export_arrow(struct gt_trace_source *source, int fd, uint64_t *events, struct gt_error *error)
{
    struct arrow_file file = {.fd = fd};
    int status = gt_export_batches(source, take_batch, &file, events, error);
    gt_buffer_release(&file.blocks);
    return status;
}
