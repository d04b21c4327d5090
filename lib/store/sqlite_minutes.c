#include "store/sqlite_minutes.h"

#include "store/sqlite.h"

enum { OWN_COLUMNS = 4 };

void gt_sqlite_minutes_schema(struct gt_buffer *sql, const char *samples)
{
    gt_buffer_printf(
        sql, "CREATE TABLE " GT_MINUTES_TABLE " (time INTEGER, number INTEGER, statistic VARCHAR, weight INTEGER, %s)",
        samples);
}

static int prepare(sqlite3 *database, const char *path, sqlite3_stmt **ret, size_t columns, struct gt_error *error)
{
    struct gt_buffer sql = {0};
    gt_buffer_text(&sql, "INSERT INTO " GT_MINUTES_TABLE " VALUES (?");
    for (size_t i = 1; i < OWN_COLUMNS + columns; i++)
        gt_buffer_text(&sql, ",?");
    gt_buffer_char(&sql, ')');
    int status = sql.failed ? gt_error_system(error, -sql.failed, "%s", path)
                            : gt_sqlite_prepare(ret, database, path, sql.data, error);
    gt_buffer_release(&sql);
    return status;
}

int gt_sqlite_minutes_write(sqlite3 *database, const char *path, sqlite3_stmt **insert, struct gt_minute *minute,
                            const struct gt_columns *columns, struct gt_error *error)
{
    int status = !minute->weight || *insert ? 0 : prepare(database, path, insert, columns->count, error);
    for (int statistic = 0; !status && minute->weight && statistic < GT_MINUTE_STATISTICS; statistic++) {
        sqlite3_bind_int64(*insert, 1, minute->begin_s);
        sqlite3_bind_int64(*insert, 2, (sqlite3_int64)minute->number);
        sqlite3_bind_text(*insert, 3, gt_minute_statistic_names[statistic], -1, SQLITE_STATIC);
        sqlite3_bind_int64(*insert, OWN_COLUMNS, minute->weight);
        for (size_t i = 0; i < columns->count; i++)
            gt_sqlite_bind_number(*insert, (int)i + OWN_COLUMNS + 1, gt_minute_value(minute, columns, i, statistic),
                                  columns->column[i].is_integer);
        status = gt_sqlite_step(*insert, database, path, error);
    }
    if (!status)
        gt_minute_next(minute);
    return status;
}
