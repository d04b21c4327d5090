#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "engine/push.h"
#include "engine/server.h"
#include "engine/spool.h"

/* Seconds between looks; how long it tries when all trackers have ended; from when on nobody is kept waiting for what is to be told. */
static const double LOOK = 0.1, STAY = 60, LATE = 10;

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
    double began, next, next_asked, alone_since; /* of the monotonic clock */
    double known_bytes;                          /* in the folder when the server last had all that there was */
    double next_weighed;
    bool has_written, has_new_end, is_told, is_settled, is_full;
};

static double now(void)
{
    return gt_seconds(gt_clock_monotonic(&gt_clock_system));
}

/* ---- What is in the folder ---- */

static int add(void *context, const char *path)
{
    struct follower *follower = context;
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
    int status = gt_spool_each(follower->folder, add, follower, &follower->has_written);
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

static void tell(struct follower *follower, const char *problem)
{
    if (!follower->is_told)
        gt_warn(follower->options->warn, follower->options->context, "%s; recordings wait in %s", problem,
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

static bool is_late(const struct follower *follower)
{
    return follower->began > 0 && now() - follower->began > LATE;
}

/* Nobody waits for a server that is silent. What is left of a job whose trackers took their recordings with them is nothing. */
static bool is_vain(void *context)
{
    struct follower *follower = context;
    char sentence[1000], name[800];
    if (now() < follower->next_asked)
        return false;
    follower->next_asked = now() + LOOK;
    bool is_over = gt_spool_is_empty(follower->folder);
    if (is_late(follower) && !is_over && !follower->is_settled) {
        gt_address_name(name, sizeof name, &follower->address);
        snprintf(sentence, sizeof sentence, "%s has not taken what there is within %.0f s", name, LATE);
        tell(follower, sentence);
    }
    if (is_over || is_late(follower))
        settle(follower->options, &follower->is_settled);
    return is_over;
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
    if (status < 0 && status != -ECANCELED)
        tell(follower, problem.text);
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

/* Recordings that are being made cannot be read yet. */
static bool has_shipments(const struct follower *follower)
{
    for (size_t i = 0; i < follower->followed_count; i++)
        if (follower->followed[i].shipment)
            return true;
    return false;
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
        if (follower->followed_count && !follower->began)
            follower->began = now();
        bool is_due = is_last || now() >= follower->next || (follower->has_new_end && !follower->pause.seconds);
        if (is_due && has_shipments(follower))
            send_round(follower);
        if (is_late(follower))
            settle(follower->options, &follower->is_settled);
        limit_spool(follower);
        if (!is_last)
            gt_sleep(LOOK);
    }
}

/* ---- One of several ---- */

/* Returns the descriptor of the lock, or -ENOENT when nothing is left to be done. */
static int wait_for_turn(const char *folder, const struct gt_push_options *options, const volatile sig_atomic_t *stop,
                         struct gt_error *error)
{
    struct gt_pause pause = {.seed = (unsigned)getpid()};
    bool is_settled = false;
    int lock;
    while ((lock = gt_spool_take(folder, error)) == -EWOULDBLOCK) {
        settle(options, &is_settled); /* the other one tells */
        if (*stop || gt_spool_is_empty(folder))
            return -ENOENT;
        pause.seconds = 0.5;
        gt_sleep(gt_pause_next(&pause));
    }
    return lock;
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
    struct gt_push_options own = *options;
    own.limits = (struct gt_http_limits){.is_vain = is_vain, .context = &follower};
    status = gt_push_open(&follower.push, &follower.address, &own, error);
    if (status >= 0)
        work(&follower, stop);
    while (follower.followed_count)
        forget(&follower, follower.followed_count - 1);
    free(follower.followed);
    gt_push_close(follower.push);
    mark(folder, GT_SPOOL_REFUSED, status < 0); /* nobody would send it */
    mark(folder, GT_SPOOL_FULL, false);
    close(lock);
    gt_spool_clear(folder);
    return status;
}
