#include "collect/cgroup/group_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/root.h"

/* The number after `key` at the beginning of a line, or NaN. */
static double number_after(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n'), line += line ? 1 : 0)
        if (!strncmp(line, key, length) && line[length] == ' ')
            return (double)strtoull(line + length + 1, NULL, 10);
    return NAN;
}

void gt_group_memory_open(struct gt_group_memory *memory, const struct gt_root *root, pid_t pid, const char *own_path)
{
    struct gt_control_group group[GT_CONTROLLERS];
    gt_control_groups_find(root, pid, group);
    *memory = (struct gt_group_memory){.root = root, .group = group[GT_CONTROLLER_MEMORY], .is_open = true};
    memory->is_own = memory->group.version && *own_path && !strcmp(own_path, memory->group.path);
}

static double read_number(const struct gt_group_memory *memory, const char *name)
{
    char text[64];
    bool is_read = gt_control_group_read(memory->root, &memory->group, name, text, sizeof text) > 0;
    return is_read ? (double)strtoull(text, NULL, 10) : NAN;
}

/* Version 1 has one sum for the group and another, "total_", that includes the groups below it. No descriptors are kept: where these are
 * short they are for the processes. */
struct gt_group_reading gt_group_memory_read(const struct gt_group_memory *memory)
{
    struct gt_group_reading ret = {NAN, NAN, NAN, NAN, NAN};
    char text[8192];
    bool is_second = memory->group.version == 2;
    if (!memory->is_open || !memory->group.version)
        return ret;
    ret.usage = read_number(memory, is_second ? "memory.current" : "memory.usage_in_bytes");
    if (gt_control_group_read(memory->root, &memory->group, "memory.stat", text, sizeof text) <= 0)
        return ret;
    ret.anonymous = number_after(text, is_second ? "anon" : "total_rss");
    ret.mapped = number_after(text, is_second ? "file_mapped" : "total_mapped_file");
    ret.shmem = number_after(text, is_second ? "shmem" : "total_shmem");
    ret.peak = read_number(memory, is_second ? "memory.peak" : "memory.max_usage_in_bytes");
    return ret;
}
