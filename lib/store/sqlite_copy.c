#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "store/sqlite.h"

/* A log without its index: its writer is dead, or keeps the index to itself. SQLite would make a new index beside the log; with an
 * exclusive lock, here a lock in name only, it keeps the index in memory. */
int gt_sqlite_open_without_index(sqlite3 **ret, const char *path, const char *name, struct gt_error *error)
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
        status = gt_sqlite_open_without_index(ret, copy.file, path, error);
    if (!status)
        status = gt_sqlite_run(*ret, path, "SELECT 1 FROM sqlite_schema LIMIT 1", error);
    unlink(copy.file);
    unlink(copy.log);
    rmdir(copy.folder);
    return status;
}
