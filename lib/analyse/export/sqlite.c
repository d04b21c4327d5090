/* A trace as a SQLite database: what repeats stands once, and views put it together again. Rows are written while files
 * are read, so memory is for names alone. */
#include <errno.h>
#include <stdlib.h>

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

static void put_text(sqlite3_stmt *row, int column, const char *text, size_t length)
{
    struct gt_buffer valid = {0};
    if (!text)
        return;
    if (gt_utf8_are_valid(text, length)) {
        sqlite3_bind_text64(row, column, text, length, SQLITE_TRANSIENT, SQLITE_UTF8);
        return;
    }
    if (gt_utf8_valid_bytes(&valid, text, length) >= 0)
        sqlite3_bind_text64(row, column, valid.data, valid.length, SQLITE_TRANSIENT, SQLITE_UTF8);
    gt_buffer_release(&valid);
}

static void put_string(const struct writer *writer, sqlite3_stmt *row, int column, uint32_t string)
{
    const char *text = gt_trace_text(writer->trace, string);
    if (string != GT_TRACE_NONE)
        put_text(row, column, text, strlen(text));
}

static void put_id(sqlite3_stmt *row, int column, uint64_t id)
{
    if (id != GT_TRACE_NO_ID)
        sqlite3_bind_int64(row, column, (sqlite3_int64)id);
}

static void put_known(sqlite3_stmt *row, int column, int64_t value)
{
    if (value >= 0)
        sqlite3_bind_int64(row, column, value);
}

static sqlite3_stmt *begin_row(struct writer *writer, int statement, int64_t id)
{
    sqlite3_stmt *row = writer->statement[statement];
    sqlite3_reset(row);
    sqlite3_clear_bindings(row);
    sqlite3_bind_int64(row, 1, id);
    return row;
}

static int end_row(struct writer *writer, sqlite3_stmt *row, struct gt_error *error)
{
    return sqlite3_step(row) == SQLITE_DONE ? 0 : complain(writer, error);
}

/* ---- what is written while files are read ---- */

static int take_event(void *context, const struct gt_trace_event *event, struct gt_error *error)
{
    struct writer *writer = context;
    if (event->phase == 'M')
        return 0;
    struct gt_exported_event about = gt_exported_event(writer->trace, &writer->windows, event);
    sqlite3_stmt *row = begin_row(writer, OF_EVENT, (int64_t)writer->events++);
    sqlite3_bind_int64(row, 2, event->track);
    sqlite3_bind_int64(row, 3, event->name);
    if (event->category != GT_TRACE_NONE)
        sqlite3_bind_int64(row, 4, event->category);
    sqlite3_bind_text(row, 5, &event->phase, 1, SQLITE_TRANSIENT);
    if (!(event->flag & GT_TRACE_NO_TIME))
        sqlite3_bind_int64(row, 6, event->start);
    if (event->phase == 'X')
        sqlite3_bind_int64(row, 7, event->duration);
    if (about.step != GT_TRACE_NO_STEP)
        sqlite3_bind_int64(row, 8, about.step);
    if (!(event->flag & GT_TRACE_TEXT_ID))
        put_id(row, 9, event->id);
    put_id(row, 10, event->item->external);
    put_known(row, 11, event->item->bytes);
    put_known(row, 12, about.device);
    put_known(row, 13, about.stream);
    put_text(row, 14, about.shapes.text, about.shapes.length);
    put_text(row, 15, about.args.text, about.args.length);
    return end_row(writer, row, error);
}

static int take_sample(void *context, uint32_t series, int64_t time, double value, struct gt_error *error)
{
    struct writer *writer = context;
    sqlite3_stmt *row = begin_row(writer, OF_SAMPLE, series);
    sqlite3_bind_int64(row, 2, time);
    sqlite3_bind_double(row, 3, value);
    writer->samples++;
    return end_row(writer, row, error);
}

/* ---- what is known at the end ---- */

static int write_file(struct writer *writer, uint32_t number, struct gt_error *error)
{
    static const char *const clocks[] = {"unknown", "in the file", "in its name"};
    const struct gt_trace_file *file = &writer->trace->file[number];
    sqlite3_stmt *row = begin_row(writer, OF_FILE, number);
    put_text(row, 2, file->path, strlen(file->path));
    put_text(row, 3, file->format, strlen(file->format));
    put_string(writer, row, 4, gt_trace_node_of(writer->trace, number));
    put_known(row, 5, file->rank);
    put_text(row, 6, clocks[file->clock], strlen(clocks[file->clock]));
    if (file->first <= file->last) {
        sqlite3_bind_int64(row, 7, file->first);
        sqlite3_bind_int64(row, 8, file->last);
    }
    sqlite3_bind_int64(row, 9, (sqlite3_int64)file->kept);
    sqlite3_bind_int64(row, 10,
                       (sqlite3_int64)(file->damage.bad_events + file->damage.bad_samples + file->damage.unopened));
    return end_row(writer, row, error);
}

static int write_process(struct writer *writer, uint32_t number, struct gt_error *error)
{
    const struct gt_trace_process *process = &writer->trace->process[number];
    sqlite3_stmt *row = begin_row(writer, OF_PROCESS, number);
    sqlite3_bind_int64(row, 2, process->file);
    put_string(writer, row, 3, process->pid);
    put_string(writer, row, 4, process->name);
    put_string(writer, row, 5, process->label);
    return end_row(writer, row, error);
}

static int write_track(struct writer *writer, uint32_t number, struct gt_error *error)
{
    const struct gt_trace_track *track = &writer->trace->track[number];
    sqlite3_stmt *row = begin_row(writer, OF_TRACK, number);
    sqlite3_bind_int64(row, 2, track->process);
    put_string(writer, row, 3, track->tid);
    put_string(writer, row, 4, track->name);
    return end_row(writer, row, error);
}

static int write_series(struct writer *writer, uint32_t number, struct gt_error *error)
{
    const struct gt_trace_series *series = &writer->trace->series[number];
    sqlite3_stmt *row = begin_row(writer, OF_SERIES, number);
    put_string(writer, row, 2, series->type);
    put_string(writer, row, 3, series->name);
    put_string(writer, row, 4, series->dimension);
    put_string(writer, row, 5, series->node);
    return end_row(writer, row, error);
}

static int write_step(struct writer *writer, uint32_t number, struct gt_error *error)
{
    const struct gt_trace_step *step = &writer->trace->step[number];
    sqlite3_stmt *row = begin_row(writer, OF_STEP, 0);
    sqlite3_clear_bindings(row);
    put_string(writer, row, 1, step->node);
    put_string(writer, row, 2, step->mode);
    sqlite3_bind_int64(row, 3, step->step);
    sqlite3_bind_int64(row, 4, step->start);
    sqlite3_bind_int64(row, 5, step->end);
    return end_row(writer, row, error);
}

static int write_string(struct writer *writer, uint32_t number, struct gt_error *error)
{
    sqlite3_stmt *row = begin_row(writer, OF_STRING, number);
    put_string(writer, row, 2, number);
    return end_row(writer, row, error);
}

static int write_rest(struct writer *writer, struct gt_error *error)
{
    const struct gt_trace *trace = writer->trace;
    const struct {
        size_t count;
        int (*write)(struct writer *writer, uint32_t number, struct gt_error *error);
    } parts[] = {{trace->strings.count, write_string},  {trace->file_count, write_file},
                 {trace->process_count, write_process}, {trace->track_count, write_track},
                 {trace->series_count, write_series},   {trace->step_count, write_step}};
    int status = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (size_t j = 0; j < parts[i].count && status >= 0; j++)
            status = parts[i].write(writer, (uint32_t)j, error);
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
