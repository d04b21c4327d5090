#include "engine/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/map.h"
#include "base/rank.h"
#include "engine/push.h"
#include "store/store.h"

static const char *const parts[] = {"", "-wal", "-shm", "-journal"};

enum { PARTS = sizeof parts / sizeof *parts };

static const char *find_variable(const void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

/* The ranks of a launch share one, also where no variable tells the job. */
static void name_job(char *ret, size_t size)
{
    struct gt_buffer launch = {0};
    gt_rank_job_name(ret, size, &(struct gt_rank_environment){.find = find_variable, .pid = getpid()});
    if (!*ret && gt_rank_job(&launch) > 0)
        snprintf(ret, size, "%s", launch.data);
    else if (!*ret)
        snprintf(ret, size, "process-%d", (int)getpid());
    gt_buffer_release(&launch);
}

/* Whoever may write to it could have a tracker write over files of this user. */
static int make_private(const char *folder, struct gt_error *error)
{
    struct stat facts;
    if (mkdir(folder, 0700) < 0 && errno != EEXIST)
        return gt_error_system(error, errno, "%s", folder);
    if (lstat(folder, &facts) < 0)
        return gt_error_system(error, errno, "%s", folder);
    if (!S_ISDIR(facts.st_mode) || facts.st_uid != geteuid() || facts.st_mode & 0077)
        return gt_error_set(error, EPERM,
                            "%s is not a folder that only this user may read: give another with ?spool=FOLDER", folder);
    return 0;
}

/* FOLDER/gpu-tracker-UID/JOB-SERVER: recordings for one server, of one job. */
static int make_folder(struct gt_spool *spool, struct gt_error *error)
{
    const char *given = getenv("GPU_TRACKER_SPOOL"), *temporary = getenv("TMPDIR");
    const char *around = *spool->address.spool     ? spool->address.spool
                         : given && *given         ? given
                         : temporary && *temporary ? temporary
                                                   : "/tmp";
    char name[800], job[160];
    mkdir(around, 0777); /* as that of a recording is made; where it cannot be, the next one tells why */
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
    char lock[PATH_MAX + 8];
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
    status = make_folder(ret, error); /* whoever sent the last recording has removed it just now */
    return status < 0 ? status : take_lock(ret, error);
}

void gt_spool_end(struct gt_spool *spool)
{
    char lock[PATH_MAX + 8];
    snprintf(lock, sizeof lock, "%s" GT_SPOOL_LOCK, spool->recording);
    if (spool->lock >= 0 && access(spool->recording, F_OK) < 0)
        unlink(lock); /* there never was one */
    if (spool->lock >= 0)
        close(spool->lock);
    spool->lock = -1;
}

static bool has_ended(int shipper)
{
    struct pollfd end = {.fd = shipper};
    return shipper >= 0 && poll(&end, 1, 0) > 0 && end.revents & (POLLHUP | POLLERR);
}

/* Somebody sends from the folder at this moment. */
static bool is_sent_from(const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.3900s/.shipper", folder);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    bool is_taken = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;
    if (fd >= 0)
        close(fd);
    return is_taken;
}

static int count_one(void *context, const char *path)
{
    (void)path;
    ++*(size_t *)context;
    return 0;
}

/* Others may have started processes that would take the place of ours. */
static bool is_shared(const char *folder)
{
    size_t count = 0;
    bool is_written;
    gt_spool_each(folder, count_one, &count, &is_written);
    return count > 1 || gt_rank();
}

/* These look for a turn every second at least. */
static bool is_left_alone(const struct gt_spool *spool, int shipper, int64_t now, int64_t *alone_since)
{
    if (!has_ended(shipper) || is_sent_from(spool->folder)) {
        *alone_since = now;
        return false;
    }
    return now - *alone_since >= (is_shared(spool->folder) ? 3 * GT_SECOND : 0);
}

/* One that was never made is waited for by nobody. */
bool gt_spool_wait(const struct gt_spool *spool, double seconds, int shipper)
{
    char refused[PATH_MAX + 16];
    int64_t now = gt_clock_monotonic(&gt_clock_system), end = now + (int64_t)(seconds * 1e9), alone_since = now;
    snprintf(refused, sizeof refused, "%s/" GT_SPOOL_REFUSED, spool->folder);
    while (access(spool->recording, F_OK) == 0) {
        now = gt_clock_monotonic(&gt_clock_system);
        bool is_over = now >= end || access(refused, F_OK) == 0 || is_left_alone(spool, shipper, now, &alone_since);
        if (is_over)
            return access(spool->recording, F_OK) < 0; /* whoever ended may have sent it just before */
        gt_sleep(0.02);
    }
    return true;
}

static int copy(const char *from, const char *to, struct gt_error *error)
{
    char bytes[1 << 13];
    int source = open(from, O_RDONLY | O_CLOEXEC), target = -1;
    if (source < 0)
        return errno == ENOENT ? 0 : gt_error_system(error, errno, "%s", from);
    ssize_t got = 0;
    int status = 0;
    if ((target = open(to, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600)) < 0)
        status = gt_error_system(error, errno, "%s", to);
    while (!status && (got = read(source, bytes, sizeof bytes)) > 0)
        if (gt_file_write_all(target, bytes, (size_t)got) < 0)
            status = gt_error_system(error, errno, "%s", to);
    if (!status && got < 0)
        status = gt_error_system(error, errno, "%s", from);
    close(source);
    if (target >= 0 && close(target) < 0 && !status)
        status = gt_error_system(error, errno, "%s", to);
    return status;
}

int gt_spool_save(const struct gt_spool *spool, char *ret, size_t size, struct gt_error *error)
{
    char path[PATH_MAX], from[PATH_MAX + 16], to[PATH_MAX + 16];
    if (mkdir("gpu-tracker-unsent", 0700) < 0 && errno != EEXIST)
        return gt_error_system(error, errno, "gpu-tracker-unsent");
    snprintf(path, sizeof path, "gpu-tracker-unsent/%.200s", gt_file_name(spool->folder));
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return gt_error_system(error, errno, "%s", path);
    snprintf(ret, size, "%s/%s", path, gt_file_name(spool->recording));
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

static bool ends_in(const char *name, const char *end)
{
    size_t length = strlen(name), size = strlen(end);
    return length > size && strcmp(name + length - size, end) == 0;
}

int gt_spool_each(const char *name, int (*use)(void *context, const char *path), void *context, bool *is_written)
{
    DIR *folder = opendir(name);
    const struct dirent *entry;
    char path[PATH_MAX];
    int status = 0;
    *is_written = false;
    while (folder && !status && (entry = readdir(folder))) {
        snprintf(path, sizeof path, "%.3800s/%s", name, entry->d_name);
        if (ends_in(entry->d_name, ".sqlite"))
            status = use(context, path);
        else if (ends_in(entry->d_name, ".sqlite" GT_SPOOL_LOCK)) {
            path[strlen(path) - strlen(GT_SPOOL_LOCK)] = '\0';
            *is_written = *is_written || gt_spool_is_written(path);
        }
    }
    if (folder)
        closedir(folder);
    return status;
}

static int find_one(void *context, const char *path)
{
    (void)context, (void)path;
    return 1;
}

bool gt_spool_is_empty(const char *folder)
{
    bool is_written;
    return !gt_spool_each(folder, find_one, NULL, &is_written) && !is_written;
}

static int lock_folder(const char *folder, int flags, struct gt_error *error)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.3900s/.shipper", folder);
    int fd = open(path, flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return gt_error_system(error, errno, "%s", path);
    struct stat facts;
    bool is_there = flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &facts) == 0 && facts.st_nlink > 0;
    if (is_there)
        return fd;
    close(fd); /* or the one before has removed it meanwhile */
    return -EWOULDBLOCK;
}

int gt_spool_take(const char *folder, struct gt_error *error)
{
    return lock_folder(folder, O_CREAT, error);
}

/* Returns true when it may be worth a second try: the last recording went while its folder was ours. */
static bool clear(const char *folder)
{
    static const char *const names[] = {GT_SPOOL_REFUSED, GT_SPOOL_FULL, ".shipper"};
    char path[PATH_MAX];
    int lock = lock_folder(folder, 0, NULL);
    if (lock < 0)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names && gt_spool_is_empty(folder); i++) {
        snprintf(path, sizeof path, "%.3900s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder); /* but for recordings that are kept */
    close(lock);
    return gt_spool_is_empty(folder);
}

void gt_spool_clear(const char *folder)
{
    if (clear(folder))
        clear(folder);
}

bool gt_spool_is_written(const char *recording)
{
    char lock[PATH_MAX + 8];
    snprintf(lock, sizeof lock, "%s" GT_SPOOL_LOCK, recording);
    int fd = open(lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    bool is_written = flock(fd, LOCK_SH | LOCK_NB) < 0;
    close(fd);
    return is_written;
}

void gt_spool_remove(const char *recording, bool keep)
{
    char path[PATH_MAX + 16], copy_of[PATH_MAX], kept[PATH_MAX + 300];
    snprintf(copy_of, sizeof copy_of, "%s", recording);
    snprintf(kept, sizeof kept, "%s/sent", dirname(copy_of));
    if (keep && mkdir(kept, 0700) == 0)
        errno = 0;
    for (int i = PARTS - 1; i >= 0; i--) {
        snprintf(path, sizeof path, "%s%s", recording, parts[i]);
        snprintf(kept, sizeof kept, "%s/sent/%.200s%s", copy_of, gt_file_name(recording), parts[i]);
        if (keep)
            rename(path, kept);
        else
            unlink(path);
    }
    snprintf(path, sizeof path, "%s" GT_SPOOL_LOCK, recording);
    unlink(path);
}
