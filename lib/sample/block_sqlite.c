/* Sub-tracking files as SQLite: a table "data". One row is one transaction in the write-ahead log without waiting for the
 * disk: it survives the process, not the machine. One connection for each process, behind a lock: SQLite has one writer. */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "sample/block.h"

struct sqlite_file {
    pthread_mutex_t mutex;
    sqlite3 *database;
    sqlite3_stmt *insert;
    uint64_t calls;
};

static int create_table(sqlite3 *database)
{
    struct gt_buffer sql = {0};
    gt_buffer_text(&sql, "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; CREATE TABLE data (");
    for (int i = 0; i < GT_BORDER_COLUMNS; i++)
        gt_buffer_printf(&sql, "%s%s %s", i ? ", " : "", gt_border_columns[i], gt_border_types[i]);
    gt_buffer_text(&sql, ")");
    int status = sql.failed ? SQLITE_NOMEM : sqlite3_exec(database, sql.data, NULL, NULL, NULL);
    gt_buffer_release(&sql);
    return status;
}

static int open_sqlite(struct gt_block_file *file, struct gt_error *error)
{
    struct sqlite_file *sqlite = calloc(1, sizeof *sqlite);
    if (!sqlite)
        return gt_error_system(error, ENOMEM, "%s", file->path);
    pthread_mutex_init(&sqlite->mutex, NULL);
    int status = sqlite3_open_v2(file->path, &sqlite->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (status == SQLITE_OK)
        status = create_table(sqlite->database);
    if (status == SQLITE_OK)
        status = sqlite3_prepare_v3(sqlite->database, "INSERT INTO data VALUES (?,?,?,?,?,?,?,?)", -1,
                                    SQLITE_PREPARE_PERSISTENT, &sqlite->insert, NULL);
    if (status != SQLITE_OK) {
        int code = status == SQLITE_FULL ? ENOSPC : EIO;
        gt_error_set(error, code, "%s: %s", file->path, sqlite3_errmsg(sqlite->database));
        sqlite3_close(sqlite->database);
        free(sqlite);
        return -code;
    }
    file->state = sqlite;
    return 0;
}

static int write_sqlite(struct gt_block_file *file, void **place, struct gt_border_row *row)
{
    (void)place;
    struct sqlite_file *sqlite = file->state;
    sqlite3_stmt *insert = sqlite->insert;
    size_t length = strnlen(row->name, GT_BLOCK_NAME_MAX);
    while (row->name[length] && length && ((unsigned char)row->name[length] & 0xc0) == 0x80)
        length--; /* cut, but not in the middle of a character */
    pthread_mutex_lock(&sqlite->mutex);
    if (row->position == GT_START)
        row->call = ++sqlite->calls;
    sqlite3_bind_int64(insert, 1 + GT_BORDER_PROCESS, row->process);
    sqlite3_bind_text(insert, 1 + GT_BORDER_NAME, row->name, (int)length, SQLITE_STATIC);
    sqlite3_bind_int(insert, 1 + GT_BORDER_POSITION, row->position);
    sqlite3_bind_double(insert, 1 + GT_BORDER_TIMESTAMP, (double)row->real_ns / 1e9);
    sqlite3_bind_int64(insert, 1 + GT_BORDER_THREAD, row->thread);
    sqlite3_bind_int64(insert, 1 + GT_BORDER_CALL, (sqlite3_int64)row->call);
    sqlite3_bind_double(insert, 1 + GT_BORDER_MONOTONIC, (double)row->monotonic_ns / 1e9);
    sqlite3_bind_double(insert, 1 + GT_BORDER_CPU_TIME, (double)row->cpu_ns / 1e9);
    int status = sqlite3_step(insert);
    sqlite3_reset(insert);
    pthread_mutex_unlock(&sqlite->mutex);
    return status == SQLITE_DONE ? 0 : status == SQLITE_FULL ? -ENOSPC : -EIO;
}

static void leave_sqlite(struct gt_block_file *file, void *place)
{
    (void)file;
    (void)place;
}

static void close_sqlite(struct gt_block_file *file)
{
    struct sqlite_file *sqlite = file->state;
    sqlite3_finalize(sqlite->insert);
    sqlite3_exec(sqlite->database, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL); /* one file remains */
    sqlite3_close(sqlite->database);
}

const struct gt_block_writer gt_block_sqlite = {
    .suffix = ".sqlite",
    .open = open_sqlite,
    .write = write_sqlite,
    .leave = leave_sqlite,
    .close = close_sqlite,
};
