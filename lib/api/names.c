#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/root.h"
#include "gpu_tracker.h"
#include "schema/unit.h"

static const char *name_at(const char *const names[], size_t index)
{
    for (size_t i = 0; names[i]; i++)
        if (i == index)
            return names[i];
    return NULL;
}

const char *gt_memory_unit(size_t index)
{
    return name_at(gt_memory_units, index);
}

const char *gt_time_unit(size_t index)
{
    return name_at(gt_time_units, index);
}

int gt_process_name(pid_t pid, char *ret, size_t size)
{
    char path[40];
    struct gt_root root;
    snprintf(path, sizeof path, "proc/%d/comm", (int)pid);
    int status = gt_root_open(&root, NULL, NULL);
    if (status < 0)
        return status;
    ssize_t length = gt_root_read(&root, path, ret, size);
    gt_root_close(&root);
    if (length < 0)
        return (int)length;
    if (length && ret[length - 1] == '\n') /* the name may hold others */
        ret[length - 1] = '\0';
    return length ? 0 : -ESRCH;
}
