/* An event as a row: what is told of it beside the columns of a trace, and its cells in the order of the columns. */
#include <string.h>

#include "analyse/export/tables.h"
#include "trace/input/walk.h"

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

static void put_string(struct row *row, uint32_t string)
{
    const char *text = string == GT_TRACE_NONE ? NULL : gt_trace_text(row->trace, string);
    row->cells->string(row->cells->context, row->next++, string, text);
}

static void put_number(struct row *row, bool is_there, int64_t value)
{
    row->cells->number(row->cells->context, row->next++, is_there, value);
}

static void put_text(struct row *row, struct gt_span text)
{
    row->cells->text(row->cells->context, row->next++, text);
}

static void put_place(struct row *row, const struct gt_exported_event *about)
{
    const struct gt_trace_track *track = &row->trace->track[about->event->track];
    const struct gt_trace_process *process = &row->trace->process[track->process];
    const struct gt_trace_file *file = &row->trace->file[about->file];
    row->cells->string(row->cells->context, row->next++, about->file, file->path);
    put_string(row, about->node);
    put_number(row, file->rank >= 0, file->rank);
    put_string(row, process->pid);
    put_string(row, process->name);
    put_string(row, track->tid);
    put_string(row, track->name);
}

static void put_figures(struct row *row, const struct gt_exported_event *about)
{
    const struct gt_trace_event *event = about->event;
    bool has_id = event->id != GT_TRACE_NO_ID && !(event->flag & GT_TRACE_TEXT_ID);
    put_number(row, !(event->flag & GT_TRACE_NO_TIME), event->start);
    put_number(row, event->phase == 'X', event->duration);
    put_number(row, about->step != GT_TRACE_NO_STEP, about->step);
    put_number(row, has_id, (int64_t)event->id);
    put_number(row, event->item->external != GT_TRACE_NO_ID, (int64_t)event->item->external);
    put_number(row, event->item->bytes >= 0, event->item->bytes);
    put_number(row, about->device >= 0, about->device);
    put_number(row, about->stream >= 0, about->stream);
}

void gt_export_row(const struct gt_trace *trace, const struct gt_step_windows *windows,
                   const struct gt_trace_event *event, uint64_t id, const struct gt_export_cells *cells)
{
    struct gt_exported_event about = gt_exported_event(trace, windows, event);
    struct row row = {trace, cells, 0};
    char phase[2] = {event->phase, '\0'};
    put_number(&row, true, (int64_t)id);
    put_place(&row, &about);
    put_string(&row, event->name);
    put_string(&row, event->category);
    cells->string(cells->context, row.next++, (unsigned char)event->phase, phase);
    put_figures(&row, &about);
    put_text(&row, about.shapes);
    put_text(&row, about.args);
}
