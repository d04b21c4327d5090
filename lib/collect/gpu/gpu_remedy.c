/* GPUs whose device files this user may not open. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/remedy.h"

/* The name of a group by the machine's own file, or its number. */
static void name_group(const struct gt_root *root, gid_t gid, char *ret, size_t size)
{
    char text[65536];
    snprintf(ret, size, "%u", (unsigned)gid);
    if (gt_root_read(root, "etc/group", text, sizeof text) <= 0)
        return;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *password = strchr(line, ':'), *number = password ? strchr(password + 1, ':') : NULL;
        if (number && strtoul(number + 1, NULL, 10) == gid && (size_t)(password - line) < size) {
            snprintf(ret, size, "%.*s", (int)(password - line), line);
            return;
        }
    }
}

static bool are_devices_denied(struct gt_access *access)
{
    static const char *const devices[] = {"dev/nvidiactl", "dev/nvidia0", "dev/kfd", "dev/dri/renderD128",
                                          "dev/dri/renderD129"};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        gid_t gid;
        if (!gt_access_is_denied(access, devices[i], R_OK | W_OK) || gt_root_group(access->root, devices[i], &gid) < 0)
            continue;
        name_group(access->root, gid, access->group, sizeof access->group);
        return true;
    }
    return false;
}

const struct gt_remedy gt_gpu_remedies[] = {
    {are_devices_denied, "GPUs whose device files this user may not open", "sudo usermod -aG %s \"$USER\"",
     "the GPUs, to every program of this user, for computing as well as for reading",
     "the user can take GPU time and memory from others", GT_NO_CAPABILITY},
    {0},
};
