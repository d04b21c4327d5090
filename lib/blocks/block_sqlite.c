/* Sub-tracking files as SQLite: a table "blocks", and a view "data" of the original's columns. One row is one transaction in the
 * write-ahead log without waiting for the disk: it survives the process, not the machine. One connection for each process, behind a lock:
 * SQLite has one writer.
 *
 * SQLite's connections do not survive fork, and neither do the locks that it thinks it has; so they are closed before, and
 * opened again when they are needed: https://www.sqlite.org/howtocorrupt.html, "Carrying an open database connection across a
 * fork". */
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <stdio.h>
#include <time.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "blocks/block_event.h"
#include "store/sqlite.h"

enum { PAUSE_NS = 50 * 1000, MOST_PAUSES = 200 * 1000, FORK_WAITS_S = 1 };

struct sqlite_file {
    struct sqlite_file *next; /* of all that have ever been opened here */
    pid_t process;            /* that opened it */
    pthread_mutex_t mutex;
    bool held; /* by the thread that forks */
    sqlite3 *database;
    sqlite3_stmt *insert;
    uint64_t calls;
};

/* ---- connections ---- */

/* Another process is writing, which takes some microseconds. */
static int wait_for_others(void *context, int count)
{
    (void)context;
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    return count < MOST_PAUSES;
}

static int error_code(int status)
{
    return status == SQLITE_OK ? 0 : status == SQLITE_FULL ? -ENOSPC : status == SQLITE_BUSY ? -EBUSY : -EIO;
}

static void disconnect(struct sqlite_file *sqlite)
{
    sqlite3_finalize(sqlite->insert);
    sqlite3_close(sqlite->database);
    sqlite->insert = NULL;
    sqlite->database = NULL;
}

static int connect_to(struct sqlite_file *sqlite, const char *path)
{
    int status = sqlite3_open_v2(path, &sqlite->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (status == SQLITE_OK) {
        sqlite3_busy_handler(sqlite->database, wait_for_others, NULL);
        status = sqlite3_exec(sqlite->database, "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF", NULL, NULL, NULL);
    }
    if (status == SQLITE_OK)
        status = sqlite3_prepare_v3(sqlite->database, GT_BLOCK_SQLITE_INSERT, -1, SQLITE_PREPARE_PERSISTENT,
                                    &sqlite->insert, NULL);
    if (status != SQLITE_OK)
        disconnect(sqlite);
    return status == SQLITE_CANTOPEN && access(path, F_OK) < 0 ? -errno : error_code(status);
}

/* ---- fork ---- */

static _Atomic(struct sqlite_file *) all_files;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A thread may be within a row. Nobody waits for it for ever: fork may have interrupted that very thread. */
static void before_fork(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += FORK_WAITS_S;
    for (struct sqlite_file *file = all_files; file; file = file->next) {
        file->held = file->process == getpid() && pthread_mutex_timedlock(&file->mutex, &until) == 0;
        if (file->held)
            disconnect(file);
    }
}

static void after_fork(void)
{
    for (struct sqlite_file *file = all_files; file; file = file->next)
        if (file->held)
            pthread_mutex_unlock(&file->mutex);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}

/* Its own if fork was not told of: the connection, and what SQLite remembers of the file, are the parent's. */
static int disown_sqlite(struct gt_block_file *file)
{
    const struct sqlite_file *sqlite = file->state;
    return sqlite->database ? -EBUSY : 0;
}

/* ---- the writer ---- */

void gt_block_sqlite_tables(struct gt_buffer *sql, bool has_view)
{
    gt_buffer_text(sql, "CREATE TABLE blocks (");
    for (int i = 0; i < GT_BLOCK_EVENT_COLUMNS; i++)
        gt_buffer_printf(sql, "%s%s %s", i ? ", " : "", gt_block_event_columns[i], gt_block_event_types[i]);
    gt_buffer_text(sql, ");");
    for (int i = 0; has_view && i < GT_BLOCK_EVENT_REQUIRED; i++)
        gt_buffer_printf(sql, "%s%s", i ? ", " : "CREATE VIEW data AS SELECT ", gt_block_event_columns[i]);
    if (has_view)
        gt_buffer_text(sql, " FROM blocks");
}

static int make_sqlite(int fd, const char *path, struct gt_error *error)
{
    struct gt_buffer sql = {0};
    sqlite3 *database = NULL;
    (void)fd;
    gt_buffer_text(&sql, "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; ");
    gt_block_sqlite_tables(&sql, true);
    int status = sql.failed ? SQLITE_NOMEM : sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL);
    if (status == SQLITE_OK)
        status = sqlite3_exec(database, sql.data, NULL, NULL, NULL);
    int code = error_code(status);
    if (code < 0)
        gt_error_set(error, -code, "%s: %s", path, database ? sqlite3_errmsg(database) : "out of memory");
    sqlite3_close(database);
    gt_buffer_release(&sql);
    return code;
}

static int open_sqlite(struct gt_block_file *file, struct gt_error *error)
{
    struct sqlite_file *sqlite = calloc(1, sizeof *sqlite);
    if (!sqlite)
        return gt_error_system(error, ENOMEM, "%s", file->path);
    pthread_once(&once, watch_forks);
    pthread_mutex_init(&sqlite->mutex, NULL);
    sqlite->process = getpid();
    int status = connect_to(sqlite, file->path);
    if (status < 0) {
        free(sqlite);
        return gt_error_system(error, -status, "%s", file->path);
    }
    sqlite->next = all_files;
    all_files = sqlite;
    file->state = sqlite;
    return 0;
}

static void bind_optional(sqlite3_stmt *insert, int column, int64_t value)
{
    if (value < 0)
        sqlite3_bind_null(insert, 1 + column);
    else
        sqlite3_bind_int64(insert, 1 + column, value);
}

int gt_block_sqlite_insert(sqlite3_stmt *insert, const struct gt_block_event *event, const char *name)
{
    sqlite3_bind_int64(insert, 1 + GT_BLOCK_EVENT_PROCESS, event->process);
    gt_sqlite_bind_text(insert, 1 + GT_BLOCK_EVENT_NAME, name);
    sqlite3_bind_int(insert, 1 + GT_BLOCK_EVENT_POSITION, event->position);
    sqlite3_bind_double(insert, 1 + GT_BLOCK_EVENT_TIMESTAMP, event->timestamp);
    bind_optional(insert, GT_BLOCK_EVENT_THREAD, event->thread);
    bind_optional(insert, GT_BLOCK_EVENT_CALL, event->call);
    bind_optional(insert, GT_BLOCK_EVENT_TOTAL, event->total);
    gt_sqlite_bind_number(insert, 1 + GT_BLOCK_EVENT_MONOTONIC, event->monotonic, false);
    gt_sqlite_bind_number(insert, 1 + GT_BLOCK_EVENT_CPU_TIME, event->cpu_time, false);
    sqlite3_step(insert);
    return sqlite3_reset(insert);
}

static int insert_row(struct sqlite_file *sqlite, struct gt_block_event_row *row)
{
    if (row->position == GT_START)
        row->call = ++sqlite->calls;
    struct gt_block_event event = {
        .process = row->process,
        .position = (uint8_t)row->position,
        .timestamp = (double)row->real_ns / 1e9,
        .thread = row->thread,
        .call = (int64_t)row->call,
        .total = row->total ? (int64_t)row->total : -1,
        .monotonic = (double)row->monotonic_ns / 1e9,
        .cpu_time = row->cpu_ns >= 0 ? (double)row->cpu_ns / 1e9 : NAN,
    };
    return error_code(gt_block_sqlite_insert(sqlite->insert, &event, row->name));
}

static int write_sqlite(struct gt_block_file *file, struct gt_block_event_row *row)
{
    struct sqlite_file *sqlite = file->state;
    int has_moved = 0;
    struct stat facts;
    pthread_mutex_lock(&sqlite->mutex);
    int status = sqlite->database ? 0 : connect_to(sqlite, file->path);
    if (status == 0)
        sqlite3_file_control(sqlite->database, NULL, SQLITE_FCNTL_HAS_MOVED, &has_moved);
    bool is_empty = status == 0 && stat(file->path, &facts) == 0 && !facts.st_size; /* somebody has cut it off */
    if (status == 0)
        status = has_moved || is_empty ? -ENOENT : insert_row(sqlite, row);
    pthread_mutex_unlock(&sqlite->mutex);
    return status;
}

/* Forked children end without closing anything, and leave a log. */
static bool has_log(const char *path)
{
    char name[PATH_MAX];
    return snprintf(name, sizeof name, "%s-wal", path) < (int)sizeof name && access(name, F_OK) == 0;
}

/* One file remains, when no other process writes to it. */
static void close_sqlite(struct gt_block_file *file)
{
    struct sqlite_file *sqlite = file->state;
    if (!sqlite->database && (file->failed || !has_log(file->path) || connect_to(sqlite, file->path) < 0))
        return;
    sqlite3_busy_handler(sqlite->database, NULL, NULL);
    sqlite3_finalize(sqlite->insert);
    sqlite->insert = NULL;
    sqlite3_exec(sqlite->database, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
    disconnect(sqlite);
}

const struct gt_block_writer gt_block_sqlite = {
    .suffix = ".sqlite",
    .make = make_sqlite,
    .clear = gt_sqlite_clear_logs,
    .open = open_sqlite,
    .write = write_sqlite,
    .close = close_sqlite,
    .disown = disown_sqlite,
};
