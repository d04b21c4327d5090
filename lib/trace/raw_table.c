#include "trace/tables.h"

#include <errno.h>

#include "trace/source.h"

static const struct gt_column_kind columns[] = {
    {"start_us", GT_CELL_NUMBER, true},  {"duration_us", GT_CELL_NUMBER, true}, {"name", GT_CELL_PLAIN_TEXT, false},
    {"args", GT_CELL_PLAIN_TEXT, false}, {"ph", GT_CELL_PLAIN_TEXT, false},     {"pid", GT_CELL_TEXT, false},
    {"tid", GT_CELL_TEXT, false},        {"process", GT_CELL_TEXT, false},      {"node", GT_CELL_TEXT, false},
    {"file", GT_CELL_TEXT, false},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

struct raw {
    const struct gt_trace *trace;
    struct gt_table *table;
    struct gt_buffer name;
};

static void put(struct raw *raw, uint32_t string)
{
    gt_table_choice(raw->table, string, gt_trace_text(raw->trace, string));
}

static int take(void *context, const struct gt_trace_event *event, struct gt_error *error)
{
    struct raw *raw = context;
    const struct gt_trace_track *track = &raw->trace->track[event->track];
    const struct gt_trace_process *process = &raw->trace->process[track->process];
    const struct gt_raw_event *item = event->item;
    if ((event->phase != 'X' && event->phase != 'i') || event->flag & GT_TRACE_NO_TIME)
        return 0;
    gt_buffer_clear(&raw->name);
    if (gt_span_unescape(item->name, &raw->name) < 0)
        return gt_error_system(error, ENOMEM, "reading traces");
    gt_table_number(raw->table, gt_trace_us(event->start));
    gt_table_number(raw->table, gt_trace_us(event->duration));
    gt_table_text_of(raw->table, raw->name.length ? raw->name.data : "", raw->name.length);
    if (item->args.text && *item->args.text == '{')
        gt_table_text_of(raw->table, item->args.text, item->args.length);
    else
        gt_table_missing(raw->table);
    gt_table_text_of(raw->table, &event->phase, 1);
    put(raw, process->pid);
    put(raw, track->tid);
    put(raw, process->name);
    put(raw, gt_trace_node_of(raw->trace, process->file));
    gt_table_text(raw->table, raw->trace->file[process->file].path);
    return 0;
}

/* Files are surveyed first, so that none begins again once its rows are there. */
int gt_trace_raw_table(const char *const paths[], size_t count, const struct gt_trace_options *options,
                       struct gt_table **ret, struct gt_error *error)
{
    struct gt_trace_source *source;
    int status = gt_trace_source_open(&source, paths, count, options, error);
    if (status < 0)
        return status;
    struct raw raw = {gt_trace_source_trace(source), gt_table_new(), {0}};
    struct gt_trace_sink sink = {.context = &raw, .event = take};
    gt_table_add_columns(raw.table, columns, COLUMNS);
    status = gt_trace_source_read(source, NULL, NULL, error);
    if (status >= 0)
        status = gt_trace_source_read(source, &sink, NULL, error);
    gt_buffer_release(&raw.name);
    gt_trace_source_close(source);
    if (status >= 0)
        return gt_table_finish_columns(ret, raw.table, columns, COLUMNS, "profile", error);
    gt_table_free(raw.table);
    return status;
}
