/* The text of --help is made from the tables of commands and options. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

#include "option.h"

/* On one screen: what there is, and where more is told. */
void help_print_overview(FILE *out);
void help_print(FILE *out, const struct command *command);
/* The commands whose names begin with `word`. */
void help_print_group(FILE *out, const char *word);
/* "-o, --output=FILE" */
enum { HELP_TERM_SIZE = 80 };
const char *help_term(const struct option *option, char text[HELP_TERM_SIZE]);

#endif
