/* The list of the user's runs: keeping this one, and names like @1 for the recordings of earlier ones. */
#ifndef CLI_CMD_RUNS_H
#define CLI_CMD_RUNS_H

#include "gpu_tracker.h"
#include "option.h"

/* Keep a run of these words that has ended, if it shall be kept, and tell what has changed: one clause, which the caller frees, or NULL.
 * What hinders that is said in one sentence at most, and is no failure. */
char *past_keep(const struct options *options, const struct gt_tracker *tracker, char *const *words);
/* Put paths in the place of names like @1, wherever recordings are expected. 0 or an exit status. */
int past_resolve(struct options *options, const struct command *command, int count, char **operands);

#endif
