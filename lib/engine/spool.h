/* The spool: a folder of a node in which the recordings of a job wait until a server has them. A tracker locks a file beside its recording
 * as long as it writes. */
#ifndef GT_ENGINE_SPOOL_H
#define GT_ENGINE_SPOOL_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "store/address.h"
#include "store/store_options.h"

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
/* Wait until it was sent, or refused. Returns true where it was sent. */
bool gt_spool_wait(const struct gt_spool *spool, double seconds);
/* Move it into the folder gpu-tracker-unsent/JOB of the working folder, with all that belongs to it; `ret` gets its new name. */
int gt_spool_save(const struct gt_spool *spool, char *ret, size_t size, struct gt_error *error);

/* Returns true while a tracker writes the recording. */
bool gt_spool_is_written(const char *recording);
/* Remove a recording with all that belongs to it, or with `keep` put it into the folder "sent" beside it. */
void gt_spool_remove(const char *recording, bool keep);

#endif
