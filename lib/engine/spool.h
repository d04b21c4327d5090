/* The spool: a folder of a node in which the recordings of a job wait until a server has them. A tracker locks a file beside its recording
 * as long as it writes. */
#ifndef GT_ENGINE_SPOOL_H
#define GT_ENGINE_SPOOL_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "store/address.h"
#include "store/store.h"

#define GT_SPOOL_REFUSED ".refused" /* in a folder: the server refuses, and to wait for it is no use */

struct gt_spool {
    struct gt_address address;
    char url[2 * PATH_MAX]; /* placeholders filled in */
    char folder[PATH_MAX], recording[PATH_MAX];
    int lock; /* a descriptor */
};

/* Make the folder for an address, which is nobody else's to read, and choose the name of a recording. */
int gt_spool_begin(struct gt_spool *ret, const char *pattern, struct gt_error *error);
/* The recording is finished, and may be removed when it was sent. */
void gt_spool_end(struct gt_spool *spool);
/* Wait until it was sent, or refused, or nobody is there who would send it. `shipper` is a descriptor that ends with the one that this
 * process started; -1: it is not known. Returns true where it was sent. */
bool gt_spool_wait(const struct gt_spool *spool, double seconds, int shipper);
/* Move it into the folder gpu-tracker-unsent/JOB of the working folder, with all that belongs to it; `ret` gets its new name. */
int gt_spool_save(const struct gt_spool *spool, char *ret, size_t size, struct gt_error *error);

/* ---- For those who send from it ---- */

/* Call `use` for each recording in a folder, as long as it returns 0; returns what it did. `*is_written` tells whether a tracker is at
 * work: it may have locked its file, and not made the recording yet. */
int gt_spool_each(const char *folder, int (*use)(void *context, const char *path), void *context, bool *is_written);
/* Returns true where nothing is to be sent, now or later. */
bool gt_spool_is_empty(const char *folder);
/* One process at a time sends from a folder. Returns a descriptor, -EWOULDBLOCK when there is another. */
int gt_spool_take(const char *folder, struct gt_error *error);
/* Remove a folder that is empty, unless somebody sends from it. */
void gt_spool_clear(const char *folder);

/* Returns true while a tracker writes the recording. */
bool gt_spool_is_written(const char *recording);
/* Remove a recording with all that belongs to it, or with `keep` put it into the folder "sent" beside it. */
void gt_spool_remove(const char *recording, bool keep);

#endif
