/* One tracked run, from the checks to the report: a command that is launched, or a process that is attached to. */
#ifndef CLI_TRACK_H
#define CLI_TRACK_H

#include <stdio.h>
#include <sys/types.h>

#include "option.h"

/* Launch `words` and track it. The sentence with its status code goes to `sentence`. Returns the exit status. */
int track_command(const struct options *options, char **words, FILE *sentence);
/* Track process `pid` until it ends or until SIGINT, SIGTERM, SIGHUP or SIGQUIT. Returns the exit status. */
int track_process(const struct options *options, pid_t pid);

#endif
