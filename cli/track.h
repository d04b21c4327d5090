/* One tracked run, from the checks to the report: a command that is launched, or a process that is attached to. */
#ifndef CLI_TRACK_H
#define CLI_TRACK_H

#include <stdbool.h>
#include <sys/types.h>

#include "option.h"

/* Launch `words` and track it. Returns the exit status. Standard output is the command's: the report and then a sentence with the
 * command's status go to standard error. `as_original`: the sentence, then the report, on standard output. */
int track_command(const struct options *options, char **words, bool as_original);
/* Track process `pid` until it ends or until SIGINT, SIGTERM, SIGHUP or SIGQUIT. Returns the exit status. */
int track_process(const struct options *options, pid_t pid);

#endif
