#include "store/sqlite.h"

#include <errno.h>
#include <math.h>

#include "base/utf8.h"

/* SQLite keeps the cause of a failed write with the file: the database or its log. */
static int system_error(sqlite3 *database)
{
    sqlite3_file *log = NULL;
    int code = sqlite3_system_errno(database);
    if (!code)
        sqlite3_file_control(database, "main", SQLITE_FCNTL_LAST_ERRNO, &code);
    if (!code && sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK && log &&
        log->pMethods)
        log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &code);
    return code;
}

int gt_sqlite_error(sqlite3 *database, const char *path, struct gt_error *error)
{
    int code = sqlite3_errcode(database) & 0xff;
    int system = system_error(database);
    switch (code) {
    case SQLITE_NOTADB: return gt_error_set(error, EINVAL, "%s is not an SQLite database", path);
    case SQLITE_FULL: return gt_error_system(error, system ? system : ENOSPC, "%s", path);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        if (system)
            return gt_error_system(error, system, "%s", path);
        break;
    default: break;
    }
    return gt_error_set(error, code == SQLITE_NOMEM ? ENOMEM : EIO, "%s: SQLite: %s", path, sqlite3_errmsg(database));
}

int gt_sqlite_run(sqlite3 *database, const char *path, const char *sql, struct gt_error *error)
{
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    return gt_sqlite_error(database, path, error);
}

int gt_sqlite_prepare(sqlite3_stmt **ret, sqlite3 *database, const char *path, const char *sql, struct gt_error *error)
{
    if (sqlite3_prepare_v2(database, sql, -1, ret, NULL) == SQLITE_OK)
        return 0;
    return gt_sqlite_error(database, path, error);
}

void gt_sqlite_name(struct gt_buffer *sql, const char *name)
{
    gt_buffer_char(sql, '"');
    for (; *name; name++) {
        if (*name == '"')
            gt_buffer_char(sql, '"');
        gt_buffer_char(sql, *name);
    }
    gt_buffer_char(sql, '"');
}

void gt_sqlite_bind_number(sqlite3_stmt *statement, int position, double value, bool integer)
{
    if (isnan(value))
        sqlite3_bind_null(statement, position);
    else if (integer && value == floor(value) && fabs(value) < 0x1p53)
        sqlite3_bind_int64(statement, position, (sqlite3_int64)value);
    else
        sqlite3_bind_double(statement, position, value);
}

void gt_sqlite_bind_text(sqlite3_stmt *statement, int position, const char *text)
{
    struct gt_buffer valid = {0};
    gt_utf8_valid(&valid, text);
    sqlite3_bind_text(statement, position, valid.data ? valid.data : "", -1, SQLITE_TRANSIENT);
    gt_buffer_release(&valid);
}

int gt_sqlite_step(sqlite3_stmt *statement, sqlite3 *database, const char *path, struct gt_error *error)
{
    int status = sqlite3_step(statement) == SQLITE_DONE ? 0 : gt_sqlite_error(database, path, error);
    sqlite3_reset(statement);
    return status;
}

const struct gt_store_type gt_store_sqlite = {
    .suffix = ".sqlite",
    .help = "SQLite database: samples, GPUs, processes, the outcome and where each figure comes from",
    .create = gt_sqlite_create,
    .write = gt_sqlite_write,
    .flush = gt_sqlite_flush,
    .is_in_place = gt_sqlite_is_in_place,
    .restore = gt_sqlite_restore,
    .finish = gt_sqlite_finish,
    .open = gt_sqlite_read_open,
    .has = gt_sqlite_read_has,
    .begin = gt_sqlite_read_begin,
    .next = gt_sqlite_read_next,
    .unfinished = gt_sqlite_read_unfinished,
    .close = gt_sqlite_read_close,
};
