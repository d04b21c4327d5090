#include "base/os/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/file.h"

static int bind_symbols(struct gt_library *library, const struct gt_symbol *symbols, size_t count, void *functions,
                        struct gt_error *error)
{
    for (size_t i = 0; i < count; i++) {
        void *address = dlsym(library->handle, symbols[i].name);
        if (!address && symbols[i].required)
            return gt_error_set(error, ELIBBAD, "%s lacks the function %s", library->path, symbols[i].name);
        memcpy((char *)functions + symbols[i].offset, &address, sizeof address);
    }
    return 0;
}

/* The loader says why, after the name. Without a slash it looks for a library of that name where libraries are. */
static int cannot_load(const char *path, const char *const names[], struct gt_error *error)
{
    const char *reason = path ? dlerror() : NULL;
    if (!path)
        return gt_error_set(error, ENOENT, "%s: cannot be loaded", names[0]);
    if (!strchr(path, '/') && access(path, F_OK) == 0)
        return gt_error_set(error, ENOENT,
                            "%s: cannot be loaded: no library of that name is installed; a path has a slash: ./%s",
                            path, path);
    size_t length = strlen(path);
    if (reason && !strncmp(reason, path, length) && !strncmp(reason + length, ": ", 2))
        reason += length + 2;
    return gt_error_set(error, ENOENT, "%s: cannot be loaded%s%s", path, reason ? ": " : "", reason ? reason : "");
}

int gt_library_open(struct gt_library *library, const char *path, const char *const names[],
                    const struct gt_symbol *symbols, size_t count, void *functions, struct gt_error *error)
{
    if (path && getauxval(AT_SECURE)) /* its constructors would run with our privileges, or beside what they opened */
        return gt_error_set(error, EPERM, "%s: a program with privileges of its own loads no library by path", path);
    /* The loader would wait for the writer of a pipe, or for a file of the kernel's: a regular one without a size. */
    struct stat facts;
    bool is_file = path && strchr(path, '/');
    int status = is_file ? gt_given_file_check(path, error) : 0;
    if (status < 0)
        return status;
    if (is_file && stat(path, &facts) == 0 && facts.st_size == 0)
        return gt_error_set(error, EINVAL,
                            "%s: cannot be loaded: it has no content, as files of the kernel's have none", path);
    const char *only[] = {path, NULL};
    const char *opened = NULL;
    library->handle = NULL;
    for (const char *const *name = path ? only : names; *name && !library->handle; name++) {
        library->handle = dlopen(*name, RTLD_LAZY | RTLD_LOCAL);
        opened = *name;
    }
    if (!library->handle) { /* the loader takes a descriptor, and does not report that there was none */
        struct gt_reserve reserve;
        bool has_descriptor = gt_reserve_take(&reserve, 1);
        gt_reserve_release(&reserve, 0);
        return has_descriptor ? cannot_load(path, names, error)
                              : gt_error_set(error, EMFILE, "%s: cannot be loaded: descriptors are short (ulimit -n)",
                                             path ? path : names[0]);
    }
    snprintf(library->path, sizeof library->path, "%s", opened);
    status = bind_symbols(library, symbols, count, functions, error);
    if (status < 0)
        gt_library_close(library);
    return status;
}

void gt_library_close(struct gt_library *library)
{
    if (library && library->handle) {
        dlclose(library->handle);
        library->handle = NULL;
    }
}
