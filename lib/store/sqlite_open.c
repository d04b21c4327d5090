#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "store/sqlite.h"

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
    return gt_sqlite_open_without_index(ret, path, path, error);
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
