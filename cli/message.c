#include "message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "gpu_tracker.h"
#include "store/address.h"

enum { TEXT_SIZE = 1024, LINE_SIZE = 4 * TEXT_SIZE + 32, WORD_SIZE = 48 };

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

/* How many letters have to be changed, added, removed or swapped with the next one. */
static unsigned distance(const char *a, const char *b)
{
    size_t length = strlen(b);
    unsigned rows[3][WORD_SIZE + 1], *row = rows[0], *above = rows[1], *top = rows[2];
    if (strlen(a) >= WORD_SIZE || length >= WORD_SIZE)
        return WORD_SIZE;
    for (unsigned i = 0; i <= length; i++)
        row[i] = i;
    for (unsigned i = 1; a[i - 1]; i++) {
        unsigned *oldest = top;
        top = above;
        above = row;
        row = oldest;
        row[0] = i;
        for (unsigned j = 1; j <= length; j++) {
            unsigned best = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && top[j - 2] + 1 < best)
                best = top[j - 2] + 1;
            row[j] = best;
        }
    }
    return row[length];
}

void suggest(struct suggestion *suggestion, const char *candidate)
{
    unsigned d = distance(suggestion->word, candidate);
    size_t length = strlen(suggestion->word);
    unsigned limit = length < 3 ? 0 : length < 5 ? 1 : 2; /* of a short word little would be left */
    if (d <= limit && (!suggestion->nearest || d < suggestion->distance)) {
        suggestion->nearest = candidate;
        suggestion->distance = d;
    }
}
