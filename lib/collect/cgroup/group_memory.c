#include "collect/cgroup/group_memory.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/root.h"
#include "collect/process/pid_namespace.h"
#include "collect/process/process.h"

/* Each of the others costs a file; with more of them they have too much for the rest to tell anything. */
enum { MOST_OTHERS = 16 };
static const int64_t RETRY_NS = 10 * GT_SECOND;

static const struct gt_group_anonymous unknown = {NAN, NAN};

/* The kernel adds up what each CPU has counted when it is more than MEMCG_CHARGE_BATCH pages of each, and each may hold back as many
 * (mm/memcontrol.c). */
static double lateness(void)
{
    enum { BATCH = 64 };
    return 2.0 * BATCH * (double)sysconf(_SC_NPROCESSORS_ONLN) * (double)sysconf(_SC_PAGESIZE);
}

/* The number behind `key` at the begin of a line, or NaN. */
static double number_after(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n'), line += line ? 1 : 0)
        if (!strncmp(line, key, length) && line[length] == ' ')
            return (double)strtoull(line + length + 1, NULL, 10);
    return NAN;
}

static double read_anonymous(const struct gt_group_memory *memory)
{
    char text[4096];
    return gt_root_reread_piece(memory->stat, text, sizeof text) > 0
               ? number_after(text, memory->group.version == 2 ? "anon" : "rss")
               : NAN;
}

/* Version 2 counts the groups below with it, whose processes are not listed. */
static bool has_groups_below(const struct gt_group_memory *memory)
{
    char text[256];
    if (memory->group.version != 2)
        return false;
    return gt_control_group_read(memory->root, &memory->group, "cgroup.stat", text, sizeof text) <= 0 ||
           number_after(text, "nr_descendants") != 0;
}

/* Of a process that shows none: a zombie has given its memory back, one that exits may not have yet, and one whose first thread has ended
 * before others has it still. */
static double anonymous_of_empty(const struct gt_root *root, pid_t pid)
{
    struct gt_process_stat stat;
    return gt_process_stat_of(root, pid, &stat) < 0 || gt_process_stat_is_zombie(&stat) ? 0 : NAN;
}

/* Another user's, where /proc is mounted with hidepid. */
static bool is_hidden(const struct gt_root *root, pid_t pid)
{
    return root->is_machine && (kill(pid, 0) == 0 || errno == EPERM);
}

static double anonymous_of(const struct gt_root *root, pid_t pid)
{
    char text[128];
    unsigned long long resident, shared;
    if (gt_root_read_process(root, pid, "statm", text, sizeof text) <= 0 ||
        sscanf(text, "%*u %llu %llu", &resident, &shared) != 2)
        return is_hidden(root, pid) ? NAN : 0; /* or it has gone, and its memory with it */
    if (!resident)
        return anonymous_of_empty(root, pid);
    return (double)(resident - shared) * (double)sysconf(_SC_PAGESIZE);
}

/* What those of its processes have that are not the job's; NaN where they cannot be told, and are not asked again for a while when they are
 * too many. */
static double sum_others(struct gt_group_memory *memory, gt_group_member *is_member, const void *job, int64_t now_ns)
{
    char path[sizeof memory->group.path + 16], line[256], *rest;
    size_t others = 0;
    double sum = 0;
    snprintf(path, sizeof path, "%s/cgroup.procs", memory->group.path);
    int fd = gt_root_open_file(memory->root, path);
    FILE *list = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!list) {
        if (fd >= 0)
            close(fd);
        return NAN;
    }
    while (fgets(line, sizeof line, list) && !isnan(sum)) {
        pid_t pid = (pid_t)strtol(line, &rest, 10);
        if (is_member && is_member(job, pid))
            continue;
        if (pid <= 0 || ++others > MOST_OTHERS) { /* one of another PID namespace has no number here */
            memory->not_before_ns = now_ns + RETRY_NS;
            sum = NAN;
        } else {
            sum += anonymous_of(memory->root, pid);
        }
    }
    fclose(list);
    return sum;
}

void gt_group_memory_open(struct gt_group_memory *memory, const struct gt_root *root, pid_t pid, const char *own_path)
{
    struct gt_control_group group[GT_CONTROLLERS];
    char path[sizeof group->path + 16];
    gt_control_groups_find(root, pid, group);
    *memory = (struct gt_group_memory){
        .root = root, .group = group[GT_CONTROLLER_MEMORY], .is_open = true, .stat = -1, .late = lateness()};
    if (!memory->group.version)
        return;
    snprintf(path, sizeof path, "%s/memory.stat", memory->group.path);
    memory->is_own = *own_path && !strcmp(own_path, memory->group.path);
    /* Version 1 does not list processes that have no number here. */
    if (!memory->is_own && memory->group.version == 1 && root->is_machine && !gt_pid_namespace_is_initial(root))
        return;
    memory->stat = gt_root_open_file(root, path);
    if (memory->stat < 0 || memory->is_own)
        return;
    double all = sum_others(memory, NULL, NULL, 0);
    memory->not_before_ns = 0; /* of the job alone there may be many */
    memory->stray = isnan(all) ? 0 : fmax(0, read_anonymous(memory) - all);
}

struct gt_group_anonymous gt_group_memory_read(struct gt_group_memory *memory, gt_group_member *is_member,
                                               const void *job, int64_t now_ns)
{
    if (memory->stat < 0 || now_ns < memory->not_before_ns)
        return unknown;
    double others = 0;
    if (!memory->is_own && has_groups_below(memory)) {
        memory->not_before_ns = now_ns + RETRY_NS;
        return unknown;
    }
    if (!memory->is_own)
        others = sum_others(memory, is_member, job, now_ns);
    if (isnan(others))
        return unknown;
    double anonymous = read_anonymous(memory);
    return (struct gt_group_anonymous){
        .least = anonymous - others - memory->stray - memory->late,
        .most = memory->is_own ? anonymous + memory->late : INFINITY,
    };
}

void gt_group_memory_close(struct gt_group_memory *memory)
{
    if (memory->is_open && memory->stat >= 0)
        close(memory->stat);
    *memory = (struct gt_group_memory){0};
}
