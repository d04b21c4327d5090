/* The spool: a folder of a node where the recordings of a job wait until a server has them. A tracker locks a file
 * beside its recording while it writes. */
#ifndef GT_ENGINE_SPOOL_H
#define GT_ENGINE_SPOOL_H

#include <limits.h>
#include <stdbool.h>

#include "base/error.h"
#include "store/address.h"
#include "store/store.h"

#define GT_SPOOL_REFUSED ".refused" /* a file in the folder: the server refuses, and waiting is useless */

struct gt_spool {
    struct gt_address address;
    char url[2 * PATH_MAX]; /* without placeholders */
    char folder[PATH_MAX], recording[PATH_MAX];
    int lock; /* a descriptor; -1: not locked */
};

/* Create the folder for an address, private to the user, and choose the name of a recording. */
int gt_spool_begin(struct gt_spool *ret, const char *pattern, struct gt_error *error);
/* Unlock the recording: it is finished, and is removed once it was sent. May be called again. */
void gt_spool_end(struct gt_spool *spool);
/* Wait until the recording was sent or refused, no sender is left, or time is over. `sender` is a descriptor that ends
 * with the sender started by this process; -1: unknown. Returns true if it was sent. */
bool gt_spool_wait(const struct gt_spool *spool, double seconds, int sender);
/* Move the recording to gpu-tracker-unsent/JOB in the working folder. `ret` gets its new name. */
int gt_spool_save(const struct gt_spool *spool, char *ret, size_t size, struct gt_error *error);

/* ---- For senders ---- */

/* Call `use` for each recording of a folder while it returns 0, and return its last result. `is_written` gets whether a
 * tracker is working, also one whose recording does not exist yet. */
int gt_spool_each(const char *folder, int (*use)(void *context, const char *path), void *context, bool *is_written);
/* Returns true if no recording is there and none will come. */
bool gt_spool_is_empty(const char *folder);
/* Become the only sender of a folder. `flags`: O_CREAT or 0. Returns a descriptor, or -EWOULDBLOCK if there is another. */
int gt_spool_take(const char *folder, int flags, struct gt_error *error);
/* Create or remove a file in the folder. */
void gt_spool_mark(const char *folder, const char *name, bool is_set);
/* Remove an empty folder, unless it has a sender. */
void gt_spool_clear(const char *folder);
/* Returns true while a tracker writes the recording. */
bool gt_spool_is_written(const char *recording);
/* Remove a recording with its SQLite files; with `keep` move them to the folder `sent` beside it. */
void gt_spool_remove(const char *recording, bool keep);

#endif
