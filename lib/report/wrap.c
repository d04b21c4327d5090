#include "report/wrap.h"

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

static bool goes_on(char byte)
{
    return (byte & 0xc0) == 0x80;
}

size_t gt_wrap_piece(const char *text, size_t width, const char **ret_next)
{
    size_t length = 0, characters = 0, space = 0;
    for (; text[length] && (characters < width || goes_on(text[length])); length++) {
        if (text[length] == ' ')
            space = length;
        characters += !goes_on(text[length + 1]);
    }
    if (text[length] && text[length] != ' ' && space)
        length = space;
    *ret_next = text + length + (text[length] == ' ');
    return length;
}
