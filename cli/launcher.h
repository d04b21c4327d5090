/* Commands that start their work where the tracker does not see it. */
#ifndef CLI_LAUNCHER_H
#define CLI_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>

/* A sentence for the user when `words` is such a command; false: it is none. */
bool launcher_note(char *const *words, char *sentence, size_t size);

#endif
