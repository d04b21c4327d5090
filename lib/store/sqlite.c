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

/* A log without its index: its writer is dead, or keeps the index to itself. SQLite would make a new index beside the log; with an
 * exclusive lock, here a lock in name only, it keeps the index in memory. `name` is what errors call it. */
static int sqlite_open_without_index(sqlite3 **ret, const char *path, const char *name, struct gt_error *error)
{
    if (sqlite3_open_v2(path, ret, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, "unix-none") != SQLITE_OK)
        return gt_sqlite_error(*ret, name, error);
    sqlite3_db_config(*ret, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return gt_sqlite_run(*ret, name, "PRAGMA locking_mode=EXCLUSIVE", error);
}

/* A writer that begins its log anew first writes all of it into the file, and then another head:
 * https://www.sqlite.org/fileformat2.html#wal_file_format. While the head stays, whatever was written into the file meanwhile is in the
 * log as well, so that the two belong together. */
struct head {
    ssize_t length;
    unsigned char bytes[32];
};

struct copy {
    const char *path;
    char folder[PATH_MAX - 32];
    char file[PATH_MAX], log[PATH_MAX];
};

enum { ATTEMPTS = 20 };

static int read_head(const char *log, struct head *ret)
{
    *ret = (struct head){0};
    int fd = open(log, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    ret->length = pread(fd, ret->bytes, sizeof ret->bytes, 0);
    int code = errno;
    close(fd);
    return ret->length < 0 ? -code : 0;
}

static int copy_bytes(int from, int to)
{
    static const size_t size = 1 << 18;
    char *bytes = malloc(size);
    ssize_t got = 0;
    int status = bytes ? 0 : -ENOMEM;
    while (!status && (got = read(from, bytes, size)) > 0)
        status = gt_file_write_all(to, bytes, (size_t)got);
    if (!status && got < 0)
        status = -errno;
    free(bytes);
    return status;
}

static int copy_file(const char *path, const char *copy)
{
    int from = open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return errno == ENOENT ? 0 : -errno; /* the log is gone when it was folded in */
    int to = open(copy, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int status = to < 0 ? -errno : copy_bytes(from, to);
    close(from);
    if (to >= 0 && close(to) < 0 && !status)
        status = -errno;
    return status;
}

/* Returns 1 for two files that belong together, 0 for others. */
static int copy_both(const struct copy *copy, const char *log)
{
    struct head before, after;
    int status = read_head(log, &before);
    if (status >= 0)
        status = copy_file(copy->path, copy->file);
    if (status >= 0)
        status = copy_file(log, copy->log);
    if (status >= 0)
        status = read_head(log, &after);
    return status < 0 ? status
                      : before.length == after.length && !memcmp(before.bytes, after.bytes, sizeof after.bytes);
}

static int make_copy(const struct copy *copy, struct gt_error *error)
{
    char log[PATH_MAX];
    int status = 0;
    if (snprintf(log, sizeof log, "%s-wal", copy->path) >= (int)sizeof log)
        return gt_error_system(error, ENAMETOOLONG, "%s", copy->path);
    for (int i = 0; !status && i < ATTEMPTS; i++)
        status = copy_both(copy, log);
    if (status < 0)
        return gt_error_system(error, -status, "%s: copying it to %s, to read what is still written", copy->path,
                               copy->folder);
    return status ? 0 : gt_error_set(error, EBUSY, "%s is written too fast to be read", copy->path);
}

static int begin_copy(struct copy *copy, const char *path, struct gt_error *error)
{
    const char *place = getenv("TMPDIR");
    copy->path = path;
    int length = snprintf(copy->folder, sizeof copy->folder, "%s/gpu-tracker-XXXXXX", place && *place ? place : "/tmp");
    if (length >= (int)sizeof copy->folder)
        return gt_error_system(error, ENAMETOOLONG, "%s", place);
    if (!mkdtemp(copy->folder))
        return gt_error_system(error, errno, "%s: no folder for a copy, %s", path, copy->folder);
    snprintf(copy->file, sizeof copy->file, "%s/copy", copy->folder);
    snprintf(copy->log, sizeof copy->log, "%s/copy-wal", copy->folder);
    return 0;
}

/* The connection keeps the files that it has opened; without names they are gone when it is closed. */
int gt_sqlite_open_copy(sqlite3 **ret, const char *path, struct gt_error *error)
{
    struct copy copy;
    int status = begin_copy(&copy, path, error);
    if (status < 0)
        return status;
    status = make_copy(&copy, error);
    if (!status)
        status = sqlite_open_without_index(ret, copy.file, path, error);
    if (!status)
        status = gt_sqlite_run(*ret, path, "SELECT 1 FROM sqlite_schema LIMIT 1", error);
    unlink(copy.file);
    unlink(copy.log);
    rmdir(copy.folder);
    return status;
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
int gt_file_is_locked(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1 << 30, .l_len = 512};
    if (fcntl(fd, F_GETLK, &lock) < 0)
        return -errno;
    return lock.l_type != F_UNLCK;
}

enum mode { MODE_ROLLBACK, MODE_WAL };

struct facts {
    enum mode mode;
    bool is_on_network;
    int locked; /* as gt_file_is_locked tells */
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
    *ret = (struct facts){.is_on_network = gt_file_is_on_network(fd), .locked = gt_file_is_locked(fd)};
    close(fd);
    if (code)
        return gt_error_system(error, code, "%s", path);
    if (got == 0)
        return gt_error_set(error, EINVAL, "%s is empty", path);
    if (got < (ssize_t)sizeof header || memcmp(header, "SQLite format 3", 16) != 0)
        return gt_error_set(error, EINVAL, "%s is not an SQLite database", path);
    ret->mode = header[18] == 2 ? MODE_WAL : MODE_ROLLBACK;
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

/* Its log has no index where the writer keeps that in its own memory, or is dead. */
static int open_wal(sqlite3 **ret, const char *path, const struct facts *facts, struct gt_error *error)
{
    if (!exists_beside(path, "-wal"))
        return open_immutable(ret, path, error);
    if (facts->locked >= 0 && exists_beside(path, "-shm"))
        return open_plain(ret, path, error);
    if (facts->locked || facts->is_on_network) /* the writer may be at work, perhaps on another machine */
        return gt_sqlite_open_copy(ret, path, error);
    return sqlite_open_without_index(ret, path, path, error);
}

/* Where there are no locks nothing can be asked of them, and what is finished stays as it is. */
static int open_rollback(sqlite3 **ret, const char *path, const struct facts *facts, struct gt_error *error)
{
    bool has_journal = exists_beside(path, "-journal");
    int status = facts->locked < 0 && !has_journal ? open_immutable(ret, path, error) : open_plain(ret, path, error);
    if (!status && has_journal && sqlite3_exec(*ret, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL) != SQLITE_OK)
        return gt_error_set(error, EIO,
                            "%s: its writer was killed within a change; open it once with sqlite3 to undo that", path);
    return status;
}

int gt_sqlite_open_existing(sqlite3 **ret, const char *path, struct gt_error *error)
{
    struct facts facts;
    int status = read_facts(path, &facts, error);
    if (status < 0)
        return status;
    sqlite3 *database = NULL;
    status = facts.mode == MODE_WAL ? open_wal(&database, path, &facts, error)
                                    : open_rollback(&database, path, &facts, error);
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
