#include "base/data_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

/* A linker's name for the program itself may be relative to a folder that is no longer the current one. */
static int own_path(char ret[PATH_MAX])
{
    Dl_info info;
    static const char here;
    if (dladdr(&here, &info) && info.dli_fname && strchr(info.dli_fname, '/') &&
        gt_file_real_path(info.dli_fname, ret) == 0)
        return 0;
    ssize_t length = readlink("/proc/self/exe", ret, PATH_MAX - 1);
    if (length < 0)
        return -errno;
    ret[length] = '\0';
    return 0;
}

int gt_data_file(char *ret, size_t size, const char *name)
{
    char path[PATH_MAX], *slash;
    int status = own_path(path);
    while (status == 0 && (slash = strrchr(path, '/'))) {
        *slash = '\0';
        int length = snprintf(ret, size, "%s/share/gpu-tracker/%s", path, name);
        if (length > 0 && (size_t)length < size && access(ret, R_OK) == 0)
            return 0;
    }
    return status < 0 ? status : -ENOENT;
}
