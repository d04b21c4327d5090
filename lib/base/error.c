#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int path_length(const struct gt_error *error, const char *format, va_list arguments)
{
    if (strncmp(format, "%s", 2) != 0)
        return 0;
    return (int)strnlen(va_arg(arguments, const char *), sizeof error->text - 1);
}

static void fill(struct gt_error *error, int code, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    error->path_length = path_length(error, format, again);
    va_end(again);
    error->code = code;
    vsnprintf(error->text, sizeof error->text, format, arguments);
}

int gt_error_set(struct gt_error *error, int code, const char *format, ...)
{
    if (error && !error->code) {
        va_list arguments;
        va_start(arguments, format);
        fill(error, code, format, arguments);
        va_end(arguments);
    }
    return -code;
}

int gt_error_system(struct gt_error *error, int code, const char *format, ...)
{
    if (error && !error->code) {
        va_list arguments;
        va_start(arguments, format);
        fill(error, code, format, arguments);
        va_end(arguments);
        size_t used = strlen(error->text);
        char scratch[128];
        snprintf(error->text + used, sizeof error->text - used, ": %s", strerror_r(code, scratch, sizeof scratch));
    }
    return -code;
}

int gt_error_exists(struct gt_error *error, const char *path)
{
    return gt_error_set(error, EEXIST, "%s already exists; use --overwrite to replace it", path);
}

int gt_error_copy(struct gt_error *error, const struct gt_error *from)
{
    if (error && !error->code)
        *error = *from;
    return -from->code;
}

void gt_warn(void (*warn)(void *context, const char *sentence), void *context, const char *format, ...)
{
    char sentence[4096];
    va_list arguments;
    if (!warn)
        return;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    warn(context, sentence);
}
