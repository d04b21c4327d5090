#include "engine/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/map.h"
#include "base/os/rank.h"
#include "engine/push.h"
#include "store/store.h"

static const char *const parts[] = {"", "-wal", "-shm", "-journal"};

enum { PARTS = sizeof parts / sizeof *parts, PATH_SIZE = PATH_MAX + 300 };

#define SENDER ".shipper" /* the lock of the sender */

/* The ranks of a launch share a name, also without a variable that has the job. */
static void name_job(char *ret, size_t size)
{
    struct gt_buffer launch = {0};
    gt_rank_job_name(ret, size, &(struct gt_environment){.pid = getpid()});
    if (!*ret && gt_rank_job(&launch) > 0)
        snprintf(ret, size, "%s", launch.data);
    else if (!*ret)
        snprintf(ret, size, "process-%d", (int)getpid());
    gt_buffer_release(&launch);
}

/* Users who can write to the folder could make a tracker overwrite files of this user. */
static int make_private(const char *folder, struct gt_error *error)
{
    struct stat facts;
    if ((mkdir(folder, 0700) < 0 && errno != EEXIST) || lstat(folder, &facts) < 0)
        return gt_error_system(error, errno, "%s", folder);
    if (!S_ISDIR(facts.st_mode) || facts.st_uid != geteuid() || facts.st_mode & 0077)
        return gt_error_set(error, EPERM,
                            "%s is not a folder that only this user may read: give another with ?spool=FOLDER", folder);
    return 0;
}

/* FOLDER/gpu-tracker-UID/JOB-SERVER: recordings of one job for one server. */
static int make_folder(struct gt_spool *spool, struct gt_error *error)
{
    const char *given = getenv("GPU_TRACKER_SPOOL"), *temporary = getenv("TMPDIR");
    const char *around = *spool->address.spool     ? spool->address.spool
                         : given && *given         ? given
                         : temporary && *temporary ? temporary
                                                   : "/tmp";
    char name[800], job[160];
    mkdir(around, 0777); /* make_private reports a failure */
    gt_address_name(name, sizeof name, &spool->address);
    name_job(job, sizeof job);
    for (char *p = job; *p; p++)
        *p = *p == '/' ? '_' : *p;
    int length = snprintf(spool->folder, sizeof spool->folder, "%s/gpu-tracker-%u", around, (unsigned)geteuid());
    int status = length >= 3 * PATH_MAX / 4 ? gt_error_system(error, ENAMETOOLONG, "%s", around)
                                            : make_private(spool->folder, error);
    if (status < 0)
        return status;
    snprintf(spool->folder + length, sizeof spool->folder - (size_t)length, "/%s-%08x",
             *spool->address.jobs ? spool->address.jobs : job, (unsigned)gt_hash(name, strlen(name)));
    return make_private(spool->folder, error);
}

static int take_lock(struct gt_spool *spool, struct gt_error *error)
{
    char lock[PATH_SIZE];
    snprintf(lock, sizeof lock, "%s" GT_SPOOL_LOCK, spool->recording);
    spool->lock = open(lock, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (spool->lock < 0 || flock(spool->lock, LOCK_EX | LOCK_NB) < 0)
        return gt_error_system(error, errno, "%s", lock);
    return 0;
}

int gt_spool_begin(struct gt_spool *ret, const char *pattern, struct gt_error *error)
{
    *ret = (struct gt_spool){.lock = -1};
    const char *rank = gt_rank();
    int status = gt_store_fill(ret->url, sizeof ret->url, pattern, getpid(), error);
    if (status >= 0)
        status = gt_address_read(&ret->address, ret->url, error);
    if (status >= 0 && strchr(ret->address.jobs, ','))
        status = gt_error_set(error, EINVAL, "%s: a recording is of one job", ret->address.jobs);
    if (status >= 0)
        status = make_folder(ret, error);
    if (status < 0)
        return status;
    if (snprintf(ret->recording, sizeof ret->recording, "%s/%.20s-%d.sqlite", ret->folder, rank ? rank : "rank",
                 (int)getpid()) >= (int)sizeof ret->recording - 16)
        return gt_error_system(error, ENAMETOOLONG, "%s", ret->folder);
    if (take_lock(ret, NULL) >= 0)
        return 0;
    status = make_folder(ret, error); /* a sender may have removed the empty folder just now */
    return status < 0 ? status : take_lock(ret, error);
}

void gt_spool_end(struct gt_spool *spool)
{
    char lock[PATH_SIZE];
    snprintf(lock, sizeof lock, "%s" GT_SPOOL_LOCK, spool->recording);
    if (spool->lock >= 0 && access(spool->recording, F_OK) < 0)
        unlink(lock); /* nothing was recorded */
    if (spool->lock >= 0)
        close(spool->lock);
    spool->lock = -1;
}

/* ---- Waiting ---- */

/* Returns true if another process has locked the file. */
static bool is_locked(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    bool is_so = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;
    if (fd >= 0)
        close(fd);
    return is_so;
}

bool gt_spool_is_written(const char *recording)
{
    char lock[PATH_SIZE];
    snprintf(lock, sizeof lock, "%s" GT_SPOOL_LOCK, recording);
    return is_locked(lock);
}

static int count_one(void *context, const char *path)
{
    (void)path;
    ++*(size_t *)context;
    return 0;
}

/* The sender has ended, and no other sends. Senders of other trackers, which may take over, look every second. */
static bool has_no_sender(const struct gt_spool *spool, int sender, int64_t now, int64_t *alone_since)
{
    struct pollfd end = {.fd = sender};
    char lock[PATH_SIZE];
    size_t recordings = 0;
    bool is_written;
    snprintf(lock, sizeof lock, "%s/" SENDER, spool->folder);
    bool has_ended = sender >= 0 && poll(&end, 1, 0) > 0 && end.revents & (POLLHUP | POLLERR);
    if (!has_ended || is_locked(lock)) {
        *alone_since = now;
        return false;
    }
    gt_spool_each(spool->folder, count_one, &recordings, &is_written);
    return now - *alone_since >= (recordings > 1 || gt_rank() ? 3 * GT_SECOND : 0);
}

bool gt_spool_wait(const struct gt_spool *spool, double seconds, int sender)
{
    char refused[PATH_SIZE];
    int64_t now = gt_clock_monotonic(&gt_clock_system), alone_since = now;
    int64_t end = now + (int64_t)(seconds * 1e9);
    snprintf(refused, sizeof refused, "%s/" GT_SPOOL_REFUSED, spool->folder);
    while (access(spool->recording, F_OK) == 0 && now < end && access(refused, F_OK) < 0 &&
           !has_no_sender(spool, sender, now, &alone_since)) {
        gt_sleep(0.02);
        now = gt_clock_monotonic(&gt_clock_system);
    }
    return access(spool->recording, F_OK) < 0;
}

/* ---- Moving ---- */

static int copy(const char *from, const char *to, struct gt_error *error)
{
    int source = open(from, O_RDONLY | O_CLOEXEC);
    if (source < 0)
        return errno == ENOENT ? 0 : gt_error_system(error, errno, "%s", from);
    int target = open(to, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    ssize_t copied = target < 0 ? -1 : 1;
    while (copied > 0)
        copied = sendfile(target, source, NULL, 1 << 20);
    int status = copied < 0 ? gt_error_system(error, errno, "%s", to) : 0;
    close(source);
    if (target >= 0 && close(target) < 0 && !status)
        status = gt_error_system(error, errno, "%s", to);
    return status;
}

int gt_spool_save(const struct gt_spool *spool, char *ret, size_t size, struct gt_error *error)
{
    char path[PATH_SIZE], from[PATH_SIZE], to[PATH_SIZE];
    snprintf(path, sizeof path, "gpu-tracker-unsent/%.200s", gt_file_name(spool->folder));
    if ((mkdir("gpu-tracker-unsent", 0700) < 0 && errno != EEXIST) || (mkdir(path, 0700) < 0 && errno != EEXIST))
        return gt_error_system(error, errno, "%s", path);
    snprintf(ret, size, "%.300s/%s", path, gt_file_name(spool->recording));
    int status = 0;
    for (int i = 0; i < PARTS && status >= 0; i++) {
        snprintf(from, sizeof from, "%s%s", spool->recording, parts[i]);
        snprintf(to, sizeof to, "%.4000s%s", ret, parts[i]);
        status = copy(from, to, error);
    }
    if (status >= 0) {
        gt_spool_remove(spool->recording, false);
        gt_spool_clear(spool->folder);
    }
    return status;
}

void gt_spool_remove(const char *recording, bool keep)
{
    char path[PATH_SIZE], sent[PATH_SIZE], kept[2 * PATH_SIZE];
    const char *name = gt_file_name(recording);
    snprintf(sent, sizeof sent, "%.*ssent", (int)(name - recording), recording);
    if (keep)
        mkdir(sent, 0700);
    for (int i = PARTS - 1; i >= 0; i--) {
        snprintf(path, sizeof path, "%s%s", recording, parts[i]);
        snprintf(kept, sizeof kept, "%s/%s%s", sent, name, parts[i]);
        if (keep)
            rename(path, kept);
        else
            unlink(path);
    }
    snprintf(path, sizeof path, "%s" GT_SPOOL_LOCK, recording);
    unlink(path);
}

/* ---- Folders ---- */

static bool ends_in(const char *name, const char *end)
{
    size_t length = strlen(name), size = strlen(end);
    return length > size && strcmp(name + length - size, end) == 0;
}

int gt_spool_each(const char *name, int (*use)(void *context, const char *path), void *context, bool *is_written)
{
    DIR *folder = opendir(name);
    const struct dirent *entry;
    char path[PATH_SIZE];
    int status = 0;
    *is_written = false;
    while (folder && !status && (entry = readdir(folder))) {
        snprintf(path, sizeof path, "%.3800s/%s", name, entry->d_name);
        if (ends_in(path, ".sqlite"))
            status = use(context, path);
        else if (ends_in(path, ".sqlite" GT_SPOOL_LOCK))
            *is_written |= is_locked(path);
    }
    if (folder)
        closedir(folder);
    return status;
}

bool gt_spool_is_empty(const char *folder)
{
    size_t recordings = 0;
    bool is_written;
    gt_spool_each(folder, count_one, &recordings, &is_written);
    return !recordings && !is_written;
}

int gt_spool_take(const char *folder, int flags, struct gt_error *error)
{
    char path[PATH_SIZE];
    struct stat facts;
    snprintf(path, sizeof path, "%.3900s/" SENDER, folder);
    int fd = open(path, flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return gt_error_system(error, errno, "%s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &facts) == 0 && facts.st_nlink > 0)
        return fd;
    close(fd); /* locked, or removed by its owner just now */
    return -EWOULDBLOCK;
}

void gt_spool_mark(const char *folder, const char *name, bool is_set)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%.3900s/%s", folder, name);
    int fd = is_set ? open(path, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
    if (fd >= 0)
        close(fd);
    else
        unlink(path);
}

/* A second try is for a recording that was removed while this process had the lock. */
void gt_spool_clear(const char *folder)
{
    static const char *const names[] = {GT_SPOOL_REFUSED, GT_SPOOL_FULL, SENDER};
    for (int attempt = 0; attempt < 2; attempt++) {
        int lock = gt_spool_take(folder, 0, NULL);
        if (lock < 0)
            return;
        for (size_t i = 0; i < sizeof names / sizeof *names && gt_spool_is_empty(folder); i++)
            gt_spool_mark(folder, names[i], false);
        rmdir(folder); /* fails if it has recordings, or the folder `sent` */
        close(lock);
        if (!gt_spool_is_empty(folder))
            return;
    }
}
