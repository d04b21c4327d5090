/* The events of a trace as one Arrow table, batch by batch while files are read. */
#include <errno.h>
#include <string.h>

#include "analyse/export/arrow_file.h"
#include "analyse/export/tables.h"
#include "base/utf8.h"
#include "trace/source.h"

enum { BATCH_ROWS = 1 << 16, BATCH_BYTES = 64 << 20 };

struct writer {
    const struct gt_trace *trace;
    struct gt_step_windows windows;
    struct gt_arrow_column column[GT_EXPORT_COLUMNS];
    struct gt_arrow_file file;
    uint64_t events;
    int status;
};

static void put_bytes(struct writer *writer, int column, const char *text, size_t length)
{
    struct gt_buffer valid = {0};
    bool is_valid = !text || gt_utf8_are_valid(text, length);
    if (!is_valid && gt_utf8_valid_bytes(&valid, text, length) < 0)
        writer->status = -ENOMEM;
    int status = gt_arrow_text(&writer->column[column],
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
    int status = is_there ? gt_arrow_integer(&writer->column[column], value)
                          : gt_arrow_missing(&writer->column[column]);
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
        writer->status = gt_arrow_flush(&writer->file);
    return writer->status < 0 ? gt_error_system(error, -writer->status, "writing events") : 0;
}

int gt_export_arrow(struct gt_trace_source *source, int fd, uint64_t *events, struct gt_error *error)
{
    struct writer writer = {.trace = gt_trace_source_trace(source)};
    struct gt_trace_sink sink = {.context = &writer, .event = take_event}; /* surveyed: no file begins twice */
    for (int i = 0; i < GT_EXPORT_COLUMNS; i++)
        writer.column[i] = (struct gt_arrow_column){.name = gt_export_columns[i].name,
                                                    .is_text = !gt_export_columns[i].is_number};
    int status = gt_step_windows_open(&writer.windows, writer.trace);
    if (status >= 0)
        status = gt_arrow_begin(&writer.file, fd, writer.column, GT_EXPORT_COLUMNS);
    if (status >= 0)
        status = gt_trace_source_read(source, &sink, NULL, error);
    if (status >= 0)
        status = gt_arrow_end(&writer.file);
    if (status < 0)
        gt_error_system(error, -status, "writing events");
    gt_arrow_release(&writer.file);
    gt_step_windows_release(&writer.windows);
    *events = writer.events;
    return status;
}
