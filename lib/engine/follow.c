#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "engine/push.h"
#include "engine/spool.h"

/* Seconds between looks into the folder; until it gives up without trackers; until its first error is reported. */
static const double LOOK = 0.1, STAY = 60, LATE = 10;

struct follower {
    const char *folder;
    struct gt_address address;
    const struct gt_push_options *options;
    struct gt_push *push;
    size_t recordings; /* in the folder */
    struct gt_pause pause;
    double began, next, next_check, alone_since; /* seconds of the monotonic clock; began 0: no recording yet */
    double sent_bytes, next_size;                /* size of the folder after the last success; when to look again */
    bool is_written, has_new_end, has_reported, is_settled, is_full;
};

static double now(void)
{
    return gt_seconds(gt_clock_monotonic(&gt_clock_system));
}

/* ---- The folder ---- */

static int add(void *context, const char *path)
{
    struct follower *follower = context;
    struct gt_push *push = follower->push;
    struct gt_upload *upload = NULL;
    follower->recordings++;
    for (size_t i = 0; i < push->count; i++)
        if (strcmp(push->upload[i]->path, path) == 0)
            upload = push->upload[i];
    if (upload || gt_push_add(push, path, &upload, NULL) >= 0) /* fails while the file is being made */
        upload->is_there = true;
    return 0;
}

static void look(struct follower *follower)
{
    struct gt_push *push = follower->push;
    follower->recordings = 0;
    for (size_t i = 0; i < push->count; i++)
        push->upload[i]->is_there = false;
    gt_spool_each(follower->folder, add, follower, &follower->is_written);
    for (size_t i = push->count; i-- > 0;) {
        struct gt_upload *upload = push->upload[i];
        if (!upload->is_there)
            gt_push_remove(push, i);
        else if (!upload->has_ended && !gt_spool_is_written(upload->path))
            upload->has_ended = follower->has_new_end = true;
    }
}

static double size_of(const char *name)
{
    DIR *folder = opendir(name);
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

/* While the server takes nothing, the folder grows. Trackers leave out samples if it is full. */
static void limit_size(struct follower *follower)
{
    if (follower->is_full || follower->pause.seconds <= 0 || now() < follower->next_size)
        return;
    follower->next_size = now() + 1;
    follower->is_full = size_of(follower->folder) - follower->sent_bytes > follower->address.spool_limit;
    gt_spool_mark(follower->folder, GT_SPOOL_FULL, follower->is_full);
}

/* ---- Messages ---- */

static void report(struct follower *follower, const char *problem)
{
    if (!follower->has_reported)
        gt_warn(follower->options->warn, follower->options->context, "%s; recordings wait in %s", problem,
                follower->folder);
    follower->has_reported = true;
}

/* From now on there are no messages. */
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

/* A request is vain when all trackers took their recordings back. A slow server is reported meanwhile. */
static bool is_vain(void *context)
{
    struct follower *follower = context;
    char sentence[1000], name[800];
    if (now() < follower->next_check)
        return false;
    follower->next_check = now() + LOOK;
    bool is_over = gt_spool_is_empty(follower->folder);
    if (is_late(follower) && !is_over && !follower->is_settled) {
        gt_address_name(name, sizeof name, &follower->address);
        snprintf(sentence, sizeof sentence, "%s has not taken what there is within %.0f s", name, LATE);
        report(follower, sentence);
    }
    if (is_over || is_late(follower))
        settle(follower->options, &follower->is_settled);
    return is_over;
}

/* ---- Work ---- */

static void send_round(struct follower *follower)
{
    struct gt_push *push = follower->push;
    struct gt_error problem = {0};
    int status = gt_push_round(push, &problem);
    follower->has_new_end = false;
    gt_spool_mark(follower->folder, GT_SPOOL_REFUSED, status < 0 && gt_server_refused(status));
    if (status < 0 && status != -ECANCELED)
        report(follower, problem.text);
    settle(follower->options, &follower->is_settled);
    if (status < 0) {
        follower->next = now() + gt_pause_next(&follower->pause);
        return;
    }
    for (size_t i = push->count; i-- > 0;)
        if (push->upload[i]->is_shipped) {
            gt_spool_remove(push->upload[i]->path, follower->address.keep);
            gt_push_remove(push, i);
            follower->recordings--;
        }
    follower->sent_bytes = size_of(follower->folder);
    follower->is_full = false;
    gt_spool_mark(follower->folder, GT_SPOOL_FULL, false);
    follower->pause.seconds = 0;
    follower->next = now() + follower->address.flush;
}

static bool is_over(struct follower *follower)
{
    if (follower->is_written)
        follower->alone_since = now();
    double stay = follower->address.wait > STAY ? follower->address.wait : STAY;
    return !follower->is_written && (!follower->recordings || now() - follower->alone_since > stay);
}

/* The first round is at once, so that errors are reported early. */
static void work(struct follower *follower, const volatile sig_atomic_t *stop)
{
    follower->alone_since = now();
    for (bool is_last = false; !is_last;) {
        is_last = *stop;
        look(follower);
        if (!is_last && is_over(follower))
            return;
        if (follower->recordings && !follower->began)
            follower->began = now();
        bool is_due = is_last || now() >= follower->next || (follower->has_new_end && !follower->pause.seconds);
        if (is_due && follower->push->count)
            send_round(follower);
        if (is_late(follower))
            settle(follower->options, &follower->is_settled);
        limit_size(follower);
        if (!is_last)
            gt_sleep(LOOK);
    }
}

/* Returns the lock of the sender, or -ENOENT when there is nothing left to do. */
static int wait_for_turn(const char *folder, const struct gt_push_options *options, const volatile sig_atomic_t *stop,
                         struct gt_error *error)
{
    struct gt_pause pause = {.seed = (unsigned)getpid()};
    bool is_settled = false;
    int lock;
    while ((lock = gt_spool_take(folder, O_CREAT, error)) == -EWOULDBLOCK) {
        settle(options, &is_settled); /* the working sender reports */
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
    gt_spool_mark(folder, GT_SPOOL_REFUSED, false); /* from a previous sender */
    gt_spool_mark(folder, GT_SPOOL_FULL, false);
    struct gt_push_options own = *options;
    own.limits = (struct gt_request_limits){.is_vain = is_vain, .context = &follower};
    status = gt_push_open(&follower.push, &follower.address, &own, error);
    if (status >= 0)
        work(&follower, stop);
    gt_push_close(follower.push);
    gt_spool_mark(folder, GT_SPOOL_REFUSED, status < 0); /* without a sender, waiting is useless */
    gt_spool_mark(folder, GT_SPOOL_FULL, false);
    close(lock);
    gt_spool_clear(folder);
    return status;
}
