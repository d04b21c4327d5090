/* Messages go to standard error: one line at a time, written whole, with "gpu-tracker: " before it. */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include <stddef.h>

enum exit_status {
    EXIT_USAGE = 2,       /* the command line, a configuration file, the environment or a file to be read is wrong */
    EXIT_BROKEN_RULE = 3, /* a rule of --fail-if is broken */
    EXIT_NOTHING = 4,     /* there was nothing to do it with */
    EXIT_TRACKER = 125,   /* gpu-tracker itself failed */
    EXIT_NOT_EXECUTABLE = 126, /* the command cannot be executed */
    EXIT_NOT_FOUND = 127,      /* there is no such command */
    EXIT_SIGNAL = 128,         /* plus the signal's number: a signal ended the command */
};

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Says a sentence of the library's; for its members `warn`. */
void say_warning(void *context, const char *sentence);
/* From now on sentences replace each other in `text` instead of being said; NULL: no more. */
void say_into(char *text, size_t size);
/* Says it and returns EXIT_TRACKER. */
int say_trouble(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Says it and returns EXIT_USAGE. */
int say_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The exit status for a failure that the library reports with a negative errno: a wrong argument or a failure. */
int exit_status_of(int status);

struct gt_error;
/* Says the sentence of a failed call and returns its exit status. */
int say_failure(int status, const struct gt_error *error);
/* The same of a command that reads `path`, NULL: files. What cannot be read is EXIT_USAGE, too, unless it is on a
 * server. */
int say_unread(int status, const struct gt_error *error, const char *path);

/* The candidate nearest to a mistyped `word`, or NULL when none is near. */
struct suggestion {
    const char *word;
    const char *nearest;
    size_t distance;
};
void suggest(struct suggestion *suggestion, const char *candidate);

#endif
