/* Recordings that somebody names are pushed, by hand. */
#ifndef GT_ENGINE_PUSH_FILES_H
#define GT_ENGINE_PUSH_FILES_H

#include "engine/push.h"

/* Push files until the server has all of them, with pauses while it cannot be asked; `patience` seconds after the last success it is
 * given up. What cannot be read is told and left out: -EBADMSG then, when the others are there. */
int gt_push_files(const char *const *paths, size_t count, const char *address, const struct gt_push_options *options,
                  double patience, struct gt_push_figures *ret, struct gt_error *error);

/* Wait before trying again: a fifth of a second at first, twice as long each time up to a minute, each a little different. */
struct gt_pause {
    double seconds;
    unsigned seed;
};
/* Returns the seconds to wait next. */
double gt_pause_next(struct gt_pause *pause);
void gt_sleep(double seconds);

#endif
