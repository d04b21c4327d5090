#include "trace/input/lines.h"

#include <errno.h>

enum { BLOCK = 256 * 1024, LONGEST = 64 << 20 };

static int read_more(struct gt_lines *lines, struct gt_error *error)
{
    struct gt_buffer *text = &lines->text;
    if (lines->at) {
        memmove(text->data, text->data + lines->at, text->length - lines->at);
        text->length -= lines->at;
        lines->offset += lines->at;
        lines->searched -= lines->at;
        lines->at = 0;
    }
    if (text->length > LONGEST) {
        lines->too_long++;
        lines->offset += text->length;
        text->length = lines->searched = 0;
    }
    if (gt_buffer_reserve(text, BLOCK) < 0)
        return gt_error_system(error, ENOMEM, "reading lines");
    ssize_t got = gt_input_read(lines->input, text->data + text->length, BLOCK, error);
    if (got < 0)
        return (int)got;
    lines->at_end = got < BLOCK;
    text->length += (size_t)got;
    return 0;
}

int gt_lines_next(struct gt_lines *lines, struct gt_span *ret, struct gt_error *error)
{
    for (;;) {
        const char *data = lines->text.data;
        const char *end = data ? memchr(data + lines->searched, '\n', lines->text.length - lines->searched) : NULL;
        size_t length = end ? (size_t)(end - data) : lines->text.length;
        if (end || (lines->at_end && length > lines->at)) {
            *ret = (struct gt_span){data + lines->at, length - lines->at};
            ret->length -= ret->length && ret->text[ret->length - 1] == '\r';
            lines->at = lines->searched = length + (end != NULL);
            return 1;
        }
        if (lines->at_end)
            return 0;
        lines->searched = length;
        int status = read_more(lines, error);
        if (status < 0)
            return status;
    }
}

void gt_lines_release(struct gt_lines *lines)
{
    gt_buffer_release(&lines->text);
}
