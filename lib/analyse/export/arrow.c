/* The events of a trace as one Arrow table, batch by batch while files are read. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/export/tables.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/utf8.h"
#include "trace/source.h"

/* A file of Arrow's IPC format is written batch by batch (https://arrow.apache.org/docs/format/Columnar.html). */

struct arrow_column {
    const char *name;
    bool is_text; /* else int64 */
    struct gt_buffer validity, offsets, data;
    size_t count, missing;
};

struct arrow_block {
    uint64_t place, body;
    uint32_t head;
};

struct arrow_file {
    int fd;
    uint64_t place;
    struct arrow_column *column; /* the caller's */
    size_t columns;
    struct arrow_block *block;
    size_t block_count, block_capacity;
    struct gt_buffer out;
};

/* ---- FlatBuffers, as far as Arrow's messages need them: they are built from their end to their begin, and places are
 * counted from the end (https://flatbuffers.dev/internals). ---- */

enum { MOST_FIELDS = 6 };

struct flat {
    unsigned char *bytes; /* the last `length` of `capacity` are in use */
    size_t length, capacity;
    int failed;
};

static void flat_reserve(struct flat *flat, size_t more)
{
    if (flat->failed || flat->length + more <= flat->capacity)
        return;
    size_t capacity = (flat->length + more) * 2 + 1024;
    unsigned char *bytes = malloc(capacity);
    if (!bytes) {
        flat->failed = -ENOMEM;
        return;
    }
    if (flat->length)
        memcpy(bytes + capacity - flat->length, flat->bytes + flat->capacity - flat->length, flat->length);
    free(flat->bytes);
    flat->bytes = bytes;
    flat->capacity = capacity;
}

static void flat_put(struct flat *flat, const void *bytes, size_t length)
{
    flat_reserve(flat, length);
    if (flat->failed || !length)
        return;
    flat->length += length;
    memcpy(flat->bytes + flat->capacity - flat->length, bytes, length);
}

/* Pads so that what is put next, of `size` bytes, ends up aligned. */
static void flat_align(struct flat *flat, size_t size, size_t alignment)
{
    static const unsigned char zero[16];
    size_t over = (flat->length + size) % alignment;
    if (over)
        flat_put(flat, zero, alignment - over);
}

static void flat_number(struct flat *flat, uint64_t value, size_t size)
{
    flat_align(flat, size, size);
    flat_put(flat, &value, size); /* little-endian, as all machines are that this runs on */
}

static void flat_offset(struct flat *flat, uint32_t to)
{
    flat_align(flat, 4, 4);
    flat_number(flat, (uint32_t)flat->length + 4 - to, 4);
}

static uint32_t flat_string(struct flat *flat, const char *text)
{
    size_t length = strlen(text);
    flat_align(flat, length + 1, 4);
    flat_put(flat, text, length + 1);
    flat_number(flat, length, 4);
    return (uint32_t)flat->length;
}

static uint32_t flat_vector(struct flat *flat, const uint32_t *place, size_t count)
{
    flat_align(flat, count * 4, 4);
    for (size_t i = count; i-- > 0;)
        flat_offset(flat, place[i]);
    flat_number(flat, count, 4);
    return (uint32_t)flat->length;
}

/* Writes a vector of structs, which stand in it as they are, eight bytes aligned. */
static uint32_t flat_structs(struct flat *flat, const void *structs, size_t count, size_t size)
{
    flat_align(flat, count * size, 8);
    flat_put(flat, structs, count * size);
    flat_number(flat, count, 4);
    return (uint32_t)flat->length;
}

struct flat_table {
    uint32_t end, place[MOST_FIELDS]; /* what stood before it; its members */
};

static struct flat_table flat_begin(const struct flat *flat)
{
    return (struct flat_table){.end = (uint32_t)flat->length};
}

static void flat_member(struct flat *flat, struct flat_table *table, int field, uint64_t value, size_t size)
{
    flat_number(flat, value, size);
    table->place[field] = (uint32_t)flat->length;
}

static void flat_reference(struct flat *flat, struct flat_table *table, int field, uint32_t to)
{
    flat_offset(flat, to);
    table->place[field] = (uint32_t)flat->length;
}

static uint32_t flat_end(struct flat *flat, const struct flat_table *table, int fields)
{
    flat_number(flat, 0, 4); /* where the list of members is, known below */
    uint32_t here = (uint32_t)flat->length;
    for (int i = fields; i-- > 0;)
        flat_number(flat, table->place[i] ? here - table->place[i] : 0, 2);
    flat_number(flat, here - table->end, 2);
    flat_number(flat, 4 + 2 * (uint64_t)fields, 2);
    uint32_t list = (uint32_t)flat->length - here;
    if (!flat->failed)
        memcpy(flat->bytes + flat->capacity - here, &list, sizeof list);
    return here;
}

static void flat_finish(struct flat *flat, uint32_t root)
{
    flat_align(flat, 4, 8);
    flat_offset(flat, root);
}

/* ---- Arrow's messages ---- */

enum { VERSION_5 = 4, SCHEMA = 1, RECORD_BATCH = 3, TYPE_INT = 2, TYPE_UTF8 = 5 };

static uint32_t put_type(struct flat *flat, const struct arrow_column *column)
{
    struct flat_table table = flat_begin(flat);
    if (column->is_text)
        return flat_end(flat, &table, 0);
    flat_member(flat, &table, 0, 64, 4);
    flat_member(flat, &table, 1, 1, 1);
    return flat_end(flat, &table, 2);
}

static uint32_t put_field(struct flat *flat, const struct arrow_column *column)
{
    uint32_t name = flat_string(flat, column->name), type = put_type(flat, column);
    uint32_t children = flat_vector(flat, NULL, 0);
    struct flat_table table = flat_begin(flat);
    flat_reference(flat, &table, 0, name);
    flat_reference(flat, &table, 3, type);
    flat_reference(flat, &table, 5, children);
    flat_member(flat, &table, 1, 1, 1);
    flat_member(flat, &table, 2, column->is_text ? TYPE_UTF8 : TYPE_INT, 1);
    return flat_end(flat, &table, 6);
}

static uint32_t put_schema(struct flat *flat, const struct arrow_file *file)
{
    uint32_t *place = calloc(file->columns + 1, sizeof *place);
    if (!place) {
        flat->failed = -ENOMEM;
        return 0;
    }
    for (size_t i = 0; i < file->columns; i++)
        place[i] = put_field(flat, &file->column[i]);
    uint32_t fields = flat_vector(flat, place, file->columns);
    free(place);
    struct flat_table table = flat_begin(flat);
    flat_reference(flat, &table, 1, fields);
    flat_member(flat, &table, 0, 0, 2);
    return flat_end(flat, &table, 2);
}

static void put_message(struct flat *flat, uint32_t header, int type, uint64_t body)
{
    struct flat_table table = flat_begin(flat);
    flat_member(flat, &table, 3, body, 8);
    flat_reference(flat, &table, 2, header);
    flat_member(flat, &table, 0, VERSION_5, 2);
    flat_member(flat, &table, 1, (uint64_t)type, 1);
    flat_finish(flat, flat_end(flat, &table, 4));
}

/* ---- the file ---- */

static int put(struct arrow_file *file, const void *bytes, size_t length)
{
    file->place += length;
    return gt_file_write_all(file->fd, bytes, length);
}

static int put_padded(struct arrow_file *file, const void *bytes, size_t length)
{
    static const char zero[8];
    int status = length ? put(file, bytes, length) : 0;
    return status < 0 ? status : put(file, zero, (8 - length % 8) % 8);
}

static int put_head(struct arrow_file *file, const struct flat *flat)
{
    uint32_t start[2] = {UINT32_MAX, (uint32_t)((flat->length + 7) / 8 * 8)};
    int status = flat->failed ? flat->failed : put(file, start, sizeof start);
    return status < 0 ? status : put_padded(file, flat->bytes + flat->capacity - flat->length, flat->length);
}

/* All return 0 or a negative errno. */
static int arrow_begin(struct arrow_file *file, int fd, struct arrow_column *columns, size_t count)
{
    struct flat flat = {0};
    *file = (struct arrow_file){.fd = fd, .column = columns, .columns = count};
    int status = put(file, "ARROW1\0\0", 8);
    if (status >= 0) {
        put_message(&flat, put_schema(&flat, file), SCHEMA, 0);
        status = put_head(file, &flat);
    }
    free(flat.bytes);
    return status;
}

/* ---- cells ---- */

static int add_validity(struct arrow_column *column, bool is_there)
{
    if (column->count % 8 == 0 && gt_buffer_char(&column->validity, 0) < 0)
        return -ENOMEM;
    if (is_there)
        column->validity.data[column->count / 8] |= (char)(1 << column->count % 8);
    column->missing += !is_there;
    column->count++;
    return 0;
}

static int add_end(struct arrow_column *column)
{
    int32_t end = (int32_t)column->data.length;
    return gt_buffer_append(&column->offsets, &end, sizeof end);
}

static int begin_text(struct arrow_column *column)
{
    static const int32_t zero = 0;
    return column->count ? 0 : gt_buffer_append(&column->offsets, &zero, sizeof zero);
}

static int arrow_missing(struct arrow_column *column)
{
    static const int64_t zero = 0;
    int status = column->is_text ? begin_text(column) : gt_buffer_append(&column->data, &zero, sizeof zero);
    if (status >= 0 && column->is_text)
        status = add_end(column);
    return status < 0 ? status : add_validity(column, false);
}

/* Add the next cell of a column. */
static int arrow_integer(struct arrow_column *column, int64_t value)
{
    int status = gt_buffer_append(&column->data, &value, sizeof value);
    return status < 0 ? status : add_validity(column, true);
}

static int arrow_text(struct arrow_column *column, const char *text, size_t length)
{
    if (!text)
        return arrow_missing(column);
    int status = begin_text(column);
    if (status >= 0)
        status = gt_buffer_append(&column->data, text, length);
    if (status >= 0)
        status = add_end(column);
    return status < 0 ? status : add_validity(column, true);
}

/* ---- batches ---- */

struct node {
    int64_t length, missing;
};

struct place {
    int64_t offset, length;
};

static uint64_t padded(size_t length)
{
    return (length + 7) / 8 * 8;
}

/* The buffers of a column, in their order. */
static size_t buffers_of(const struct arrow_column *column, const struct gt_buffer *ret[3])
{
    size_t count = 0;
    ret[count++] = &column->validity;
    if (column->is_text)
        ret[count++] = &column->offsets;
    ret[count++] = &column->data;
    return count;
}

static uint32_t put_batch(struct flat *flat, const struct arrow_file *file, uint64_t *body)
{
    struct node *node = calloc(file->columns + 1, sizeof *node);
    struct place *place = calloc(file->columns * 3 + 1, sizeof *place);
    size_t places = 0;
    *body = 0;
    if (!node || !place)
        flat->failed = -ENOMEM;
    for (size_t i = 0; i < file->columns && !flat->failed; i++) {
        const struct gt_buffer *buffer[3];
        size_t count = buffers_of(&file->column[i], buffer);
        node[i] = (struct node){(int64_t)file->column[i].count, (int64_t)file->column[i].missing};
        for (size_t j = 0; j < count; j++) {
            place[places++] = (struct place){(int64_t)*body, (int64_t)buffer[j]->length};
            *body += padded(buffer[j]->length);
        }
    }
    uint32_t buffers = flat->failed ? 0 : flat_structs(flat, place, places, sizeof *place);
    uint32_t nodes = flat->failed ? 0 : flat_structs(flat, node, file->columns, sizeof *node);
    free(node);
    free(place);
    struct flat_table table = flat_begin(flat);
    flat_member(flat, &table, 0, file->column[0].count, 8);
    flat_reference(flat, &table, 1, nodes);
    flat_reference(flat, &table, 2, buffers);
    return flat_end(flat, &table, 3);
}

static void clear(struct arrow_column *column)
{
    gt_buffer_clear(&column->validity);
    gt_buffer_clear(&column->offsets);
    gt_buffer_clear(&column->data);
    column->count = column->missing = 0;
}

/* Writes the rows that were added. */
static int arrow_flush(struct arrow_file *file)
{
    struct flat flat = {0};
    uint64_t body, from = file->place;
    if (!file->column[0].count)
        return 0;
    uint32_t batch = put_batch(&flat, file, &body);
    put_message(&flat, batch, RECORD_BATCH, body);
    int status = put_head(file, &flat);
    free(flat.bytes);
    struct arrow_block *block = status < 0 ? NULL : GT_GROW(file, block);
    if (!block)
        return status < 0 ? status : -ENOMEM;
    *block = (struct arrow_block){from, body, (uint32_t)(file->place - from)};
    for (size_t i = 0; i < file->columns && status >= 0; i++) {
        const struct gt_buffer *buffer[3];
        size_t count = buffers_of(&file->column[i], buffer);
        for (size_t j = 0; j < count && status >= 0; j++)
            status = put_padded(file, buffer[j]->data, buffer[j]->length);
        clear(&file->column[i]);
    }
    return status;
}

struct footer_block {
    int64_t offset;
    int32_t head, padding;
    int64_t body;
};

static void put_footer(struct flat *flat, const struct arrow_file *file)
{
    struct footer_block *block = calloc(file->block_count + 1, sizeof *block);
    if (!block) {
        flat->failed = -ENOMEM;
        return;
    }
    for (size_t i = 0; i < file->block_count; i++)
        block[i] = (struct footer_block){(int64_t)file->block[i].place, (int32_t)file->block[i].head, 0,
                                         (int64_t)file->block[i].body};
    uint32_t batches = flat_structs(flat, block, file->block_count, sizeof *block);
    uint32_t dictionaries = flat_structs(flat, block, 0, sizeof *block), schema = put_schema(flat, file);
    free(block);
    struct flat_table table = flat_begin(flat);
    flat_reference(flat, &table, 1, schema);
    flat_reference(flat, &table, 2, dictionaries);
    flat_reference(flat, &table, 3, batches);
    flat_member(flat, &table, 0, VERSION_5, 2);
    flat_finish(flat, flat_end(flat, &table, 4));
}

static int arrow_end(struct arrow_file *file)
{
    static const uint32_t end[2] = {UINT32_MAX, 0};
    struct flat flat = {0};
    int status = arrow_flush(file);
    if (status >= 0)
        status = put(file, end, sizeof end);
    put_footer(&flat, file);
    uint32_t length = (uint32_t)flat.length;
    if (status >= 0)
        status = flat.failed ? flat.failed : put(file, flat.bytes + flat.capacity - flat.length, flat.length);
    if (status >= 0)
        status = put(file, &length, sizeof length);
    if (status >= 0)
        status = put(file, "ARROW1", 6);
    free(flat.bytes);
    return status;
}

static void arrow_release(struct arrow_file *file)
{
    for (size_t i = 0; i < file->columns; i++) {
        gt_buffer_release(&file->column[i].validity);
        gt_buffer_release(&file->column[i].offsets);
        gt_buffer_release(&file->column[i].data);
    }
    free(file->block);
}

enum { BATCH_ROWS = 1 << 16, BATCH_BYTES = 64 << 20 };

struct writer {
    const struct gt_trace *trace;
    struct gt_step_windows windows;
    struct arrow_column column[GT_EXPORT_COLUMNS];
    struct arrow_file file;
    uint64_t events;
    int status;
};

static void put_bytes(struct writer *writer, int column, const char *text, size_t length)
{
    struct gt_buffer valid = {0};
    bool is_valid = !text || gt_utf8_are_valid(text, length);
    if (!is_valid && gt_utf8_valid_bytes(&valid, text, length) < 0)
        writer->status = -ENOMEM;
    int status = arrow_text(&writer->column[column],
                            is_valid     ? text
                            : valid.data ? valid.data
                                         : "",
                            is_valid ? length : valid.length);
    writer->status = status < 0 ? status : writer->status;
    gt_buffer_release(&valid);
}

static void put_string(void *context, int column, uint32_t key, const char *text)
{
    (void)key;
    put_bytes(context, column, text, text ? strlen(text) : 0);
}

static void put_text(void *context, int column, struct gt_span text)
{
    put_bytes(context, column, text.text, text.length);
}

static void put_number(void *context, int column, bool is_there, int64_t value)
{
    struct writer *writer = context;
    int status = is_there ? arrow_integer(&writer->column[column], value) : arrow_missing(&writer->column[column]);
    writer->status = status < 0 ? status : writer->status;
}

static bool is_full(const struct writer *writer)
{
    bool full = writer->column[0].count >= BATCH_ROWS;
    for (int i = 0; i < GT_EXPORT_COLUMNS; i++)
        full |= writer->column[i].data.length >= BATCH_BYTES;
    return full;
}

static int take_event(void *context, const struct gt_trace_event *event, struct gt_error *error)
{
    struct writer *writer = context;
    if (event->phase == 'M')
        return 0;
    gt_export_row(writer->trace, &writer->windows, event, writer->events++,
                  &(struct gt_export_cells){writer, put_string, put_text, put_number});
    if (writer->status >= 0 && is_full(writer))
        writer->status = arrow_flush(&writer->file);
    return writer->status < 0 ? gt_error_system(error, -writer->status, "writing events") : 0;
}

int gt_export_arrow(struct gt_trace_source *source, int fd, uint64_t *events, struct gt_error *error)
{
    struct writer writer = {.trace = gt_trace_source_trace(source)};
    struct gt_trace_sink sink = {.context = &writer, .event = take_event}; /* surveyed: no file begins twice */
    for (int i = 0; i < GT_EXPORT_COLUMNS; i++)
        writer.column[i] = (struct arrow_column){.name = gt_export_columns[i].name,
                                                 .is_text = !gt_export_columns[i].is_number};
    int status = gt_step_windows_open(&writer.windows, writer.trace);
    if (status >= 0)
        status = arrow_begin(&writer.file, fd, writer.column, GT_EXPORT_COLUMNS);
    if (status >= 0)
        status = gt_trace_source_read(source, &sink, NULL, error);
    if (status >= 0)
        status = arrow_end(&writer.file);
    if (status < 0)
        gt_error_system(error, -status, "writing events");
    arrow_release(&writer.file);
    gt_step_windows_release(&writer.windows);
    *events = writer.events;
    return status;
}
