#include "store/sqlite.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
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

/* SQLite opens once more what it could not make, and then tells that it is not there. What keeps a writer from making files is found
 * by making one. */
static int writers_error(sqlite3 *database, const char *path, int code)
{
    struct gt_new_file file;
    if (code != ENOENT || sqlite3_db_readonly(database, "main") != 0)
        return code;
    int status = gt_new_file_begin(&file, path);
    if (status < 0)
        return -status;
    gt_new_file_drop(&file);
    return code;
}

int gt_sqlite_error(sqlite3 *database, const char *path, struct gt_error *error)
{
    int code = sqlite3_errcode(database) & 0xff;
    int system = system_error(database);
    struct stat found;
    switch (code) {
    case SQLITE_NOTADB: return gt_error_set(error, EINVAL, "%s is not an SQLite database", path);
    case SQLITE_CORRUPT:
        if (stat(path, &found) == 0 && found.st_size == 0)
            return gt_error_set(error, EINVAL, "%s is empty: what was in it has been cut off", path);
        break;
    case SQLITE_FULL: return gt_error_system(error, system ? system : ENOSPC, "%s", path);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        if (system)
            return gt_error_system(error, writers_error(database, path, system), "%s", path);
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

int gt_sqlite_run_text(sqlite3 *database, const char *path, struct gt_buffer *sql, struct gt_error *error)
{
    int status = sql->failed ? gt_error_system(error, -sql->failed, "%s", path)
                             : gt_sqlite_run(database, path, sql->data, error);
    gt_buffer_release(sql);
    return status;
}

int gt_sqlite_prepare_text(sqlite3_stmt **ret, sqlite3 *database, const char *path, struct gt_buffer *sql,
                           struct gt_error *error)
{
    int status = sql->failed ? gt_error_system(error, -sql->failed, "%s", path)
                             : gt_sqlite_prepare(ret, database, path, sql->data, error);
    gt_buffer_release(sql);
    return status;
}

int gt_sqlite_prepare_row(sqlite3_stmt **ret, sqlite3 *database, const char *path, const char *verb, const char *table,
                          size_t columns, struct gt_error *error)
{
    struct gt_buffer sql = {0};
    gt_buffer_printf(&sql, "%s INTO %s VALUES (", verb, table);
    for (size_t i = 0; i < columns; i++)
        gt_buffer_text(&sql, i ? ",?" : "?");
    gt_buffer_char(&sql, ')');
    return gt_sqlite_prepare_text(ret, database, path, &sql, error);
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

static int check_log(const char *name, const char *path, bool may_remove, struct gt_error *error)
{
    struct stat found;
    if (lstat(name, &found) < 0)
        return errno == ENOENT ? 0 : gt_error_system(error, errno, "%s", name);
    if (S_ISREG(found.st_mode) && may_remove)
        return 1;
    return gt_error_set(error, EEXIST, "%s is there, which would be taken for a part of the new %s; %s", name, path,
                        S_ISREG(found.st_mode) ? "removing it was not asked for (overwrite)"
                                               : "it is no regular file, and is left alone");
}

static int go_through_logs(const char *path, bool may_remove, bool removes, struct gt_error *error)
{
    static const char *const suffixes[] = {"-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char name[PATH_MAX];
        if (snprintf(name, sizeof name, "%s%s", path, suffixes[i]) >= (int)sizeof name)
            return gt_error_system(error, ENAMETOOLONG, "%s", path);
        int status = check_log(name, path, may_remove, error);
        if (status > 0 && removes && unlink(name) < 0 && errno != ENOENT)
            status = gt_error_system(error, errno, "%s", name);
        if (status < 0)
            return status;
    }
    return 0;
}

static int sqlite_check_logs(const char *path, bool may_remove, struct gt_error *error)
{
    return go_through_logs(path, may_remove, false, error);
}

int gt_sqlite_clear_logs(const char *path, bool may_remove, struct gt_error *error)
{
    int status = go_through_logs(path, may_remove, false, error); /* all, or none */
    return status < 0 ? status : go_through_logs(path, may_remove, true, error);
}

void gt_sqlite_clear_index(const char *path)
{
    char name[PATH_MAX];
    if (snprintf(name, sizeof name, "%s-shm", path) < (int)sizeof name)
        unlink(name);
}

const struct gt_store_type gt_store_sqlite = {
    .suffix = ".sqlite",
    .lists_names = true,
    .keeps_provenance = true,
    .help = "SQLite database: samples, GPUs, processes, the outcome and where each figure comes from",
    .check = sqlite_check_logs,
    .create = gt_sqlite_create,
    .write = gt_sqlite_write,
    .flush = gt_sqlite_flush,
    .is_in_place = gt_sqlite_is_in_place,
    .left_out = gt_sqlite_left_out,
    .restore = gt_sqlite_restore,
    .finish = gt_sqlite_finish,
    .open = gt_sqlite_read_open,
    .has = gt_sqlite_read_has,
    .begin = gt_sqlite_read_begin,
    .next = gt_sqlite_read_next,
    .unfinished = gt_sqlite_read_unfinished,
    .begin_after = gt_sqlite_read_begin_after,
    .place = gt_sqlite_read_place,
    .close = gt_sqlite_read_close,
};
