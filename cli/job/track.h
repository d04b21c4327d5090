/* One tracked run, from the checks to the report: a command that is launched, or a process that is attached to. */
#ifndef CLI_JOB_TRACK_H
#define CLI_JOB_TRACK_H

#include <stdbool.h>
#include <sys/types.h>

#include "gpu_tracker.h"
#include "option.h"

/* Launch `words` and track it. Returns the exit status. Standard output is the command's: the report and then a
 * sentence with the command's status go to standard error. `as_original`: the sentence, then the report, on standard
 * output. */
int track_command(const struct options *options, char **words, bool as_original);
/* Track process `pid` until it ends or until SIGINT, SIGTERM, SIGHUP or SIGQUIT. Returns the exit status. */
int track_process(const struct options *options, pid_t pid);

/* ---- Recordings for a server: a spool, from which another process sends them ---- */

struct ship; /* NULL: the tracking file is not the address of a server */

/* Where the tracking file is an address, it becomes a file in the spool, and the process that sends it is started,
 * before anything else is: it is to be nobody's descendant. Returns 0, or an exit status after saying why. */
int ship_begin(struct ship **ret, struct options *options);
/* The address with its placeholders filled in; NULL without a ship. */
const char *ship_address(const struct ship *ship);
/* The recording is finished. Says where it is when it could not be sent. */
void ship_end(struct ship *ship);

/* ---- The list of the user's runs (cmd_runs.c) ---- */

/* Add an ended run to the list, unless options say otherwise. Returns one clause about changes since earlier runs, free
 * with free(), or NULL. A failure is reported in one sentence and has no other effect. */
char *past_keep(const struct options *options, const struct gt_tracker *tracker, char *const *words);
/* Get the recording of run `back`: 1 is the latest. Free with free(). -ENOENT: there is no such run, or it kept no
 * recording, or that is gone, or its file holds another run by now. */
int past_recording(long long back, char **ret, struct gt_error *error);
/* Put paths in the place of names like @1, wherever recordings are expected. 0 or an exit status. */
int past_resolve(struct options *options, const struct command *command, int count, char **operands);

#endif
