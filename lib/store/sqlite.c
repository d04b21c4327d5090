#include "store/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/os/clock.h"
#include "base/os/file.h"
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
        return gt_error_set(error, EIO,
                            "%s is damaged (%s): sqlite3 FILE .recover | sqlite3 NEW saves what can be read", path,
                            sqlite3_errmsg(database));
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
    if (text)
        gt_utf8_valid(&valid, text);
    sqlite3_bind_text(statement, position, text && !valid.data ? "" : valid.data, -1, SQLITE_TRANSIENT);
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
                        S_ISREG(found.st_mode) ? "use --overwrite to remove it"
                                               : "it is not a regular file and was left unchanged");
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

int gt_sqlite_check_logs(const char *path, bool may_remove, struct gt_error *error)
{
    return go_through_logs(path, may_remove, false, error);
}

int gt_sqlite_clear_logs(const char *path, bool may_remove, struct gt_error *error)
{
    int status = go_through_logs(path, may_remove, false, error); /* all, or none */
    return status < 0 ? status : go_through_logs(path, may_remove, true, error);
}

/* One thread at a time uses a connection. */
enum { READ_FLAGS = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX };

bool gt_file_is_on_network(int fd)
{
    /* As statfs(2) tells them. What a FUSE file system lies on is not known. */
    static const unsigned networks[] = {
        0x6969 /* NFS */,        0x0bd00bd0 /* Lustre */, 0x47504653 /* GPFS */, 0x19830326 /* BeeGFS */,
        0x00c36400 /* CephFS */, 0xff534d42 /* CIFS */,   0xfe534d42 /* SMB2 */, 0x517b /* SMB */,
    };
    struct statfs facts;
    if (fstatfs(fd, &facts) < 0)
        return false;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        if ((unsigned)facts.f_type == networks[i])
            return true;
    return false;
}

/* Bytes 2^30 to 2^30 + 511, https://www.sqlite.org/fileformat2.html#the_lock_byte_page. */
bool gt_file_has_locks(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1 << 30, .l_len = 512};
    return fcntl(fd, F_GETLK, &lock) == 0;
}

struct facts {
    bool uses_wal, has_locks;
};

/* The database header, https://www.sqlite.org/fileformat2.html: byte 18 is 2 in WAL mode. SQLite itself would take an
 * empty file for an empty database. */
static int read_facts(const char *path, struct facts *ret, struct gt_error *error)
{
    unsigned char header[100];
    int fd = gt_given_file_check(path, error);
    if (fd >= 0)
        fd = gt_given_file_open(path, NULL, error);
    if (fd < 0)
        return fd;
    ssize_t got = read(fd, header, sizeof header);
    int code = got < 0 ? errno : 0;
    *ret = (struct facts){.uses_wal = header[18] == 2, .has_locks = gt_file_has_locks(fd)};
    close(fd);
    if (code)
        return gt_error_system(error, code, "%s", path);
    if (got == 0)
        return gt_error_set(error, EINVAL, "%s is empty", path);
    if (got < (ssize_t)sizeof header || memcmp(header, "SQLite format 3", 16) != 0)
        return gt_error_set(error, EINVAL, "%s is not an SQLite database", path);
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

/* A log without its index, because the writer is dead and index or locks are missing here. SQLite would make a new index beside the log;
 * with an exclusive lock, here a lock in name only, it keeps the index in memory. */
static int open_without_index(sqlite3 **ret, const char *path, struct gt_error *error)
{
    if (sqlite3_open_v2(path, ret, READ_FLAGS, "unix-none") != SQLITE_OK)
        return gt_sqlite_error(*ret, path, error);
    sqlite3_db_config(*ret, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return gt_sqlite_run(*ret, path, "PRAGMA locking_mode=EXCLUSIVE", error);
}

/* A writer that was killed within a change left a journal. SQLite undoes that change for a reader that may write. */
static void undo_change(const char *path, bool has_locks)
{
    sqlite3 *database = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path, &database, flags, has_locks ? NULL : "unix-none") == SQLITE_OK) {
        sqlite3_busy_timeout(database, 1000);
        sqlite3_exec(database, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL);
    }
    sqlite3_close(database);
}

/* Without locks, only a journal that stays distinguishes a dead writer from one at work. */
static bool has_old_journal(const char *path, bool has_locks)
{
    static const int64_t longest_change_ns = 5 * GT_SECOND;
    int64_t until = gt_clock_monotonic(&gt_clock_system) + longest_change_ns;
    while (exists_beside(path, "-journal")) {
        if (has_locks || gt_clock_monotonic(&gt_clock_system) >= until)
            return true;
        usleep(20000);
    }
    return false;
}

static int open_rollback(sqlite3 **ret, const char *path, bool has_locks, struct gt_error *error)
{
    bool has_journal = has_old_journal(path, has_locks);
    if (!has_locks && has_journal)
        undo_change(path, false);
    int status = has_locks ? open_plain(ret, path, error) : open_immutable(ret, path, error);
    if (status < 0 || !has_journal || sqlite3_exec(*ret, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL) == SQLITE_OK)
        return status;
    undo_change(path, has_locks);
    if (sqlite3_exec(*ret, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    return gt_error_set(error, EIO, "%s: its writer was killed within a change; open it once with sqlite3 to undo that",
                        path);
}

int gt_sqlite_open_existing(sqlite3 **ret, const char *path, struct gt_error *error)
{
    struct facts facts;
    int status = read_facts(path, &facts, error);
    if (status < 0)
        return status;
    sqlite3 *database = NULL;
    if (!facts.uses_wal)
        status = open_rollback(&database, path, facts.has_locks, error);
    else if (!exists_beside(path, "-wal"))
        status = open_immutable(&database, path, error);
    else if (facts.has_locks && exists_beside(path, "-shm"))
        status = open_plain(&database, path, error);
    else
        status = open_without_index(&database, path, error);
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
