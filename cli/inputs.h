/* The files that a command reads, wherever its words name them: none of them may be where the report goes. */
#ifndef CLI_INPUTS_H
#define CLI_INPUTS_H

#include "option.h"

/* 0, or an exit status when `output` is one of the files that options or operands name. */
int inputs_check(const struct options *options, const struct command *command, int count, char *const *operands);

#endif
