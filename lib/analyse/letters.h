/* How far two words are from each other, for names that were mistyped. */
#ifndef GT_ANALYSE_LETTERS_H
#define GT_ANALYSE_LETTERS_H

#include <stddef.h>

/* Returns how many letters have to be added, removed or replaced; beyond `most`, which is small, some greater number. */
size_t gt_letters_between(const char *one, const char *other, size_t most);

#endif
