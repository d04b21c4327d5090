#include "analyse/export/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "trace/input/walk.h"

/* An event as a row: what is told of it beside the columns of a trace, and its cells in the order of the columns. */

struct gt_exported_event gt_exported_event(const struct gt_trace *trace, const struct gt_step_windows *windows,
                                           const struct gt_trace_event *event)
{
    struct gt_exported_event ret = {.event = event, .step = event->step, .device = -1, .stream = -1};
    struct gt_walk walk;
    struct gt_span key, value;
    ret.file = trace->process[trace->track[event->track].process].file;
    ret.node = gt_trace_node_of(trace, ret.file);
    if (ret.step == GT_TRACE_NO_STEP && !(event->flag & GT_TRACE_NO_TIME))
        ret.step = gt_step_windows_find(windows, ret.node, event->start);
    if (!event->item->args.text || *event->item->args.text != '{')
        return ret;
    ret.args = event->item->args;
    gt_walk_open(&walk, ret.args);
    while (gt_walk_member(&walk, &key, &value) > 0)
        if (gt_span_is(key, "Input Dims") || gt_span_is(key, "Input dims"))
            ret.shapes = value;
        else if (gt_span_is(key, "device"))
            gt_span_decimal(value, 0, &ret.device);
        else if (gt_span_is(key, "stream"))
            gt_span_decimal(value, 0, &ret.stream);
    return ret;
}

const struct gt_export_column gt_export_columns[GT_EXPORT_COLUMNS] = {
    {"id", true},          {"file", false},    {"node", false},       {"rank", true},   {"pid", false},
    {"process", false},    {"tid", false},     {"thread", false},     {"name", false},  {"category", false},
    {"phase", false},      {"start_ns", true}, {"duration_ns", true}, {"step", true},   {"correlation", true},
    {"external_id", true}, {"bytes", true},    {"device", true},      {"stream", true}, {"shapes", false},
    {"args", false},
};

struct row {
    const struct gt_trace *trace;
    const struct gt_export_cells *cells;
    int next;
};

static void put_row_string(struct row *row, uint32_t string)
{
    const char *text = string == GT_TRACE_NONE ? NULL : gt_trace_text(row->trace, string);
    row->cells->string(row->cells->context, row->next++, string, text);
}

static void put_row_number(struct row *row, bool is_there, int64_t value)
{
    row->cells->number(row->cells->context, row->next++, is_there, value);
}

static void put_row_text(struct row *row, struct gt_span text)
{
    row->cells->text(row->cells->context, row->next++, text);
}

static void put_place(struct row *row, const struct gt_exported_event *about)
{
    const struct gt_trace_track *track = &row->trace->track[about->event->track];
    const struct gt_trace_process *process = &row->trace->process[track->process];
    const struct gt_trace_file *file = &row->trace->file[about->file];
    row->cells->string(row->cells->context, row->next++, about->file, file->path);
    put_row_string(row, about->node);
    put_row_number(row, file->rank >= 0, file->rank);
    put_row_string(row, process->pid);
    put_row_string(row, process->name);
    put_row_string(row, track->tid);
    put_row_string(row, track->name);
}

static void put_figures(struct row *row, const struct gt_exported_event *about)
{
    const struct gt_trace_event *event = about->event;
    bool has_id = event->id != GT_TRACE_NO_ID && !(event->flag & GT_TRACE_TEXT_ID);
    put_row_number(row, !(event->flag & GT_TRACE_NO_TIME), event->start);
    put_row_number(row, event->phase == 'X', event->duration);
    put_row_number(row, about->step != GT_TRACE_NO_STEP, about->step);
    put_row_number(row, has_id, (int64_t)event->id);
    put_row_number(row, event->item->external != GT_TRACE_NO_ID, (int64_t)event->item->external);
    put_row_number(row, event->item->bytes >= 0, event->item->bytes);
    put_row_number(row, about->device >= 0, about->device);
    put_row_number(row, about->stream >= 0, about->stream);
}

void gt_export_row(const struct gt_trace *trace, const struct gt_step_windows *windows,
                   const struct gt_trace_event *event, uint64_t id, const struct gt_export_cells *cells)
{
    struct gt_exported_event about = gt_exported_event(trace, windows, event);
    struct row row = {trace, cells, 0};
    char phase[2] = {event->phase, '\0'};
    put_row_number(&row, true, (int64_t)id);
    put_place(&row, &about);
    put_row_string(&row, event->name);
    put_row_string(&row, event->category);
    cells->string(cells->context, row.next++, (unsigned char)event->phase, phase);
    put_figures(&row, &about);
    put_row_text(&row, about.shapes);
    put_row_text(&row, about.args);
}

/* ---- The events of a trace as a table in memory ---- */

struct builder {
    const struct gt_trace *trace;
    struct gt_step_windows windows;
    struct gt_table *table;
    struct gt_buffer valid;
    uint64_t events;
};

static void put_bytes(struct builder *builder, const char *text, size_t length)
{
    struct gt_buffer *valid = &builder->valid;
    if (gt_utf8_are_valid(text, length)) {
        gt_table_text_of(builder->table, text, length);
        return;
    }
    gt_buffer_clear(valid);
    if (gt_utf8_valid_bytes(valid, text, length) < 0)
        gt_table_missing(builder->table);
    else
        gt_table_text_of(builder->table, valid->length ? valid->data : "", valid->length);
}

static void put_text(void *context, int column, struct gt_span text)
{
    struct builder *builder = context;
    (void)column;
    if (text.text)
        put_bytes(builder, text.text, text.length);
    else
        gt_table_missing(builder->table);
}

static void put_string(void *context, int column, uint32_t key, const char *text)
{
    struct builder *builder = context;
    struct gt_table *table = builder->table;
    if (!text) {
        gt_table_missing(table);
    } else if (gt_table_knows(table, (size_t)column, key) || gt_utf8_are_valid(text, strlen(text))) {
        gt_table_choice(table, key, text);
    } else {
        gt_buffer_clear(&builder->valid);
        gt_utf8_valid_bytes(&builder->valid, text, strlen(text));
        gt_table_choice(table, key, builder->valid.length ? builder->valid.data : "");
    }
}

static void put_number(void *context, int column, bool is_there, int64_t value)
{
    struct builder *builder = context;
    (void)column;
    if (is_there)
        gt_table_integer(builder->table, value);
    else
        gt_table_missing(builder->table);
}

static int take_event(void *context, const struct gt_trace_event *event, struct gt_error *error)
{
    struct builder *builder = context;
    if (event->phase == 'M')
        return 0;
    gt_export_row(builder->trace, &builder->windows, event, builder->events++,
                  &(struct gt_export_cells){builder, put_string, put_text, put_number});
    return builder->table && !builder->table->failed ? 0 : gt_error_system(error, ENOMEM, "reading events");
}

static void add_columns(struct gt_table *table)
{
    for (int i = 0; i < GT_EXPORT_COLUMNS; i++) {
        const char *name = gt_export_columns[i].name;
        bool is_plain = strcmp(name, "shapes") == 0 || strcmp(name, "args") == 0;
        gt_table_column(table, name, name,
                        gt_export_columns[i].is_number ? GT_CELL_INTEGER
                        : is_plain                     ? GT_CELL_PLAIN_TEXT
                                                       : GT_CELL_TEXT,
                        NULL);
    }
}

int gt_export_table(struct gt_trace_source *source, struct gt_table **ret, struct gt_error *error)
{
    struct builder builder = {.trace = gt_trace_source_trace(source), .table = gt_table_new()};
    struct gt_trace_sink sink = {.context = &builder, .event = take_event}; /* surveyed: no file begins twice */
    add_columns(builder.table);
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
