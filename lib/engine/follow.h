/* One process of a node ships the recordings of its spool while they are written. */
#ifndef GT_ENGINE_FOLLOW_H
#define GT_ENGINE_FOLLOW_H

#include <signal.h>

#include "engine/push.h"

/* Push every recording in a folder, as long as there is one, and remove what the server has. Of several processes on one folder one works,
 * and the others wait for its end. The first trouble is told once. `stop`, when it is set, asks to end after one more try. */
int gt_push_follow(const char *folder, const char *address, const struct gt_push_options *options,
                   const volatile sig_atomic_t *stop, struct gt_error *error);

#endif
