#include "base/text_file.h"

#include <errno.h>

int gt_text_line(FILE *file, struct gt_buffer *line, size_t most)
{
    int c;
    gt_buffer_clear(line);
    while ((c = getc_unlocked(file)) != EOF) {
        if (line->length == most)
            return -EFBIG;
        if (gt_buffer_char(line, (char)c) < 0)
            return line->failed;
        if (c == '\n')
            return 1;
    }
    return ferror(file) ? -EIO : line->length > 0;
}

struct measured {
    FILE *file;
    size_t left;
    bool is_too_long;
};

/* One byte at a time: what follows the value is not to be taken. */
static size_t take(void *buffer, size_t size, void *context)
{
    struct measured *measured = context;
    int c = size && measured->left ? getc_unlocked(measured->file) : EOF;
    measured->is_too_long = !measured->left;
    if (c == EOF)
        return 0;
    *(char *)buffer = (char)c;
    measured->left--;
    return 1;
}

json_t *gt_text_json(FILE *file, size_t most, size_t flags, json_error_t *problem)
{
    struct measured measured = {file, most, false};
    *problem = (json_error_t){0};
    json_t *value = json_load_callback(take, &measured, flags, problem);
    if (!value && measured.is_too_long)
        snprintf(problem->text, sizeof problem->text, "it is longer than %zu bytes", most);
    return value;
}
