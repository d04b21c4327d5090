#include "store/sqlite.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

enum { COLUMNS = sizeof((struct gt_columns *)0)->column / sizeof(struct gt_column) };

/* A query over one table; its columns are source[0], source[1], ... */
struct table {
    const char *name;
    sqlite3_stmt *select; /* NULL: no such table */
    const struct gt_column *source[COLUMNS];
    int source_count;
    uint64_t row;
    int64_t number; /* the rowid of the row at hand, or that after which reading begins */
};

struct detail_table {
    struct table table;
    struct gt_columns columns;
    struct gt_detail_cursor cursor;
    struct sqlite_recording *recording;
};

struct sqlite_recording {
    sqlite3 *database;
    char *path;
    struct table data;
    struct gt_recording_place place;
    struct detail_table *detail[GT_DETAIL_COUNT]; /* NULL: not wanted, or not there */
};

/* ---- Tables -------------------------------------------------------------------------------------------------- */

static bool has_column(sqlite3 *database, const char *table, const char *column)
{
    return sqlite3_table_column_metadata(database, NULL, table, column, NULL, NULL, NULL, NULL, NULL) == SQLITE_OK;
}

/* What the table calls the column; NULL: it has none. */
static const char *name_in(sqlite3 *database, const char *table, const char *column)
{
    const char *before = gt_store_name_before(column);
    if (has_column(database, table, column))
        return column;
    return before && has_column(database, table, before) ? before : NULL;
}

/* SELECT the wanted columns that the table has, in the order of its rows. */
static int choose_columns(struct sqlite_recording *recording, struct table *table, const char *name,
                          const struct gt_columns *columns, const bool wanted[], struct gt_error *error)
{
    struct gt_buffer sql = {0};
    bool is_continued = table->number > 0;
    gt_buffer_text(&sql, "SELECT ");
    for (size_t i = 0; i < columns->count; i++) {
        const struct gt_column *column = &columns->column[i];
        const char *written = !wanted || wanted[i] ? name_in(recording->database, name, column->name) : NULL;
        if (!written)
            continue;
        gt_buffer_text(&sql, table->source_count ? ", " : "");
        gt_sqlite_name(&sql, written);
        table->source[table->source_count++] = column;
    }
    gt_buffer_printf(&sql, "%srowid FROM %s", table->source_count ? ", " : "", name);
    if (is_continued)
        gt_buffer_printf(&sql, " WHERE rowid > %lld", (long long)table->number);
    gt_buffer_text(&sql, " ORDER BY rowid");
    table->name = name;
    int status = sql.failed ? gt_error_system(error, -sql.failed, "%s", recording->path)
                            : gt_sqlite_prepare(&table->select, recording->database, recording->path, sql.data, error);
    gt_buffer_release(&sql);
    return status;
}

/* 1 a row, 0 the end. */
static int next_row(struct sqlite_recording *recording, struct table *table, struct gt_error *error)
{
    if (!table->select)
        return 0;
    int result = sqlite3_step(table->select);
    if (result == SQLITE_ROW) {
        table->row++;
        table->number = sqlite3_column_int64(table->select, table->source_count);
        return 1;
    }
    if (result != SQLITE_DONE)
        return gt_sqlite_error(recording->database, recording->path, error);
    sqlite3_finalize(table->select); /* a further step would begin again */
    table->select = NULL;
    return 0;
}

static int bad_number(const struct sqlite_recording *recording, const struct table *table, int position,
                      struct gt_error *error)
{
    const char *text = (const char *)sqlite3_column_text(table->select, position);
    const char *column = table->source[position]->name;
    if (!text)
        return gt_error_set(error, EBADMSG, "%s, table %s, row %llu, column %s: no time", recording->path, table->name,
                            (unsigned long long)table->row, column);
    return gt_error_set(error, EBADMSG, "%s, table %s, row %llu, column %s: \"%s\" is not a number", recording->path,
                        table->name, (unsigned long long)table->row, column, text);
}

/* Columns may hold texts whatever their declared type: numbers written as text are taken, others refused. */
static int read_number(const struct sqlite_recording *recording, const struct table *table, int position, double *ret,
                       struct gt_error *error)
{
    *ret = NAN;
    switch (sqlite3_column_type(table->select, position)) {
    case SQLITE_INTEGER:
    case SQLITE_FLOAT: *ret = sqlite3_column_double(table->select, position); return 0;
    case SQLITE_NULL:
        return table->source[position]->scope == GT_COLUMN_REAL ? bad_number(recording, table, position, error) : 0;
    case SQLITE_TEXT:
        if (gt_number_double((const char *)sqlite3_column_text(table->select, position), ret) == 0)
            return 0;
        break;
    default: break;
    }
    return bad_number(recording, table, position, error);
}

/* ---- Recordings ---------------------------------------------------------------------------------------------- */

int gt_sqlite_read_open(void **ret, const char *path, struct gt_recorded *recorded, struct gt_error *error)
{
    struct sqlite_recording *recording = calloc(1, sizeof *recording);
    char *own_path = strdup(path);
    if (!recording || !own_path) {
        free(recording);
        free(own_path);
        return gt_error_system(error, ENOMEM, "%s", path);
    }
    recording->path = own_path;
    int status = gt_sqlite_open_existing(&recording->database, path, error);
    if (!status)
        status = gt_sqlite_read_fields(recording->database, path, recorded, error);
    if (status < 0)
        gt_sqlite_read_close(recording);
    else
        *ret = recording;
    return status;
}

bool gt_sqlite_read_has(const void *state, const char *column)
{
    const struct sqlite_recording *recording = state;
    return has_column(recording->database, "data", column);
}

static int open_detail(struct sqlite_recording *recording, size_t index, struct gt_error *error)
{
    if (!gt_sqlite_has_table(recording->database, gt_details[index].table))
        return 0;
    struct detail_table *detail = recording->detail[index] = calloc(1, sizeof *detail);
    if (!detail)
        return gt_error_system(error, ENOMEM, "%s", recording->path);
    detail->recording = recording;
    detail->table.number = recording->place.row[index + 1];
    detail->cursor.scope = gt_details[index].scope;
    gt_detail_columns(&detail->columns, gt_details[index].scope);
    return choose_columns(recording, &detail->table, gt_details[index].table, &detail->columns, NULL, error);
}

/* All tables are read in one transaction, so that they agree while a tracker still writes. */
int gt_sqlite_read_begin(void *state, const struct gt_columns *columns, const bool wanted[], bool detail,
                         struct gt_error *error)
{
    struct sqlite_recording *recording = state;
    if (!gt_sqlite_has_table(recording->database, "data"))
        return 0; /* the original's, killed before its first sample */
    if (!has_column(recording->database, "data", "timestamp"))
        return gt_error_set(error, EINVAL, "%s: its table data has no column timestamp", recording->path);
    int status = gt_sqlite_run(recording->database, recording->path, "BEGIN", error);
    if (!status)
        status = choose_columns(recording, &recording->data, "data", columns, wanted, error);
    for (size_t i = 0; !status && detail && i < GT_DETAIL_COUNT; i++)
        status = open_detail(recording, i, error);
    return status;
}

static int read_detail(void *context, struct gt_detail_cursor *cursor, struct gt_error *error)
{
    struct detail_table *detail = context;
    int status = next_row(detail->recording, &detail->table, error);
    if (status <= 0)
        return status;
    gt_detail_begin_row(cursor);
    for (int i = 0; i < detail->table.source_count; i++) {
        double value;
        if (read_number(detail->recording, &detail->table, i, &value, error) < 0)
            return -EBADMSG;
        gt_detail_assign(detail->table.source[i], value, &cursor->moment, &cursor->row);
    }
    return 1;
}

int gt_sqlite_read_next(void *state, struct gt_sample_copy *copy, struct gt_error *error)
{
    struct sqlite_recording *recording = state;
    struct table *data = &recording->data;
    int status = next_row(recording, data, error);
    if (status <= 0)
        return status;
    for (int i = 0; i < data->source_count; i++) {
        double value;
        if (read_number(recording, data, i, &value, error) < 0)
            return -EBADMSG;
        gt_store_column_assign(data->source[i], value, &copy->sample);
    }
    for (size_t i = 0; i < GT_DETAIL_COUNT; i++) {
        struct detail_table *detail = recording->detail[i];
        if (detail && (status = gt_detail_take(&detail->cursor, copy, read_detail, detail, error)) < 0)
            return status;
    }
    return 1;
}

void gt_sqlite_read_begin_after(void *state, const struct gt_recording_place *place)
{
    struct sqlite_recording *recording = state;
    recording->place = *place;
    recording->data.number = place->row[0];
}

/* A row of details that was read ahead is read again. */
void gt_sqlite_read_place(const void *state, struct gt_recording_place *ret)
{
    const struct sqlite_recording *recording = state;
    ret->row[0] = recording->data.number;
    for (size_t i = 0; i < GT_DETAIL_COUNT; i++) {
        const struct detail_table *detail = recording->detail[i];
        ret->row[i + 1] = detail ? detail->table.number - detail->cursor.has_row : recording->place.row[i + 1];
    }
}

uint64_t gt_sqlite_read_unfinished(const void *state)
{
    (void)state; /* an unfinished transaction was never there */
    return 0;
}

void gt_sqlite_read_close(void *state)
{
    struct sqlite_recording *recording = state;
    if (!recording)
        return;
    sqlite3_finalize(recording->data.select);
    for (size_t i = 0; i < GT_DETAIL_COUNT; i++) {
        if (recording->detail[i])
            sqlite3_finalize(recording->detail[i]->table.select);
        free(recording->detail[i]);
    }
    sqlite3_close(recording->database);
    free(recording->path);
    free(recording);
}
