#include "collect/remedy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int gt_access_read(struct gt_rights *access, const struct gt_root *root, struct gt_error *error)
{
    char text[4096];
    *access = (struct gt_rights){.root = root};
    ssize_t length = gt_root_read(root, "proc/self/status", text, sizeof text);
    const char *line = length > 0 ? strstr(text, "\nCapEff:") : NULL;
    if (!line)
        return gt_error_set(error, length < 0 ? (int)-length : EIO, "/proc/self/status does not tell capabilities");
    access->capabilities = strtoull(line + strlen("\nCapEff:"), NULL, 16);
    return 0;
}

bool gt_access_has(const struct gt_rights *access, enum gt_capability capability)
{
    return access->capabilities >> capability & 1;
}

bool gt_access_is_denied(const struct gt_rights *access, const char *path, int mode)
{
    int status = gt_root_access(access->root, path, mode);
    return status == -EACCES || status == -EPERM;
}

bool gt_access_exists(const struct gt_rights *access, const char *path)
{
    return gt_root_access(access->root, path, F_OK) == 0;
}
