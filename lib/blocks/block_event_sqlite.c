/* Sub-tracking files as SQLite. */
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "blocks/block_event.h"
#include "store/sqlite.h"

struct border_sqlite {
    sqlite3 *database;
    sqlite3_stmt *select;
    char *path;
    bool has[GT_BLOCK_EVENT_COLUMNS];
};

static int has_column(struct border_sqlite *file, const char *table, const char *column)
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

static int find_columns(struct border_sqlite *file, const char **ret_table, struct gt_error *error)
{
    int found = has_column(file, GT_BLOCK_EVENT_TABLE_OF_RECORDING, gt_block_event_columns[0]);
    if (found < 0)
        return gt_sqlite_error(file->database, file->path, error);
    *ret_table = found ? GT_BLOCK_EVENT_TABLE_OF_RECORDING : "data";
    for (int i = 0; i < GT_BLOCK_EVENT_COLUMNS; i++) {
        file->has[i] = has_column(file, *ret_table, gt_block_event_columns[i]) > 0;
        if (!file->has[i] && i < GT_BLOCK_EVENT_REQUIRED)
            return gt_error_set(error, EBADMSG, "%s is not a sub-tracking file: it has no column %s", file->path,
                                gt_block_event_columns[i]);
    }
    return 0;
}

static int select_rows(struct border_sqlite *file, const char *table, struct gt_error *error)
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

static int bad_row(const struct border_sqlite *file, int column, struct gt_error *error)
{
    const char *text = (const char *)sqlite3_column_text(file->select, column);
    return gt_error_set(error, EBADMSG, "%s, row %lld: %s \"%.60s\"", file->path,
                        (long long)sqlite3_column_int64(file->select, GT_BLOCK_EVENT_COLUMNS),
                        gt_block_event_columns[column], text ? text : "");
}

static int read_integer(const struct border_sqlite *file, int column, int64_t *ret, struct gt_error *error)
{
    double value = sqlite3_column_double(file->select, column);
    switch (sqlite3_column_type(file->select, column)) {
    case SQLITE_INTEGER: *ret = sqlite3_column_int64(file->select, column); return 0;
    case SQLITE_FLOAT:
        *ret = fabs(value) < 9e15 ? (int64_t)value : 0;
        return (double)*ret == value ? 0 : bad_row(file, column, error);
    case SQLITE_NULL: return column < GT_BLOCK_EVENT_REQUIRED ? bad_row(file, column, error) : 0;
    default: return bad_row(file, column, error);
    }
}

static int read_double(const struct border_sqlite *file, int column, double *ret, struct gt_error *error)
{
    switch (sqlite3_column_type(file->select, column)) {
    case SQLITE_INTEGER:
    case SQLITE_FLOAT:
        *ret = sqlite3_column_double(file->select, column);
        return isfinite(*ret) ? 0 : bad_row(file, column, error);
    case SQLITE_NULL: return column < GT_BLOCK_EVENT_REQUIRED ? bad_row(file, column, error) : 0;
    default: return bad_row(file, column, error);
    }
}

static int read_row(struct border_sqlite *file, struct gt_block_event *ret, struct gt_error *error)
{
    int64_t position = 0;
    *ret = (struct gt_block_event){.thread = -1, .call = -1, .monotonic = NAN, .cpu_time = NAN};
    ret->row = (uint64_t)sqlite3_column_int64(file->select, GT_BLOCK_EVENT_COLUMNS);
    int status = read_integer(file, GT_BLOCK_EVENT_PROCESS, &ret->process, error);
    if (status == 0)
        status = read_integer(file, GT_BLOCK_EVENT_POSITION, &position, error);
    if (status == 0 && position != GT_START && position != GT_STOP)
        status = bad_row(file, GT_BLOCK_EVENT_POSITION, error);
    if (status == 0)
        status = read_double(file, GT_BLOCK_EVENT_TIMESTAMP, &ret->timestamp, error);
    if (status == 0)
        status = read_integer(file, GT_BLOCK_EVENT_THREAD, &ret->thread, error);
    if (status == 0)
        status = read_integer(file, GT_BLOCK_EVENT_CALL, &ret->call, error);
    if (status == 0)
        status = read_double(file, GT_BLOCK_EVENT_MONOTONIC, &ret->monotonic, error);
    if (status == 0)
        status = read_double(file, GT_BLOCK_EVENT_CPU_TIME, &ret->cpu_time, error);
    ret->position = (uint8_t)position;
    return status;
}

static int next_row(void *state, struct gt_block_event *ret, const char **name, struct gt_error *error)
{
    struct border_sqlite *file = state;
    int status = sqlite3_step(file->select);
    if (status == SQLITE_DONE)
        return 0;
    if (status != SQLITE_ROW) {
        int code = gt_sqlite_error(file->database, file->path, error);
        return code == -EBADMSG ? gt_error_set(error, EIO, "%s", file->path) : code; /* not one bad row, but the file */
    }
    *name = (const char *)sqlite3_column_text(file->select, GT_BLOCK_EVENT_NAME);
    *name = *name ? *name : "";
    status = read_row(file, ret, error);
    return status < 0 ? status : 1;
}

static uint64_t torn_rows(const void *state)
{
    (void)state;
    return 0; /* transactions are whole */
}

static void close_file(void *state)
{
    struct border_sqlite *file = state;
    sqlite3_finalize(file->select);
    sqlite3_close(file->database);
    free(file->path);
    free(file);
}

static const struct gt_block_event_source source = {.next = next_row, .torn = torn_rows, .close = close_file};

int gt_block_event_sqlite_start(struct gt_block_event_reader *reader, const char *path, struct gt_error *error)
{
    const char *table = NULL;
    struct border_sqlite *file = calloc(1, sizeof *file);
    if (!file || !(file->path = strdup(path))) {
        free(file);
        return gt_error_system(error, ENOMEM, "%s", path);
    }
    int status = gt_sqlite_open_existing(&file->database, path, error);
    if (status >= 0)
        status = find_columns(file, &table, error);
    if (status >= 0)
        status = select_rows(file, table, error);
    if (status < 0) {
        close_file(file);
        return status;
    }
    reader->source = &source;
    reader->state = file;
    return 0;
}

/* ---- writing ---- */

static void bind_number(sqlite3_stmt *insert, int column, double value)
{
    if (isnan(value))
        sqlite3_bind_null(insert, 1 + column);
    else
        sqlite3_bind_double(insert, 1 + column, value);
}

static void bind_optional(sqlite3_stmt *insert, int column, int64_t value)
{
    if (value < 0)
        sqlite3_bind_null(insert, 1 + column);
    else
        sqlite3_bind_int64(insert, 1 + column, value);
}

static int insert_rows(sqlite3 *database, const struct gt_block_event_list *list, const char *table)
{
    char sql[128];
    sqlite3_stmt *insert;
    sqlite3_snprintf(sizeof sql, sql, "INSERT INTO \"%w\" VALUES (?,?,?,?,?,?,?,?)", table);
    int status = sqlite3_prepare_v2(database, sql, -1, &insert, NULL);
    for (size_t i = 0; i < list->count && status == SQLITE_OK; i++) {
        const struct gt_block_event *event = &list->event[i];
        sqlite3_bind_int64(insert, 1 + GT_BLOCK_EVENT_PROCESS, event->process);
        gt_sqlite_bind_text(insert, 1 + GT_BLOCK_EVENT_NAME, gt_strings_text(&list->names, event->name));
        sqlite3_bind_int(insert, 1 + GT_BLOCK_EVENT_POSITION, event->position);
        sqlite3_bind_double(insert, 1 + GT_BLOCK_EVENT_TIMESTAMP, event->timestamp);
        bind_optional(insert, GT_BLOCK_EVENT_THREAD, event->thread);
        bind_optional(insert, GT_BLOCK_EVENT_CALL, event->call < 0 ? -1 : gt_block_event_call(list, event));
        bind_number(insert, GT_BLOCK_EVENT_MONOTONIC, event->monotonic);
        bind_number(insert, GT_BLOCK_EVENT_CPU_TIME, event->cpu_time);
        sqlite3_step(insert);
        status = sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    return status;
}

static int create_table(sqlite3 *database, const char *table)
{
    struct gt_buffer sql = {0};
    gt_buffer_printf(&sql, "BEGIN; DROP TABLE IF EXISTS \"%s\"; CREATE TABLE \"%s\" (", table, table);
    for (int i = 0; i < GT_BLOCK_EVENT_COLUMNS; i++)
        gt_buffer_printf(&sql, "%s\"%s\" %s", i ? ", " : "", gt_block_event_columns[i], gt_block_event_types[i]);
    gt_buffer_text(&sql, ")");
    int status = sql.failed ? SQLITE_NOMEM : sqlite3_exec(database, sql.data, NULL, NULL, NULL);
    gt_buffer_release(&sql);
    return status;
}

int gt_block_event_write_sqlite(const struct gt_block_event_list *list, const char *path, const char *table,
                                struct gt_error *error)
{
    sqlite3 *database;
    int status = sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL);
    if (status == SQLITE_OK)
        status = create_table(database, table);
    if (status == SQLITE_OK)
        status = insert_rows(database, list, table);
    if (status == SQLITE_OK)
        status = sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
    int result = status == SQLITE_OK ? 0 : gt_sqlite_error(database, path, error);
    sqlite3_close(database);
    return result;
}
