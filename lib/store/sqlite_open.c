#include "store/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"

/* One thread at a time uses a connection. */
enum { READ_FLAGS = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX };

enum mode { MODE_ROLLBACK, MODE_WAL };

/* The database header, https://www.sqlite.org/fileformat2.html: byte 18 is 2 in WAL mode. SQLite itself would take an
 * empty file for an empty database. */
static int read_mode(const char *path, enum mode *ret, struct gt_error *error)
{
    unsigned char header[100];
    int fd = gt_given_file_check(path, error);
    if (fd >= 0)
        fd = gt_given_file_open(path, NULL, error);
    if (fd < 0)
        return fd;
    ssize_t got = read(fd, header, sizeof header);
    int code = got < 0 ? errno : 0;
    close(fd);
    if (code)
        return gt_error_system(error, code, "%s", path);
    if (got == 0)
        return gt_error_set(error, EINVAL, "%s is empty", path);
    if (got < (ssize_t)sizeof header || memcmp(header, "SQLite format 3", 16) != 0)
        return gt_error_set(error, EINVAL, "%s is not an SQLite database", path);
    *ret = header[18] == 2 ? MODE_WAL : MODE_ROLLBACK;
    return 0;
}

static bool exists_beside(const char *path, const char *suffix)
{
    char name[PATH_MAX];
    return snprintf(name, sizeof name, "%s%s", path, suffix) < (int)sizeof name && access(name, F_OK) == 0;
}

/* "file:PATH?immutable=1": no locks, no files beside it. */
static int open_immutable(sqlite3 **ret, const char *path, struct gt_error *error)
{
    struct gt_buffer uri = {0};
    gt_buffer_text(&uri, "file:");
    for (const char *p = path; *p; p++) {
        if (strchr("?#%", *p))
            gt_buffer_printf(&uri, "%%%02X", (unsigned char)*p);
        else
            gt_buffer_char(&uri, *p);
    }
    gt_buffer_text(&uri, "?immutable=1");
    int status = uri.failed ? SQLITE_NOMEM : sqlite3_open_v2(uri.data, ret, READ_FLAGS | SQLITE_OPEN_URI, NULL);
    gt_buffer_release(&uri);
    return status == SQLITE_OK ? 0 : gt_sqlite_error(*ret, path, error);
}

/* A log without its index: its writer is dead, and the two files were copied or the index was lost. SQLite would make a
 * new index beside them; with an exclusive lock, here a lock in name only, it keeps the index in memory. */
static int open_without_index(sqlite3 **ret, const char *path, struct gt_error *error)
{
    if (sqlite3_open_v2(path, ret, READ_FLAGS, "unix-none") != SQLITE_OK)
        return gt_sqlite_error(*ret, path, error);
    sqlite3_db_config(*ret, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return gt_sqlite_run(*ret, path, "PRAGMA locking_mode=EXCLUSIVE", error);
}

static int open_plain(sqlite3 **ret, const char *path, struct gt_error *error)
{
    if (sqlite3_open_v2(path, ret, READ_FLAGS, NULL) != SQLITE_OK)
        return gt_sqlite_error(*ret, path, error);
    sqlite3_busy_timeout(*ret, 1000);
    return 0;
}

/* Views and what they are made of are no data of ours; a view may never end. */
static int refuse_views(void *context, int action, const char *first, const char *second, const char *schema,
                        const char *view)
{
    (void)context, (void)first, (void)second, (void)schema;
    return view || action == SQLITE_RECURSIVE ? SQLITE_DENY : SQLITE_OK;
}

/* The file may come from anywhere: no code of its schema runs, and no text or blob is longer than 16 MB. */
static void distrust(sqlite3 *database)
{
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, 16 << 20);
    sqlite3_set_authorizer(database, refuse_views, NULL);
}

int gt_sqlite_open_existing(sqlite3 **ret, const char *path, struct gt_error *error)
{
    enum mode mode = MODE_ROLLBACK;
    int status = read_mode(path, &mode, error);
    if (status < 0)
        return status;
    sqlite3 *database = NULL;
    if (mode == MODE_WAL && !exists_beside(path, "-wal"))
        status = open_immutable(&database, path, error);
    else if (mode == MODE_WAL && !exists_beside(path, "-shm"))
        status = open_without_index(&database, path, error);
    else
        status = open_plain(&database, path, error);
    if (!status && mode == MODE_ROLLBACK && exists_beside(path, "-journal") &&
        sqlite3_exec(database, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL) != SQLITE_OK)
        status = gt_error_set(
            error, EIO, "%s: its writer was killed within a change; open it once with sqlite3 to undo that", path);
    if (!status)
        distrust(database);
    if (!status)
        status = gt_sqlite_run(database, path, "SELECT 1 FROM sqlite_schema LIMIT 1", error);
    if (status < 0)
        sqlite3_close(database);
    else
        *ret = database;
    return status;
}
