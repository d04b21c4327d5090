/* Shared libraries are opened at run time, and a table of symbols says which functions are wanted of them. */
#ifndef GT_BASE_OS_LIBRARY_H
#define GT_BASE_OS_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct gt_symbol {
    const char *name;
    size_t offset; /* where the address goes, in the caller's struct of function pointers */
    bool required;
};

/* clang-format off */
#define GT_SYMBOL(type, member, symbol, is_required) {symbol, offsetof(struct type, member), is_required}
/* clang-format on */

struct gt_library {
    void *handle;
    char path[512];
};

/* Try `names`, which ends in NULL, in turn. A `path` that is not NULL is the only one tried. Returns 0, -ENOENT when none is
 * installed, or -ELIBBAD when a required symbol is missing. */
int gt_library_open(struct gt_library *library, const char *path, const char *const names[],
                    const struct gt_symbol *symbols, size_t count, void *functions, struct gt_error *error);
void gt_library_close(struct gt_library *library);

#endif
