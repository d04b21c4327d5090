/* Completion scripts for shells, from the tables of commands and options: completion_<shell>.c writes one. */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include "option.h"

struct completion {
    const char *shell;
    void (*print)(void);
};

extern const struct completion completion_bash, completion_zsh, completion_fish;

/* What their writers share; all print to standard output. */
void completion_choices(const struct option *option, const char *separator);
/* The first words of the commands' names, each once: what may follow "gpu-tracker". */
void completion_names(void);
/* The shells there are. */
void completion_shells(void);

bool option_has_value(const struct option *option);

#endif
