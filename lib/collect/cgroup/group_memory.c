#include "collect/cgroup/group_memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static int open_file(const struct gt_group_memory *memory, const char *second, const char *first)
{
    char path[sizeof memory->group.path + 64];
    if (!memory->group.version)
        return -1;
    snprintf(path, sizeof path, "%s/%s", memory->group.path, memory->group.version == 2 ? second : first);
    return gt_root_open_file(memory->root, path);
}

void gt_group_memory_open(struct gt_group_memory *memory, const struct gt_root *root, pid_t pid, const char *own_path)
{
    struct gt_control_group group[GT_CONTROLLERS];
    gt_control_groups_find(root, pid, group);
    *memory = (struct gt_group_memory){.root = root, .group = group[GT_CONTROLLER_MEMORY], .is_open = true};
    memory->is_own = memory->group.version && *own_path && !strcmp(own_path, memory->group.path);
    memory->stat = open_file(memory, "memory.stat", "memory.stat");
    memory->usage = memory->is_own ? open_file(memory, "memory.current", "memory.usage_in_bytes") : -1;
    memory->peak = memory->is_own ? open_file(memory, "memory.peak", "memory.max_usage_in_bytes") : -1;
}

void gt_group_memory_close(struct gt_group_memory *memory)
{
    const int fd[] = {memory->stat, memory->usage, memory->peak};
    for (size_t i = 0; memory->is_open && i < sizeof fd / sizeof *fd; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    *memory = (struct gt_group_memory){0};
}

static double read_number(int fd)
{
    char text[64];
    return fd >= 0 && gt_root_reread_piece(fd, text, sizeof text) > 0 ? (double)strtoull(text, NULL, 10) : NAN;
}

/* Version 1 has one sum for the group and another, "total_", that includes the groups below it. */
struct gt_group_reading gt_group_memory_read(const struct gt_group_memory *memory)
{
    struct gt_group_reading ret = {NAN, NAN, NAN, NAN, NAN};
    char text[8192];
    bool is_second = memory->group.version == 2;
    if (!memory->is_open)
        return ret;
    ret.usage = read_number(memory->usage);
    if (memory->stat < 0 || gt_root_reread_piece(memory->stat, text, sizeof text) <= 0)
        return ret;
    ret.anonymous = number_after(text, is_second ? "anon" : "total_rss");
    ret.mapped = number_after(text, is_second ? "file_mapped" : "total_mapped_file");
    ret.shmem = number_after(text, is_second ? "shmem" : "total_shmem");
    ret.peak = read_number(memory->peak);
    return ret;
}
