#include "analyse/letters.h"

#include <string.h>

size_t gt_letters_between(const char *one, const char *other, size_t most)
{
    while (*one && *one == *other) {
        one++;
        other++;
    }
    if (!*one || !*other || most == 0)
        return strlen(one) + strlen(other);
    size_t replaced = gt_letters_between(one + 1, other + 1, most - 1),
           removed = gt_letters_between(one + 1, other, most - 1), added = gt_letters_between(one, other + 1, most - 1);
    size_t least = replaced < removed ? replaced : removed;
    return 1 + (least < added ? least : added);
}
