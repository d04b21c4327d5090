#include "message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyse/usage/usage_rule.h"
#include "base/utf8.h"
#include "gpu_tracker.h"
#include "store/address.h"

enum { TEXT_SIZE = 1024, LINE_SIZE = 4 * TEXT_SIZE + 32 };

static char *last; /* where sentences go instead of standard error, or NULL */
static size_t last_size;

void say_into(char *text, size_t size)
{
    last = text;
    last_size = size;
}

/* Whatever names are in it, it is one line, and no more than text. */
static void say_list(const char *format, va_list arguments)
{
    char text[TEXT_SIZE], line[LINE_SIZE] = "gpu-tracker: ";
    size_t length = strlen(line);
    vsnprintf(text, sizeof text, format, arguments);
    if (last) {
        snprintf(last, last_size, "%s", text);
        return;
    }
    for (const char *at = text; *at;)
        length += gt_utf8_show_next(&at, line + length);
    line[length++] = '\n';
    while (write(STDERR_FILENO, line, length) < 0 && errno == EINTR)
        continue;
}

void say_warning(void *context, const char *sentence)
{
    (void)context;
    say("%s", sentence);
}

void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_list(format, arguments);
    va_end(arguments);
}

int say_trouble(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_list(format, arguments);
    va_end(arguments);
    return EXIT_TRACKER;
}

int say_usage(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_list(format, arguments);
    va_end(arguments);
    return EXIT_USAGE;
}

int exit_status_of(int status)
{
    return status == -EINVAL || status == -ERANGE || status == -ENODEV ? EXIT_USAGE : EXIT_TRACKER;
}

int say_failure(int status, const struct gt_error *error)
{
    say("%s", error->text);
    return exit_status_of(status);
}

static bool is_about_a_file(int status)
{
    static const int errors[] = {ENOENT, ENOTDIR, EISDIR, EACCES, EPERM, ELOOP, ENAMETOOLONG, ESTALE, EBADMSG, EIO};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (status == -errors[i])
            return true;
    return false;
}

int say_unread(int status, const struct gt_error *error, const char *path)
{
    int exit_status = say_failure(status, error);
    return is_about_a_file(status) && !(path && gt_is_address(path)) ? EXIT_USAGE : exit_status;
}

void suggest(struct suggestion *suggestion, const char *candidate)
{
    size_t length = strlen(suggestion->word), limit = length < 3   ? 0
                                                      : length < 5 ? 1
                                                                   : 2; /* a short word has little left */
    size_t d = gt_letters_between(suggestion->word, candidate, limit);
    if (d <= limit && (!suggestion->nearest || d < suggestion->distance)) {
        suggestion->nearest = candidate;
        suggestion->distance = d;
    }
}
