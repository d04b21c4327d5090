#include "engine/follow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "engine/push_files.h"
#include "engine/server.h"
#include "engine/spool.h"

static const double LOOK = 0.1, STAY = 60; /* seconds between looks; how long it tries when all trackers have ended */

struct followed {
    char *path;
    struct gt_shipment *shipment; /* NULL: it could not be read yet */
    bool is_there;
};

struct follower {
    const char *folder;
    struct gt_address address;
    const struct gt_push_options *options;
    struct gt_push *push;
    struct followed *followed;
    size_t followed_count, followed_capacity;
    struct gt_pause pause;
    double next, alone_since; /* of the monotonic clock */
    double known_bytes;       /* in the folder when the server last had all that there was */
    double next_weighed;
    bool has_written, has_new_end, is_told, is_settled, is_full;
};

static double now(void)
{
    return gt_seconds(gt_clock_monotonic(&gt_clock_system));
}

static bool ends_in(const char *name, const char *end)
{
    size_t length = strlen(name), size = strlen(end);
    return length > size && strcmp(name + length - size, end) == 0;
}

/* ---- What is in the folder ---- */

static int add(struct follower *follower, const char *path)
{
    for (size_t i = 0; i < follower->followed_count; i++)
        if (strcmp(follower->followed[i].path, path) == 0) {
            follower->followed[i].is_there = true;
            return 0;
        }
    struct followed *place = GT_GROW(follower, followed);
    if (!place)
        return -ENOMEM;
    *place = (struct followed){.path = strdup(path), .is_there = true};
    return place->path ? 0 : -ENOMEM;
}

/* A tracker may have locked its file, and not made the recording yet. */
static int list(struct follower *follower)
{
    DIR *folder = opendir(follower->folder);
    const struct dirent *entry;
    char path[PATH_MAX];
    int status = 0;
    follower->has_written = false;
    while (folder && status >= 0 && (entry = readdir(folder))) {
        snprintf(path, sizeof path, "%.3800s/%s", follower->folder, entry->d_name);
        if (ends_in(entry->d_name, ".sqlite"))
            status = add(follower, path);
        else if (ends_in(entry->d_name, ".sqlite" GT_SPOOL_LOCK)) {
            path[strlen(path) - strlen(GT_SPOOL_LOCK)] = '\0';
            follower->has_written = follower->has_written || gt_spool_is_written(path);
        }
    }
    if (folder)
        closedir(folder);
    return status;
}

static void forget(struct follower *follower, size_t index)
{
    struct followed *gone = &follower->followed[index];
    if (gone->shipment)
        gt_push_remove(follower->push, gone->shipment);
    free(gone->path);
    *gone = follower->followed[--follower->followed_count];
}

static int look(struct follower *follower)
{
    for (size_t i = 0; i < follower->followed_count; i++)
        follower->followed[i].is_there = false;
    int status = list(follower);
    for (size_t i = follower->followed_count; i-- > 0;) {
        struct followed *one = &follower->followed[i];
        if (!one->is_there) {
            forget(follower, i);
            continue;
        }
        bool has_ended = !gt_spool_is_written(one->path);
        if (!one->shipment && gt_push_add(follower->push, one->path, &one->shipment, NULL) < 0)
            one->shipment = NULL; /* it is being made */
        if (one->shipment && has_ended && !one->shipment->has_ended)
            one->shipment->has_ended = follower->has_new_end = true;
    }
    return status;
}

/* ---- Sending ---- */

static void remove_sent(struct follower *follower)
{
    for (size_t i = follower->followed_count; i-- > 0;) {
        struct followed *one = &follower->followed[i];
        if (!one->shipment || !one->shipment->is_shipped)
            continue;
        gt_spool_remove(one->path, follower->address.keep);
        forget(follower, i);
    }
}

static void tell(struct follower *follower, const struct gt_error *problem)
{
    if (!follower->is_told)
        gt_warn(follower->options->warn, follower->options->context, "%s; recordings wait in %s", problem->text,
                follower->folder);
    follower->is_told = true;
}

/* Trackers look for marks: those that have ended wait for what may still go, and only for that; those at work leave samples out where
 * there is no room for them. */
static void mark(const char *folder, const char *name, bool is_so)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.3900s/%s", folder, name);
    int fd = is_so ? open(path, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
    if (fd >= 0)
        close(fd);
    else
        unlink(path);
}

static void settle(const struct gt_push_options *options, bool *is_settled)
{
    if (options->settled && !*is_settled)
        options->settled(options->context);
    *is_settled = true;
}

/* Bytes of all recordings in the folder. */
static double weigh(const struct follower *follower)
{
    DIR *folder = opendir(follower->folder);
    const struct dirent *entry;
    struct stat facts;
    double bytes = 0;
    while (folder && (entry = readdir(folder)))
        if (fstatat(dirfd(folder), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(facts.st_mode))
            bytes += (double)facts.st_size;
    if (folder)
        closedir(folder);
    return bytes;
}

/* While the server takes nothing the spool grows; trackers tell that it is full. */
static void limit_spool(struct follower *follower)
{
    if (follower->is_full || follower->pause.seconds <= 0 || now() < follower->next_weighed)
        return;
    follower->next_weighed = now() + 1;
    follower->is_full = weigh(follower) - follower->known_bytes > follower->address.spool_limit;
    mark(follower->folder, GT_SPOOL_FULL, follower->is_full);
}

static void make_room(struct follower *follower)
{
    follower->known_bytes = weigh(follower);
    follower->is_full = false;
    mark(follower->folder, GT_SPOOL_FULL, false);
}

static void send_round(struct follower *follower)
{
    struct gt_error problem = {0};
    int status = gt_push_round(follower->push, &problem);
    follower->has_new_end = false;
    mark(follower->folder, GT_SPOOL_REFUSED, status < 0 && gt_server_refused(status));
    if (status < 0)
        tell(follower, &problem);
    if (!follower->is_settled && (status < 0 || follower->followed_count))
        settle(follower->options, &follower->is_settled);
    if (status < 0) {
        follower->next = now() + gt_pause_next(&follower->pause);
        return;
    }
    remove_sent(follower);
    make_room(follower);
    follower->pause.seconds = 0;
    follower->next = now() + follower->address.flush;
}

static bool is_over(struct follower *follower)
{
    if (follower->has_written) {
        follower->alone_since = now();
        return false;
    }
    double stay = follower->address.wait > STAY ? follower->address.wait : STAY;
    return !follower->followed_count || now() - follower->alone_since > stay;
}

static void work(struct follower *follower, const volatile sig_atomic_t *stop)
{
    follower->alone_since = now();
    follower->next = 0; /* at once: what is wrong is to be told at the begin */
    for (bool is_last = false; !is_last;) {
        is_last = *stop;
        if (look(follower) < 0 || (!is_last && is_over(follower)))
            return;
        if (is_last || now() >= follower->next || (follower->has_new_end && !follower->pause.seconds))
            send_round(follower);
        limit_spool(follower);
        if (!is_last)
            gt_sleep(LOOK);
    }
}

/* ---- One of several ---- */

static bool is_empty(const char *folder)
{
    struct follower probe = {.folder = folder};
    list(&probe);
    bool empty = !probe.followed_count && !probe.has_written;
    for (size_t i = 0; i < probe.followed_count; i++)
        free(probe.followed[i].path);
    free(probe.followed);
    return empty;
}

/* Returns the descriptor of the lock, or -ENOENT when nothing is left to be done. */
static int wait_for_turn(const char *folder, const struct gt_push_options *options, const volatile sig_atomic_t *stop,
                         struct gt_error *error)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.3900s/.shipper", folder);
    int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return gt_error_system(error, errno, "%s", path);
    struct gt_pause pause = {.seed = (unsigned)getpid()};
    bool is_settled = false;
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        settle(options, &is_settled); /* the other one tells */
        if (*stop || is_empty(folder)) {
            close(fd);
            return -ENOENT;
        }
        pause.seconds = 0.5;
        gt_sleep(gt_pause_next(&pause));
    }
    return fd;
}

static void clear(const char *folder)
{
    char path[PATH_MAX];
    if (!is_empty(folder))
        return;
    snprintf(path, sizeof path, "%.3900s/.shipper", folder);
    unlink(path);
    rmdir(folder); /* but for recordings that are kept */
}

int gt_push_follow(const char *folder, const char *address, const struct gt_push_options *options,
                   const volatile sig_atomic_t *stop, struct gt_error *error)
{
    struct follower follower = {.folder = folder, .options = options};
    int status = gt_address_read(&follower.address, address, error);
    int lock = status >= 0 ? wait_for_turn(folder, options, stop, error) : status;
    if (lock < 0)
        return lock == -ENOENT ? 0 : lock;
    mark(folder, GT_SPOOL_REFUSED, false); /* by the one before, perhaps */
    mark(folder, GT_SPOOL_FULL, false);
    status = gt_push_open(&follower.push, &follower.address, options, error);
    if (status >= 0)
        work(&follower, stop);
    while (follower.followed_count)
        forget(&follower, follower.followed_count - 1);
    free(follower.followed);
    gt_push_close(follower.push);
    mark(folder, GT_SPOOL_REFUSED, false);
    mark(folder, GT_SPOOL_FULL, false);
    clear(folder);
    close(lock);
    return status;
}
