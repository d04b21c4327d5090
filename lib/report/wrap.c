#include "report/wrap.h"

#include "base/utf8.h"

enum { NARROWEST = 16 };

void gt_wrap_fit(size_t *width, const bool *gives_way, size_t columns, size_t available)
{
    for (;;) {
        size_t total = 0, widest = columns;
        for (size_t i = 0; i < columns; i++) {
            total += width[i];
            if (gives_way[i] && width[i] > NARROWEST && (widest == columns || width[i] > width[widest]))
                widest = i;
        }
        if (total <= available || widest == columns)
            return;
        width[widest]--;
    }
}

size_t gt_wrap_piece(const char *text, size_t width, const char **ret_next)
{
    size_t length = 0, columns = 0, space = 0;
    for (; text[length]; length++) {
        size_t own = gt_utf8_width(text + length);
        if (columns && own && columns + own > width)
            break;
        if (text[length] == ' ')
            space = length;
        columns += own;
    }
    if (text[length] && text[length] != ' ' && space)
        length = space;
    *ret_next = text + length + (text[length] == ' ');
    return length;
}
