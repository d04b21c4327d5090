#include "analyse/export/export.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/export/tables.h"
#include "base/file.h"
#include "base/utf8.h"
#include "trace/input/walk.h"
#include "trace/profile_maker.h"
#include "trace/source.h"

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

struct counts {
    uint64_t events, samples, stacks;
};

/* ---- What is written ---- */

static int write_tables(struct gt_trace_source *source, const struct gt_new_file *file, bool is_arrow,
                        struct counts *counts, struct gt_error *error)
{
    int status = gt_trace_source_read(source, NULL, NULL, error); /* steps and tracks */
    if (status < 0)
        return status;
    return is_arrow ? gt_export_arrow(source, file->fd, &counts->events, error)
                    : gt_export_sqlite(source, file->hidden, &counts->events, &counts->samples, error);
}

/* ---- stacks ---- */

static bool has_stacks(const struct gt_trace *trace)
{
    for (size_t i = 0; i < trace->profile_count; i++)
        if (trace->profile[i].frame_count)
            return true;
    return false;
}

/* Timelines without functions have what lies within one another. */
static int find_stacks(struct gt_trace *trace, struct gt_error *error)
{
    int status = gt_call_profiles(trace, GT_CALLS_PYTHON);
    if (status >= 0 && !has_stacks(trace))
        status = gt_call_profiles(trace, GT_CALLS_CPU);
    return status < 0 ? gt_error_system(error, -status, "reading traces") : 0;
}

static int write_flame(const struct gt_trace *trace, const struct gt_new_file *file, bool is_page, const char *path,
                       struct counts *counts, struct gt_error *error)
{
    struct gt_flame flame;
    struct gt_buffer text = {0};
    int status = gt_flame_make(&flame, trace);
    if (status < 0)
        return gt_error_system(error, -status, "%s", path);
    const char *first = trace->file_count ? trace->file[0].path : "", *slash = strrchr(first, '/');
    counts->stacks = flame.count;
    if (!flame.count)
        status = gt_error_set(error, EINVAL, "%s: nothing to draw: %s", path,
                              trace->profile_count ? "these profiles tell of functions, but hold no stacks"
                                                   : "neither stacks nor calls of functions in these files");
    else if (is_page)
        gt_flame_page(&flame, slash ? slash + 1 : first, &text);
    else
        gt_flame_collapsed(&flame, &text);
    int failed = text.failed || status < 0 ? text.failed : gt_file_write_all(file->fd, text.data, text.length);
    if (status >= 0 && failed)
        status = gt_error_system(error, -failed, "%s", path);
    gt_buffer_release(&text);
    gt_flame_release(&flame);
    return status;
}

/* ---- the file, and what is told of it ---- */

enum kind { SQLITE, ARROW, PAGE, COLLAPSED, KINDS };

static enum kind kind_of(const char *path)
{
    static const struct {
        const char *suffix;
        enum kind kind;
    } kinds[] = {{".sqlite", SQLITE}, {".db", SQLITE},           {".arrow", ARROW},     {".feather", ARROW},
                 {".html", PAGE},     {".collapsed", COLLAPSED}, {".folded", COLLAPSED}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (gt_path_ends(path, kinds[i].suffix))
            return kinds[i].kind;
    return KINDS;
}

static int report(struct gt_report **ret, const struct gt_trace *trace, const char *path, const struct counts *counts,
                  enum kind kind, struct gt_error *error)
{
    int status = gt_report_new(ret, "export", error);
    if (status < 0)
        return status;
    struct gt_node *root = gt_report_root(*ret);
    uint64_t lost = 0;
    for (size_t i = 0; i < trace->file_count; i++)
        lost += trace->file[i].damage.bad_events + trace->file[i].damage.bad_samples + trace->file[i].damage.unopened;
    gt_report_text(root, "file", "File", path);
    gt_report_integer(root, "sources", "Sources", (int64_t)trace->file_count, "");
    if (kind == SQLITE || kind == ARROW)
        gt_report_integer(root, "events", "Events", (int64_t)counts->events, "");
    if (kind == SQLITE)
        gt_report_integer(root, "samples", "Samples", (int64_t)counts->samples, "");
    if (kind == PAGE || kind == COLLAPSED)
        gt_report_integer(root, "frames", "Frames", (int64_t)counts->stacks, "");
    gt_report_integer(root, "lost", "Lost events and samples", (int64_t)lost, "");
    return gt_report_failed(*ret) ? gt_error_system(error, ENOMEM, "report") : 0;
}

static int place(struct gt_new_file *file, const struct gt_export_options *options, struct gt_error *error)
{
    int status = gt_new_file_place(file, options->request.overwrite);
    if (status == 0 && close(file->fd) < 0)
        status = -errno;
    if (status == -EEXIST)
        return gt_error_set(error, EEXIST, "%s exists already, and overwriting it was not asked for (overwrite)",
                            options->request.output);
    return status < 0 ? gt_error_system(error, -status, "%s", options->request.output) : 0;
}

static int read_flame(const char *const paths[], size_t count, const struct gt_export_options *options,
                      const struct gt_new_file *file, enum kind kind, struct counts *counts, struct gt_report **ret,
                      struct gt_error *error)
{
    struct gt_trace *trace = NULL;
    int status = gt_trace_load(&trace, paths, count, &options->trace, error);
    if (status >= 0)
        status = find_stacks(trace, error);
    if (status >= 0)
        status = write_flame(trace, file, kind == PAGE, options->request.output, counts, error);
    if (status >= 0)
        status = report(ret, trace, options->request.output, counts, kind, error);
    gt_trace_close(trace);
    return status;
}

static int read_tables(const char *const paths[], size_t count, const struct gt_export_options *options,
                       const struct gt_new_file *file, enum kind kind, struct counts *counts, struct gt_report **ret,
                       struct gt_error *error)
{
    struct gt_trace_source *source = NULL;
    int status = gt_trace_source_open(&source, paths, count, &options->trace, error);
    if (status >= 0)
        status = write_tables(source, file, kind == ARROW, counts, error);
    const struct gt_trace *trace = status < 0 ? NULL : gt_trace_source_trace(source);
    if (trace && !counts->events && !counts->samples && trace->profile_count)
        status = gt_error_set(error, EINVAL,
                              "%s: no events to be written: these files hold profiles (.html and .collapsed)",
                              options->request.output);
    if (status >= 0)
        status = report(ret, trace, options->request.output, counts, kind, error);
    gt_trace_source_close(source);
    return status;
}

int gt_export(struct gt_report **ret, const char *const paths[], size_t count, const struct gt_export_options *options,
              struct gt_error *error)
{
    struct gt_new_file file;
    struct gt_report *made = NULL;
    struct counts counts = {0};
    const char *path = options->request.output;
    enum kind kind = path ? kind_of(path) : KINDS;
    if (!path)
        return gt_error_set(error, EINVAL, "output: the file to write is missing (-o FILE)");
    if (kind == KINDS)
        return gt_error_set(error, EINVAL,
                            "output: \"%s\" does not end in .sqlite or .arrow (tables), .html (a flame graph) or "
                            ".collapsed (stacks)",
                            path);
    if (!options->request.overwrite && access(path, F_OK) == 0)
        return gt_error_set(error, EEXIST, "%s exists already, and overwriting it was not asked for (overwrite)", path);
    int status = gt_trace_spare_inputs(path, paths, count, options->trace.suffixes, error);
    if (status < 0)
        return status;
    status = gt_new_file_begin(&file, path);
    if (status < 0)
        return gt_error_system(error, -status, "%s", path);
    status = (kind == SQLITE || kind == ARROW ? read_tables : read_flame)(paths, count, options, &file, kind, &counts,
                                                                          &made, error);
    if (status < 0)
        gt_new_file_drop(&file);
    else
        status = place(&file, options, error);
    if (status >= 0)
        *ret = made;
    else
        gt_report_free(made);
    return status;
}

bool gt_export_is_at(const char *path)
{
    static const char *const begins[] = {"ARROW1", "SQLite format 3"};
    char text[16] = "";
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return false;
    bool is_regular = fstat(file, &about) == 0 && S_ISREG(about.st_mode);
    ssize_t length = is_regular ? pread(file, text, sizeof text - 1, 0) : 0;
    close(file);
    for (size_t i = 0; i < sizeof begins / sizeof *begins && length > 0; i++)
        if (strncmp(text, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}
