/* The events of a trace as one Arrow table, batch by batch while files are read. */
#include <errno.h>
#include <string.h>

#include "analyse/export/arrow_file.h"
#include "analyse/export/tables.h"
#include "base/utf8.h"
#include "trace/source.h"

enum { BATCH_ROWS = 1 << 16, BATCH_BYTES = 64 << 20 };

enum {
    FILE_PATH,
    NODE,
    RANK,
    PID,
    PROCESS,
    TID,
    THREAD,
    NAME,
    CATEGORY,
    PHASE,
    START,
    DURATION,
    STEP,
    CORRELATION,
    EXTERNAL,
    BYTES,
    DEVICE,
    STREAM,
    SHAPES,
    ARGS,
    COLUMNS
};

struct writer {
    const struct gt_trace *trace;
    struct gt_step_windows windows;
    struct gt_arrow_column column[COLUMNS];
    struct gt_arrow_file file;
    uint64_t events;
    int status;
};

static void name_columns(struct writer *writer)
{
    static const char *const names[COLUMNS] = {"file",     "node",        "rank",   "pid",         "process",
                                               "tid",      "thread",      "name",   "category",    "phase",
                                               "start_ns", "duration_ns", "step",   "correlation", "external_id",
                                               "bytes",    "device",      "stream", "shapes",      "args"};
    for (int i = 0; i < COLUMNS; i++) {
        bool is_number = i == RANK || (i >= START && i <= STREAM);
        writer->column[i] = (struct gt_arrow_column){.name = names[i], .is_text = !is_number};
    }
}

static void put_text(struct writer *writer, int column, const char *text, size_t length)
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

static void put_string(struct writer *writer, int column, uint32_t string)
{
    const char *text = string == GT_TRACE_NONE ? NULL : gt_trace_text(writer->trace, string);
    put_text(writer, column, text, text ? strlen(text) : 0);
}

static void put_number(struct writer *writer, int column, bool is_there, int64_t value)
{
    int status = is_there ? gt_arrow_integer(&writer->column[column], value)
                          : gt_arrow_missing(&writer->column[column]);
    writer->status = status < 0 ? status : writer->status;
}

static void put_place(struct writer *writer, const struct gt_exported_event *about)
{
    const struct gt_trace_track *track = &writer->trace->track[about->event->track];
    const struct gt_trace_process *process = &writer->trace->process[track->process];
    const struct gt_trace_file *file = &writer->trace->file[about->file];
    put_text(writer, FILE_PATH, file->path, strlen(file->path));
    put_string(writer, NODE, about->node);
    put_number(writer, RANK, file->rank >= 0, file->rank);
    put_string(writer, PID, process->pid);
    put_string(writer, PROCESS, process->name);
    put_string(writer, TID, track->tid);
    put_string(writer, THREAD, track->name);
}

static void put_figures(struct writer *writer, const struct gt_exported_event *about)
{
    const struct gt_trace_event *event = about->event;
    bool has_id = event->id != GT_TRACE_NO_ID && !(event->flag & GT_TRACE_TEXT_ID);
    put_number(writer, START, !(event->flag & GT_TRACE_NO_TIME), event->start);
    put_number(writer, DURATION, event->phase == 'X', event->duration);
    put_number(writer, STEP, about->step != GT_TRACE_NO_STEP, about->step);
    put_number(writer, CORRELATION, has_id, (int64_t)event->id);
    put_number(writer, EXTERNAL, event->item->external != GT_TRACE_NO_ID, (int64_t)event->item->external);
    put_number(writer, BYTES, event->item->bytes >= 0, event->item->bytes);
    put_number(writer, DEVICE, about->device >= 0, about->device);
    put_number(writer, STREAM, about->stream >= 0, about->stream);
}

static bool is_full(const struct writer *writer)
{
    bool full = writer->column[0].count >= BATCH_ROWS;
    for (int i = 0; i < COLUMNS; i++)
        full |= writer->column[i].data.length >= BATCH_BYTES;
    return full;
}

static int take_event(void *context, const struct gt_trace_event *event, struct gt_error *error)
{
    struct writer *writer = context;
    if (event->phase == 'M')
        return 0;
    struct gt_exported_event about = gt_exported_event(writer->trace, &writer->windows, event);
    put_place(writer, &about);
    put_string(writer, NAME, event->name);
    put_string(writer, CATEGORY, event->category);
    put_text(writer, PHASE, &event->phase, 1);
    put_figures(writer, &about);
    put_text(writer, SHAPES, about.shapes.text, about.shapes.length);
    put_text(writer, ARGS, about.args.text, about.args.length);
    writer->events++;
    if (writer->status >= 0 && is_full(writer))
        writer->status = gt_arrow_flush(&writer->file);
    return writer->status < 0 ? gt_error_system(error, -writer->status, "writing events") : 0;
}

int gt_export_arrow(struct gt_trace_source *source, int fd, uint64_t *events, struct gt_error *error)
{
    struct writer writer = {.trace = gt_trace_source_trace(source)};
    struct gt_trace_sink sink = {.context = &writer, .event = take_event}; /* surveyed: no file begins twice */
    name_columns(&writer);
    int status = gt_step_windows_open(&writer.windows, writer.trace);
    if (status >= 0)
        status = gt_arrow_begin(&writer.file, fd, writer.column, COLUMNS);
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
