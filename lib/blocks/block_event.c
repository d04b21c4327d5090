/* Reading sub-tracking files, CSV and SQLite. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/number.h"
#include "blocks/block_event.h"
#include "store/sqlite.h"

/* One kind of file. */
struct source {
    /* To the next row: 1 with its place and its block's name, 0 the end; or negative errno. */
    int (*advance)(void *state, struct gt_block_event *ret, const char **name, struct gt_error *error);
    /* A cell of the row. What the file does not have is left as it is. */
    int (*integer)(void *state, int column, int64_t *ret, struct gt_error *error);
    int (*number)(void *state, int column, double *ret, struct gt_error *error);
    int (*bad_position)(void *state, struct gt_error *error);
    uint64_t (*torn)(const void *state);
    void (*close)(void *state);
};
struct gt_block_event_reader {
    const struct source *source;
    void *state;
    int fd; /* to close, or -1 */
};

/* ---- CSV ---- */

struct csv_file {
    struct gt_csv_reader *csv;
    char *path;
    int column[GT_BLOCK_EVENT_COLUMNS]; /* its place in the file, or -1 */
    size_t columns;
    char **field;     /* of the row */
    bool has_returns; /* the header ended in \r\n, so a row that does not was torn apart */
    uint64_t torn;
};

static int bad_csv_row(const struct csv_file *file, struct gt_error *error, const char *what, const char *value)
{
    return gt_error_set(error, EBADMSG, "%s, line %llu: %s%s%.60s%s", file->path,
                        (unsigned long long)gt_csv_line(file->csv), what, value ? " \"" : "", value ? value : "",
                        value ? "\"" : "");
}

static int read_csv_header(struct csv_file *file, struct gt_error *error)
{
    char **field;
    int status = gt_csv_next(file->csv, &field, &file->columns, error);
    if (status < 0)
        return status;
    if (status == 0)
        return gt_error_set(error, EBADMSG, "%s is empty", file->path);
    file->has_returns = gt_csv_has_return(file->csv);
    for (int i = 0; i < GT_BLOCK_EVENT_COLUMNS; i++) {
        file->column[i] = -1;
        for (size_t j = 0; j < file->columns; j++)
            if (strcmp(field[j], gt_block_event_columns[i]) == 0)
                file->column[i] = (int)j;
        if (i < GT_BLOCK_EVENT_REQUIRED && file->column[i] < 0)
            return gt_error_set(error, EBADMSG, "%s is not a sub-tracking file: it has no column %s", file->path,
                                gt_block_event_columns[i]);
    }
    return 0;
}

/* Returns NULL for a column that the file lacks and for an empty field: the figure is left as it is. */
static const char *csv_text(const struct csv_file *file, int column)
{
    const char *text = file->column[column] < 0 ? NULL : file->field[file->column[column]];
    return text && !*text && column >= GT_BLOCK_EVENT_REQUIRED ? NULL : text;
}

static int read_csv_integer(void *state, int column, int64_t *ret, struct gt_error *error)
{
    struct csv_file *file = state;
    const char *text = csv_text(file, column);
    double value;
    if (!text || gt_number_i64(text, ret) == 0)
        return 0;
    if (gt_number_double(text, &value) == 0 && value == floor(value) && fabs(value) < 9e15) { /* as pandas writes it */
        *ret = (int64_t)value;
        return 0;
    }
    return bad_csv_row(file, error, gt_block_event_columns[column], text);
}

static int read_csv_double(void *state, int column, double *ret, struct gt_error *error)
{
    struct csv_file *file = state;
    const char *text = csv_text(file, column);
    return !text || gt_number_double(text, ret) == 0 ? 0
                                                     : bad_csv_row(file, error, gt_block_event_columns[column], text);
}

static int bad_csv_position(void *state, struct gt_error *error)
{
    struct csv_file *file = state;
    return bad_csv_row(file, error, "position is neither 0 nor 1:", file->field[file->column[GT_BLOCK_EVENT_POSITION]]);
}

static int next_csv_row(void *state, struct gt_block_event *ret, const char **name, struct gt_error *error)
{
    struct csv_file *file = state;
    for (;;) {
        size_t count;
        int status = gt_csv_next(file->csv, &file->field, &count, error);
        if (status <= 0)
            return status;
        if (file->has_returns && !gt_csv_has_return(file->csv)) {
            file->torn++;
            continue;
        }
        if (count != file->columns)
            return gt_error_set(error, EBADMSG, "%s, line %llu: %zu fields instead of %zu", file->path,
                                (unsigned long long)gt_csv_line(file->csv), count, file->columns);
        *name = file->field[file->column[GT_BLOCK_EVENT_NAME]];
        ret->row = gt_csv_line(file->csv);
        return 1;
    }
}

static uint64_t torn_csv_rows(const void *state)
{
    return ((const struct csv_file *)state)->torn;
}

static void close_csv(void *state)
{
    struct csv_file *file = state;
    gt_csv_close(file->csv);
    free(file->path);
    free(file);
}

static const struct source csv_source = {next_csv_row,     read_csv_integer, read_csv_double,
                                         bad_csv_position, torn_csv_rows,    close_csv};

/* The reader takes over the state, which `status` tells whether it is whole. */
static int make_reader(struct gt_block_event_reader **ret, const struct source *source, void *state, int status,
                       const char *name, struct gt_error *error)
{
    struct gt_block_event_reader *reader = status < 0 ? NULL : malloc(sizeof *reader);
    if (!reader) {
        source->close(state);
        return status < 0 ? status : gt_error_system(error, ENOMEM, "%s", name);
    }
    *reader = (struct gt_block_event_reader){source, state, -1};
    *ret = reader;
    return 0;
}

int gt_block_event_open_csv(struct gt_block_event_reader **ret, int fd, const char *name, struct gt_error *error)
{
    struct csv_file *file = calloc(1, sizeof *file);
    if (!file || !(file->path = strdup(name))) {
        free(file);
        return gt_error_system(error, ENOMEM, "%s", name);
    }
    int status = gt_csv_open(&file->csv, fd, name, error);
    if (status == 0)
        status = read_csv_header(file, error);
    return make_reader(ret, &csv_source, file, status, name, error);
}

/* ---- SQLite ---- */

struct sqlite_file {
    sqlite3 *database;
    sqlite3_stmt *select;
    char *path;
    bool has[GT_BLOCK_EVENT_COLUMNS];
};

static int has_column(struct sqlite_file *file, const char *table, const char *column)
{
    sqlite3_stmt *query;
    const char *sql = "SELECT count(*) FROM pragma_table_info(?) WHERE name = ?";
    if (sqlite3_prepare_v2(file->database, sql, -1, &query, NULL) != SQLITE_OK)
        return -EIO;
    sqlite3_bind_text(query, 1, table, -1, SQLITE_STATIC);
    sqlite3_bind_text(query, 2, column, -1, SQLITE_STATIC);
    int count = sqlite3_step(query) == SQLITE_ROW ? sqlite3_column_int(query, 0) : -EIO;
    sqlite3_finalize(query);
    return count;
}

static int find_columns(struct sqlite_file *file, const char **ret_table, struct gt_error *error)
{
    int found = has_column(file, "blocks", gt_block_event_columns[0]);
    if (found < 0)
        return gt_sqlite_error(file->database, file->path, error);
    *ret_table = found ? "blocks" : "data";
    for (int i = 0; i < GT_BLOCK_EVENT_COLUMNS; i++) {
        file->has[i] = has_column(file, *ret_table, gt_block_event_columns[i]) > 0;
        if (!file->has[i] && i < GT_BLOCK_EVENT_REQUIRED)
            return gt_error_set(error, EBADMSG, "%s is not a sub-tracking file: it has no column %s", file->path,
                                gt_block_event_columns[i]);
    }
    return 0;
}

static int select_rows(struct sqlite_file *file, const char *table, struct gt_error *error)
{
    struct gt_buffer sql = {0};
    gt_buffer_text(&sql, "SELECT ");
    for (int i = 0; i < GT_BLOCK_EVENT_COLUMNS; i++)
        gt_buffer_printf(&sql, file->has[i] ? "\"%s\", " : "NULL, ", gt_block_event_columns[i]);
    gt_buffer_printf(&sql, "rowid FROM \"%s\" ORDER BY rowid", table);
    int status = sql.failed ? SQLITE_NOMEM : sqlite3_prepare_v2(file->database, sql.data, -1, &file->select, NULL);
    gt_buffer_release(&sql);
    return status == SQLITE_OK ? 0 : gt_sqlite_error(file->database, file->path, error);
}

static int bad_sqlite_row(const struct sqlite_file *file, int column, struct gt_error *error)
{
    const char *text = (const char *)sqlite3_column_text(file->select, column);
    return gt_error_set(error, EBADMSG, "%s, row %lld: %s \"%.60s\"", file->path,
                        (long long)sqlite3_column_int64(file->select, GT_BLOCK_EVENT_COLUMNS),
                        gt_block_event_columns[column], text ? text : "");
}

static int read_sqlite_integer(void *state, int column, int64_t *ret, struct gt_error *error)
{
    const struct sqlite_file *file = state;
    double value = sqlite3_column_double(file->select, column);
    switch (sqlite3_column_type(file->select, column)) {
    case SQLITE_INTEGER: *ret = sqlite3_column_int64(file->select, column); return 0;
    case SQLITE_FLOAT:
        *ret = fabs(value) < 9e15 ? (int64_t)value : 0;
        return (double)*ret == value ? 0 : bad_sqlite_row(file, column, error);
    case SQLITE_NULL: return column < GT_BLOCK_EVENT_REQUIRED ? bad_sqlite_row(file, column, error) : 0;
    default: return bad_sqlite_row(file, column, error);
    }
}

static int read_sqlite_double(void *state, int column, double *ret, struct gt_error *error)
{
    const struct sqlite_file *file = state;
    switch (sqlite3_column_type(file->select, column)) {
    case SQLITE_INTEGER:
    case SQLITE_FLOAT:
        *ret = sqlite3_column_double(file->select, column);
        return isfinite(*ret) ? 0 : bad_sqlite_row(file, column, error);
    case SQLITE_NULL: return column < GT_BLOCK_EVENT_REQUIRED ? bad_sqlite_row(file, column, error) : 0;
    default: return bad_sqlite_row(file, column, error);
    }
}

static int bad_sqlite_position(void *state, struct gt_error *error)
{
    return bad_sqlite_row(state, GT_BLOCK_EVENT_POSITION, error);
}

static int next_sqlite_row(void *state, struct gt_block_event *ret, const char **name, struct gt_error *error)
{
    struct sqlite_file *file = state;
    int status = sqlite3_step(file->select);
    if (status == SQLITE_DONE)
        return 0;
    if (status != SQLITE_ROW) {
        int code = gt_sqlite_error(file->database, file->path, error);
        return code == -EBADMSG ? gt_error_set(error, EIO, "%s", file->path) : code; /* not one bad row, but the file */
    }
    *name = (const char *)sqlite3_column_text(file->select, GT_BLOCK_EVENT_NAME);
    *name = *name ? *name : "";
    ret->row = (uint64_t)sqlite3_column_int64(file->select, GT_BLOCK_EVENT_COLUMNS);
    return 1;
}

static uint64_t torn_sqlite_rows(const void *state)
{
    (void)state;
    return 0; /* transactions are whole */
}

static void close_sqlite(void *state)
{
    struct sqlite_file *file = state;
    sqlite3_finalize(file->select);
    sqlite3_close(file->database);
    free(file->path);
    free(file);
}

static const struct source sqlite_source = {next_sqlite_row,     read_sqlite_integer, read_sqlite_double,
                                            bad_sqlite_position, torn_sqlite_rows,    close_sqlite};

static int open_sqlite_file(struct gt_block_event_reader **ret, const char *path, struct gt_error *error)
{
    const char *table = NULL;
    struct sqlite_file *file = calloc(1, sizeof *file);
    if (!file || !(file->path = strdup(path))) {
        free(file);
        return gt_error_system(error, ENOMEM, "%s", path);
    }
    int status = gt_sqlite_open_existing(&file->database, path, error);
    if (status >= 0)
        status = find_columns(file, &table, error);
    if (status >= 0)
        status = select_rows(file, table, error);
    return make_reader(ret, &sqlite_source, file, status, path, error);
}

/* ---- either ---- */

static int open_csv_file(struct gt_block_event_reader **ret, const char *path, struct gt_error *error)
{
    int fd = gt_given_file_open(path, NULL, error);
    if (fd < 0)
        return fd;
    int status = gt_block_event_open_csv(ret, fd, path, error);
    if (status < 0)
        close(fd);
    else
        (*ret)->fd = fd;
    return status;
}

int gt_block_event_open(struct gt_block_event_reader **ret, const char *path, struct gt_error *error)
{
    const struct gt_block_writer *writer = gt_block_writer_of(path);
    if (!writer)
        return gt_error_set(error, EINVAL, "%s: a sub-tracking file ends in .csv or .sqlite", path);
    if (access(path, R_OK) < 0)
        return gt_error_system(error, errno, "%s", path);
    return writer == &gt_block_csv ? open_csv_file(ret, path, error) : open_sqlite_file(ret, path, error);
}

int gt_block_event_next(struct gt_block_event_reader *reader, struct gt_block_event *ret, const char **name,
                        struct gt_error *error)
{
    const struct source *source = reader->source;
    void *state = reader->state;
    int64_t position = 0;
    *ret = (struct gt_block_event){.thread = -1, .call = -1, .total = -1, .monotonic = NAN, .cpu_time = NAN};
    int status = source->advance(state, ret, name, error);
    if (status <= 0)
        return status;
    status = source->integer(state, GT_BLOCK_EVENT_PROCESS, &ret->process, error);
    if (status == 0)
        status = source->integer(state, GT_BLOCK_EVENT_POSITION, &position, error);
    if (status == 0 && position != GT_START && position != GT_STOP)
        status = source->bad_position(state, error);
    if (status == 0)
        status = source->number(state, GT_BLOCK_EVENT_TIMESTAMP, &ret->timestamp, error);
    if (status == 0)
        status = source->integer(state, GT_BLOCK_EVENT_THREAD, &ret->thread, error);
    if (status == 0)
        status = source->integer(state, GT_BLOCK_EVENT_CALL, &ret->call, error);
    if (status == 0)
        status = source->integer(state, GT_BLOCK_EVENT_TOTAL, &ret->total, error);
    if (status == 0)
        status = source->number(state, GT_BLOCK_EVENT_MONOTONIC, &ret->monotonic, error);
    if (status == 0)
        status = source->number(state, GT_BLOCK_EVENT_CPU_TIME, &ret->cpu_time, error);
    ret->position = (uint8_t)position;
    return status < 0 ? status : 1;
}

uint64_t gt_block_event_torn(const struct gt_block_event_reader *reader)
{
    return reader->source->torn(reader->state);
}

void gt_block_event_close(struct gt_block_event_reader *reader)
{
    if (!reader)
        return;
    reader->source->close(reader->state);
    if (reader->fd >= 0)
        close(reader->fd);
    free(reader);
}
