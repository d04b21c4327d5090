#include "analyse/export/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "trace/input/walk.h"

/* What is told of an event beside the columns of a trace. */

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

/* ---- The events of a trace as tables in memory ---- */

enum { MOST_ROWS = 1 << 16, MOST_BYTES = 64 << 20 }; /* of a batch; bytes: of the texts of a column */

struct builder {
    const struct gt_trace *trace;
    struct gt_step_windows windows;
    struct gt_table *table;
    struct gt_buffer valid;
    uint64_t events;
    /* Of batches; NULL: there is one table of all events. */
    int (*take)(void *context, const struct gt_table *table, bool is_last);
    void *context;
};

static struct gt_table *new_table(const struct builder *builder)
{
    static const struct gt_column_kind columns[] = {
        {"id", GT_CELL_INTEGER, false},
        {"file", GT_CELL_TEXT, false},
        {"node", GT_CELL_TEXT, false},
        {"rank", GT_CELL_INTEGER, false},
        {"pid", GT_CELL_TEXT, false},
        {"process", GT_CELL_TEXT, false},
        {"tid", GT_CELL_TEXT, false},
        {"thread", GT_CELL_TEXT, false},
        {"name", GT_CELL_TEXT, false},
        {"category", GT_CELL_TEXT, false},
        {"phase", GT_CELL_TEXT, false},
        {"start_ns", GT_CELL_INTEGER, false},
        {"duration_ns", GT_CELL_INTEGER, false},
        {"step", GT_CELL_INTEGER, false},
        {"correlation", GT_CELL_INTEGER, false},
        {"external_id", GT_CELL_INTEGER, false},
        {"bytes", GT_CELL_INTEGER, false},
        {"device", GT_CELL_INTEGER, false},
        {"stream", GT_CELL_INTEGER, false},
        {"shapes", GT_CELL_PLAIN_TEXT, false},
        {"args", GT_CELL_PLAIN_TEXT, false},
    };
    struct gt_table *table = gt_table_new();
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        bool is_dictionary = columns[i].kind == GT_CELL_TEXT && !builder->take;
        enum gt_cell_kind kind = columns[i].kind == GT_CELL_INTEGER ? GT_CELL_INTEGER
                                 : is_dictionary                    ? GT_CELL_TEXT
                                                                    : GT_CELL_PLAIN_TEXT;
        gt_table_column(table, columns[i].name, columns[i].name, kind, NULL);
    }
    return table;
}

/* The text, or what is in its place where it is no UTF-8. */
static struct gt_span valid_text(struct builder *builder, struct gt_span text)
{
    if (!text.text || gt_utf8_are_valid(text.text, text.length))
        return text;
    gt_buffer_clear(&builder->valid);
    gt_utf8_valid_bytes(&builder->valid, text.text, text.length);
    return (struct gt_span){builder->valid.length ? builder->valid.data : "", builder->valid.length};
}

static void put_text(struct builder *builder, struct gt_span text)
{
    text = valid_text(builder, text);
    if (text.text)
        gt_table_text_of(builder->table, text.text, text.length);
    else
        gt_table_missing(builder->table);
}

/* A text that repeats, by the column's own small number for it; NULL: missing. */
static void put_repeated(struct builder *builder, uint32_t key, const char *text)
{
    struct gt_span span = {text, text ? strlen(text) : 0};
    struct gt_table *table = builder->table;
    if (!text || builder->take || !table)
        put_text(builder, span);
    else if (gt_table_knows(table, table->next, key))
        gt_table_choice(table, key, text);
    else
        gt_table_choice(table, key, valid_text(builder, span).text);
}

static void put_string(struct builder *builder, uint32_t string)
{
    put_repeated(builder, string, string == GT_TRACE_NONE ? NULL : gt_trace_text(builder->trace, string));
}

static void put_number(struct builder *builder, bool is_there, int64_t value)
{
    if (is_there)
        gt_table_integer(builder->table, value);
    else
        gt_table_missing(builder->table);
}

/* In the order of the columns. */
static void put_event(struct builder *builder, const struct gt_trace_event *event)
{
    const struct gt_exported_event about = gt_exported_event(builder->trace, &builder->windows, event);
    const struct gt_trace_track *track = &builder->trace->track[event->track];
    const struct gt_trace_process *process = &builder->trace->process[track->process];
    const struct gt_trace_file *file = &builder->trace->file[about.file];
    const char phase[2] = {event->phase, '\0'};
    bool has_id = event->id != GT_TRACE_NO_ID && !(event->flag & GT_TRACE_TEXT_ID);
    put_number(builder, true, (int64_t)builder->events++);
    put_repeated(builder, about.file, file->path);
    put_string(builder, about.node);
    put_number(builder, file->rank >= 0, file->rank);
    put_string(builder, process->pid);
    put_string(builder, process->name);
    put_string(builder, track->tid);
    put_string(builder, track->name);
    put_string(builder, event->name);
    put_string(builder, event->category);
    put_repeated(builder, (unsigned char)event->phase, phase);
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

static bool is_full(const struct gt_table *table)
{
    bool is_full = gt_table_rows(table) >= MOST_ROWS;
    for (size_t i = 0; i < table->columns; i++)
        is_full |= table->column[i].begin && table->column[i].begin[table->column[i].texts] >= MOST_BYTES;
    return is_full;
}

static int hand_on(struct builder *builder, bool is_last)
{
    int status = builder->table ? builder->table->failed : -ENOMEM;
    if (status >= 0)
        status = builder->take(builder->context, builder->table, is_last);
    gt_table_free(builder->table);
    builder->table = is_last ? NULL : new_table(builder);
    return status;
}

static int take_event(void *context, const struct gt_trace_event *event, struct gt_error *error)
{
    struct builder *builder = context;
    int status = 0;
    if (event->phase == 'M')
        return 0;
    put_event(builder, event);
    if (!builder->table || builder->table->failed)
        status = -ENOMEM;
    else if (builder->take && is_full(builder->table))
        status = hand_on(builder, false);
    return status < 0 ? gt_error_system(error, -status, builder->take ? "writing events" : "reading events") : 0;
}

static int read_events(struct builder *builder, struct gt_trace_source *source, struct gt_error *error)
{
    struct gt_trace_sink sink = {.context = builder, .event = take_event}; /* surveyed: no file begins twice */
    builder->trace = gt_trace_source_trace(source);
    builder->table = new_table(builder);
    int status = gt_step_windows_open(&builder->windows, builder->trace) < 0
                     ? gt_error_system(error, ENOMEM, "reading events")
                     : gt_trace_source_read(source, &sink, NULL, error);
    gt_step_windows_release(&builder->windows);
    gt_buffer_release(&builder->valid);
    return status;
}

int gt_export_batches(struct gt_trace_source *source,
                      int (*take)(void *context, const struct gt_table *table, bool is_last), void *context,
                      uint64_t *events, struct gt_error *error)
{
    struct builder builder = {.take = take, .context = context};
    int status = read_events(&builder, source, error);
    if (status >= 0 && (status = hand_on(&builder, true)) < 0)
        gt_error_system(error, -status, "writing events");
    gt_table_free(builder.table);
    *events = builder.events;
    return status;
}

int gt_export_table(struct gt_trace_source *source, struct gt_table **ret, struct gt_error *error)
{
    struct builder builder = {.take = NULL};
    int status = gt_trace_source_read(source, NULL, NULL, error);
    if (status >= 0)
        status = read_events(&builder, source, error);
    if (status >= 0)
        return gt_table_finish(ret, builder.table, "events", error);
    gt_table_free(builder.table);
    return status;
}
