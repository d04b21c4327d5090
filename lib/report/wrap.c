#include "report/wrap.h"

#include <string.h>

#include "base/utf8.h"

enum { NARROWEST = 16, NARROWEST_OF_FEW = 10, FEW = 60 };

/* Behind these a name goes on in the next line. */
static const char JOINTS[] = "/_:,=";

void gt_wrap_fit(size_t *width, const bool *gives_way, size_t columns, size_t available)
{
    size_t least = available < FEW ? NARROWEST_OF_FEW : NARROWEST;
    for (;;) {
        size_t total = 0, widest = columns;
        for (size_t i = 0; i < columns; i++) {
            total += width[i];
            if (gives_way[i] && width[i] > least && (widest == columns || width[i] > width[widest]))
                widest = i;
        }
        if (total <= available || widest == columns)
            return;
        width[widest]--;
    }
}

size_t gt_wrap_piece(const char *text, size_t width, const char **ret_next)
{
    size_t length = 0, columns = 0, space = 0, joint = 0;
    for (; text[length]; length++) {
        size_t own = gt_utf8_width(text + length);
        if (columns && own && columns + own > width)
            break;
        if (text[length] == ' ')
            space = length;
        if (length && strchr(JOINTS, text[length - 1]))
            joint = length;
        columns += own;
    }
    if (text[length] && text[length] != ' ' && (space || joint > width / 2))
        length = space ? space : joint;
    *ret_next = text + length + (text[length] == ' ');
    return length;
}
