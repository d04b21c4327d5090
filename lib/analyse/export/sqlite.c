/* A trace as a SQLite database: what repeats stands once, and views put it together again. Rows are written while files
 * are read, so memory is for names alone. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/export/tables.h"
#include "base/utf8.h"
#include "store/sqlite.h"
#include "trace/source.h"

static const char schema[] =
    "CREATE TABLE string(id INTEGER PRIMARY KEY, text TEXT NOT NULL);"
    "CREATE TABLE file(id INTEGER PRIMARY KEY, path TEXT, format TEXT, node TEXT, rank INTEGER, clock TEXT, start_ns INTEGER,"
    " end_ns INTEGER, events INTEGER, lost INTEGER);"
    "CREATE TABLE process(id INTEGER PRIMARY KEY, file INTEGER, pid TEXT, name TEXT, label TEXT);"
    "CREATE TABLE track(id INTEGER PRIMARY KEY, process INTEGER, tid TEXT, name TEXT);"
    "CREATE TABLE event(id INTEGER PRIMARY KEY, track INTEGER, name INTEGER, category INTEGER, phase TEXT, start_ns INTEGER,"
    " duration_ns INTEGER, step INTEGER, correlation INTEGER, external_id INTEGER, bytes INTEGER, device INTEGER,"
    " stream INTEGER, shapes TEXT, args TEXT);"
    "CREATE TABLE series(id INTEGER PRIMARY KEY, type TEXT, name TEXT, dimension TEXT, node TEXT);"
    "CREATE TABLE sample(series INTEGER, time_ns INTEGER, value REAL);"
    "CREATE TABLE steps(node TEXT, mode TEXT, step INTEGER, start_ns INTEGER, end_ns INTEGER);"
    "CREATE VIEW ranks AS SELECT id AS file, path, node, rank, start_ns, end_ns FROM file;"
    "CREATE VIEW counters AS SELECT type, series.name AS name, dimension, node, time_ns, value FROM sample"
    " JOIN series ON series.id = sample.series;"
    "CREATE VIEW events AS SELECT event.id AS id, file.path AS file, file.node AS node, file.rank AS rank, process.pid AS pid,"
    " process.name AS process, track.tid AS tid, track.name AS thread, n.text AS name, c.text AS category, phase,"
    " event.start_ns AS start_ns, duration_ns, step, correlation, external_id, bytes, device, stream, shapes, args"
    " FROM event JOIN track ON track.id = event.track JOIN process ON process.id = track.process"
    " JOIN file ON file.id = process.file JOIN string n ON n.id = event.name LEFT JOIN string c ON c.id = event.category;";

enum { OF_EVENT, OF_SAMPLE, OF_STRING, OF_FILE, OF_PROCESS, OF_TRACK, OF_SERIES, OF_STEP, STATEMENTS };

static const char *const statements[STATEMENTS] = {
    "INSERT INTO event VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    "INSERT INTO sample VALUES(?,?,?)",
    "INSERT INTO string VALUES(?,?)",
    "INSERT INTO file VALUES(?,?,?,?,?,?,?,?,?,?)",
    "INSERT INTO process VALUES(?,?,?,?,?)",
    "INSERT INTO track VALUES(?,?,?,?)",
    "INSERT INTO series VALUES(?,?,?,?,?)",
    "INSERT INTO steps VALUES(?,?,?,?,?)",
};

struct writer {
    const struct gt_trace *trace;
    sqlite3 *database;
    sqlite3_stmt *statement[STATEMENTS];
    const char *path;
    struct gt_step_windows windows;
    uint64_t events, samples;
};

static int complain(struct writer *writer, struct gt_error *error)
{
    return gt_error_set(error, EIO, "%s: %s", writer->path, sqlite3_errmsg(writer->database));
}

/* ---- one row ---- */

struct cell {
    enum { NUMBER, REAL, TEXT, MISSING } kind;
    int64_t number;
    double real;
    struct gt_span text;
};

static struct cell number(int64_t value)
{
    return (struct cell){.kind = NUMBER, .number = value};
}

static struct cell number_if(bool is_there, int64_t value)
{
    return (struct cell){.kind = is_there ? NUMBER : MISSING, .number = value};
}

static struct cell text(const char *text)
{
    return (struct cell){.kind = TEXT, .text = {text, strlen(text)}};
}

static struct cell span(struct gt_span span)
{
    return (struct cell){.kind = span.text ? TEXT : MISSING, .text = span};
}

static struct cell string(const struct writer *writer, uint32_t string)
{
    return string == GT_TRACE_NONE ? (struct cell){.kind = MISSING} : text(gt_trace_text(writer->trace, string));
}

static void put_text(sqlite3_stmt *row, int column, struct gt_span text)
{
    struct gt_buffer valid = {0};
    if (!gt_utf8_are_valid(text.text, text.length) && gt_utf8_valid_bytes(&valid, text.text, text.length) >= 0)
        text = (struct gt_span){valid.data ? valid.data : "", valid.length};
    sqlite3_bind_text64(row, column, text.text, text.length, SQLITE_TRANSIENT, SQLITE_UTF8);
    gt_buffer_release(&valid);
}

static int put_row(struct writer *writer, int statement, const struct cell *cell, size_t cells, struct gt_error *error)
{
    sqlite3_stmt *row = writer->statement[statement];
    sqlite3_reset(row);
    sqlite3_clear_bindings(row);
    for (int i = 0; i < (int)cells; i++)
        switch (cell[i].kind) {
        case NUMBER: sqlite3_bind_int64(row, i + 1, cell[i].number); break;
        case REAL: sqlite3_bind_double(row, i + 1, cell[i].real); break;
        case TEXT: put_text(row, i + 1, cell[i].text); break;
        case MISSING: break;
        }
    return sqlite3_step(row) == SQLITE_DONE ? 0 : complain(writer, error);
}

#define PUT_ROW(writer, statement, error, ...)                     \
    put_row(writer, statement, (const struct cell[]){__VA_ARGS__}, \
            sizeof(const struct cell[]){__VA_ARGS__} / sizeof(struct cell), error)

/* ---- what is written while files are read ---- */

static int take_event(void *context, const struct gt_trace_event *event, struct gt_error *error)
{
    struct writer *writer = context;
    if (event->phase == 'M')
        return 0;
    struct gt_exported_event about = gt_exported_event(writer->trace, &writer->windows, event);
    bool has_id = event->id != GT_TRACE_NO_ID && !(event->flag & GT_TRACE_TEXT_ID);
    return PUT_ROW(writer, OF_EVENT, error, number((int64_t)writer->events++), number(event->track),
                   number(event->name), number_if(event->category != GT_TRACE_NONE, event->category),
                   span((struct gt_span){&event->phase, 1}), number_if(!(event->flag & GT_TRACE_NO_TIME), event->start),
                   number_if(event->phase == 'X', event->duration),
                   number_if(about.step != GT_TRACE_NO_STEP, about.step), number_if(has_id, (int64_t)event->id),
                   number_if(event->item->external != GT_TRACE_NO_ID, (int64_t)event->item->external),
                   number_if(event->item->bytes >= 0, event->item->bytes), number_if(about.device >= 0, about.device),
                   number_if(about.stream >= 0, about.stream), span(about.shapes), span(about.args));
}

static int take_sample(void *context, uint32_t series, int64_t time, double value, struct gt_error *error)
{
    struct writer *writer = context;
    writer->samples++;
    return PUT_ROW(writer, OF_SAMPLE, error, number(series), number(time), {.kind = REAL, .real = value});
}

/* ---- what is known at the end ---- */

static int write_rest(struct writer *writer, struct gt_error *error)
{
    const struct gt_trace *trace = writer->trace;
    int status = 0;
    for (uint32_t i = 0; i < trace->strings.count && status >= 0; i++)
        status = PUT_ROW(writer, OF_STRING, error, number(i), string(writer, i));
    for (uint32_t i = 0; i < trace->file_count && status >= 0; i++) {
        const struct gt_trace_file *file = &trace->file[i];
        bool has_range = file->first <= file->last;
        status = PUT_ROW(writer, OF_FILE, error, number(i), text(file->path), text(file->format),
                         string(writer, gt_trace_node_of(trace, i)), number_if(file->rank >= 0, file->rank),
                         text(gt_trace_clock_names[file->clock]), number_if(has_range, file->first),
                         number_if(has_range, file->last), number((int64_t)file->kept),
                         number((int64_t)gt_damage_lost(&file->damage)));
    }
    for (uint32_t i = 0; i < trace->process_count && status >= 0; i++) {
        const struct gt_trace_process *process = &trace->process[i];
        status = PUT_ROW(writer, OF_PROCESS, error, number(i), number(process->file), string(writer, process->pid),
                         string(writer, process->name), string(writer, process->label));
    }
    for (uint32_t i = 0; i < trace->track_count && status >= 0; i++) {
        const struct gt_trace_track *track = &trace->track[i];
        status = PUT_ROW(writer, OF_TRACK, error, number(i), number(track->process), string(writer, track->tid),
                         string(writer, track->name));
    }
    for (uint32_t i = 0; i < trace->series_count && status >= 0; i++) {
        const struct gt_trace_series *series = &trace->series[i];
        status = PUT_ROW(writer, OF_SERIES, error, number(i), string(writer, series->type),
                         string(writer, series->name), string(writer, series->dimension), string(writer, series->node));
    }
    for (size_t i = 0; i < trace->step_count && status >= 0; i++) {
        const struct gt_trace_step *step = &trace->step[i];
        status = PUT_ROW(writer, OF_STEP, error, string(writer, step->node), string(writer, step->mode),
                         number(step->step), number(step->start), number(step->end));
    }
    return status;
}

static int prepare(struct writer *writer, struct gt_error *error)
{
    /* The file has another name until it is whole: it needs no journal. */
    if (sqlite3_open_v2(writer->path, &writer->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
            SQLITE_OK ||
        sqlite3_exec(writer->database, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF", NULL, NULL, NULL) !=
            SQLITE_OK ||
        sqlite3_exec(writer->database, schema, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(writer->database, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        return complain(writer, error);
    for (int i = 0; i < STATEMENTS; i++)
        if (sqlite3_prepare_v2(writer->database, statements[i], -1, &writer->statement[i], NULL) != SQLITE_OK)
            return complain(writer, error);
    return 0;
}

int gt_export_sqlite(struct gt_trace_source *source, const char *path, uint64_t *events, uint64_t *samples,
                     struct gt_error *error)
{
    struct writer writer = {.trace = gt_trace_source_trace(source), .path = path};
    struct gt_trace_sink sink = {
        .context = &writer, .event = take_event, .sample = take_sample}; /* surveyed: no file begins twice */
    int status = gt_step_windows_open(&writer.windows, writer.trace) < 0 ? gt_error_system(error, ENOMEM, "%s", path)
                                                                         : 0;
    if (status >= 0)
        status = prepare(&writer, error);
    if (status >= 0)
        status = gt_trace_source_read(source, &sink, NULL, error);
    if (status >= 0)
        status = write_rest(&writer, error);
    if (status >= 0 && sqlite3_exec(writer.database, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        status = complain(&writer, error);
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(writer.statement[i]);
    sqlite3_close(writer.database);
    gt_step_windows_release(&writer.windows);
    *events = writer.events;
    *samples = writer.samples;
    return status;
}
