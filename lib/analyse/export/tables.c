#include "analyse/export/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "trace/input/walk.h"

struct gt_exported_event gt_exported_event(const struct gt_trace *trace, const struct gt_step_windows *windows,
                                           const struct gt_trace_event *event)
{
    struct gt_exported_event ret = {.event = event, .step = event->step, .device = -1, .stream = -1};
    struct gt_span device = {0}, stream = {0};
    ret.file = trace->process[trace->track[event->track].process].file;
    ret.node = gt_trace_node_of(trace, ret.file);
    if (ret.step == GT_TRACE_NO_STEP && !(event->flag & GT_TRACE_NO_TIME))
        ret.step = gt_step_windows_find(windows, ret.node, event->start);
    if (!event->item->args.text || *event->item->args.text != '{')
        return ret;
    ret.args = event->item->args;
    GT_FIND(ret.args, {"Input Dims", &ret.shapes}, {"Input dims", &ret.shapes}, {"device", &device},
            {"stream", &stream});
    if (device.text)
        gt_span_decimal(device, 0, &ret.device);
    if (stream.text)
        gt_span_decimal(stream, 0, &ret.stream);
    return ret;
}

static const struct {
    const char *name;
    enum gt_cell_kind kind;
} columns[] = {
    {"id", GT_CELL_INTEGER},
    {"file", GT_CELL_TEXT},
    {"node", GT_CELL_TEXT},
    {"rank", GT_CELL_INTEGER},
    {"pid", GT_CELL_TEXT},
    {"process", GT_CELL_TEXT},
    {"tid", GT_CELL_TEXT},
    {"thread", GT_CELL_TEXT},
    {"name", GT_CELL_TEXT},
    {"category", GT_CELL_TEXT},
    {"phase", GT_CELL_TEXT},
    {"start_ns", GT_CELL_INTEGER},
    {"duration_ns", GT_CELL_INTEGER},
    {"step", GT_CELL_INTEGER},
    {"correlation", GT_CELL_INTEGER},
    {"external_id", GT_CELL_INTEGER},
    {"bytes", GT_CELL_INTEGER},
    {"device", GT_CELL_INTEGER},
    {"stream", GT_CELL_INTEGER},
    {"shapes", GT_CELL_PLAIN_TEXT},
    {"args", GT_CELL_PLAIN_TEXT},
};

/* ---- The events of a trace as a table in memory ---- */

struct builder {
    const struct gt_trace *trace;
    struct gt_step_windows windows;
    struct gt_table *table;
    struct gt_buffer valid;
    int64_t events;
};

/* Returns the text as UTF-8, valid until the next call. */
static struct gt_span valid_text(struct builder *builder, struct gt_span text)
{
    struct gt_buffer *valid = &builder->valid;
    if (gt_utf8_are_valid(text.text, text.length))
        return text;
    gt_buffer_clear(valid);
    gt_utf8_valid_bytes(valid, text.text, text.length);
    return (struct gt_span){valid->length ? valid->data : "", valid->length};
}

static void put_text(struct builder *builder, struct gt_span text)
{
    if (!text.text) {
        gt_table_missing(builder->table);
        return;
    }
    text = valid_text(builder, text);
    gt_table_text_of(builder->table, text.text, text.length);
}

/* Put a text that repeats, by the column's own small number for it. NULL: missing. */
static void put_choice(struct builder *builder, uint32_t key, const char *text)
{
    if (!text)
        gt_table_missing(builder->table);
    else if (gt_table_knows(builder->table, builder->table->next, key))
        gt_table_choice(builder->table, key, text);
    else
        gt_table_choice(builder->table, key, valid_text(builder, (struct gt_span){text, strlen(text)}).text);
}

static void put_string(struct builder *builder, uint32_t string)
{
    put_choice(builder, string, string == GT_TRACE_NONE ? NULL : gt_trace_text(builder->trace, string));
}

static void put_number(struct builder *builder, bool is_there, int64_t value)
{
    if (is_there)
        gt_table_integer(builder->table, value);
    else
        gt_table_missing(builder->table);
}

/* Put the cells of an event in the order of the columns. */
static void put_event(struct builder *builder, const struct gt_trace_event *event)
{
    const struct gt_trace *trace = builder->trace;
    struct gt_exported_event about = gt_exported_event(trace, &builder->windows, event);
    const struct gt_trace_track *track = &trace->track[event->track];
    const struct gt_trace_process *process = &trace->process[track->process];
    const struct gt_trace_file *file = &trace->file[about.file];
    bool has_id = event->id != GT_TRACE_NO_ID && !(event->flag & GT_TRACE_TEXT_ID);
    put_number(builder, true, builder->events++);
    put_choice(builder, about.file, file->path);
    put_string(builder, about.node);
    put_number(builder, file->rank >= 0, file->rank);
    put_string(builder, process->pid);
    put_string(builder, process->name);
    put_string(builder, track->tid);
    put_string(builder, track->name);
    put_string(builder, event->name);
    put_string(builder, event->category);
    put_choice(builder, (unsigned char)event->phase, (char[]){event->phase, '\0'});
    put_number(builder, !(event->flag & GT_TRACE_NO_TIME), event->start);
    put_number(builder, event->phase == 'X', event->duration);
    put_number(builder, about.step != GT_TRACE_NO_STEP, about.step);
    put_number(builder, has_id, (int64_t)event->id);
    put_number(builder, event->item->external != GT_TRACE_NO_ID, (int64_t)event->item->external);
    put_number(builder, event->item->bytes >= 0, event->item->bytes);
    put_number(builder, about.device >= 0, about.device);
    put_number(builder, about.stream >= 0, about.stream);
    put_text(builder, about.shapes);
    put_text(builder, about.args);
}

static int take_event(void *context, const struct gt_trace_event *event, struct gt_error *error)
{
    struct builder *builder = context;
    if (event->phase == 'M')
        return 0;
    if (builder->table)
        put_event(builder, event);
    return builder->table && !builder->table->failed ? 0 : gt_error_system(error, ENOMEM, "reading events");
}

int gt_export_table(struct gt_trace_source *source, struct gt_table **ret, struct gt_error *error)
{
    struct builder builder = {.trace = gt_trace_source_trace(source), .table = gt_table_new()};
    struct gt_trace_sink sink = {.context = &builder, .event = take_event}; /* surveyed: no file begins twice */
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        gt_table_column(builder.table, columns[i].name, columns[i].name, columns[i].kind, NULL);
    int status = gt_trace_source_read(source, NULL, NULL, error);
    if (status >= 0 && gt_step_windows_open(&builder.windows, builder.trace) < 0)
        status = gt_error_system(error, ENOMEM, "reading events");
    if (status >= 0)
        status = gt_trace_source_read(source, &sink, NULL, error);
    gt_step_windows_release(&builder.windows);
    gt_buffer_release(&builder.valid);
    if (status >= 0)
        return gt_table_finish(ret, builder.table, "events", error);
    gt_table_free(builder.table);
    return status;
}
