#include "collect/cgroup/slurm.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os/rank.h"
#include "collect/cgroup/control_group.h"

enum { PERIOD_NS = 100000000, DEPTH = 4, LIST_SIZE = 64 * 1024 };

struct gt_slurm {
    const struct gt_root *root;
    char folder[PATH_MAX]; /* job_N */
    char mark[64];
    int64_t searched_ns;
    struct gt_environment environment; /* scratch, as the list */
    char *list;
};

/* ---- where the job's groups are ---- */

/* parent/<a folder like pattern>/rest; 0 or -ENOENT. */
static int find_below(struct gt_slurm *slurm, const char *parent, const char *pattern, const char *rest)
{
    int status = -ENOENT;
    DIR *directory = gt_root_list(slurm->root, parent);
    if (!directory)
        return -ENOENT;
    for (struct dirent *entry; status < 0 && (entry = readdir(directory));) {
        if (fnmatch(pattern, entry->d_name, 0) != 0)
            continue;
        snprintf(slurm->folder, sizeof slurm->folder, "%s/%s/%s", parent, entry->d_name, rest);
        status = gt_root_access(slurm->root, slurm->folder, F_OK) < 0 ? -ENOENT : 0;
    }
    closedir(directory);
    return status;
}

/* The length of the job's part of "PATH/step_N..."; 0 where a group is of no job of Slurm. */
static int job_length(const char *path)
{
    const char *slurm = strstr(path, "slurm"), *step = slurm ? strstr(slurm, "/step_") : NULL;
    return step ? (int)(step - path) : 0;
}

/* Where the tracker is itself in a step of the job, its own group tells the folder, whatever Slurm calls it: since version 26.05 that is no
 * longer job_N. */
static int find_own(struct gt_slurm *slurm)
{
    char text[4096], *rest = text;
    if (gt_root_read(slurm->root, "proc/self/cgroup", text, sizeof text) <= 0)
        return -ENOENT;
    for (char *at; (at = strsep(&rest, "\n"));) {
        struct gt_cgroup_line line;
        int length = gt_cgroup_line_read(&line, at) ? job_length(line.path) : 0;
        bool is_freezer = length && gt_cgroup_lists(line.controllers, "freezer");
        if (!length || (!is_freezer && *line.controllers))
            continue;
        snprintf(slurm->folder, sizeof slurm->folder, "sys/fs/cgroup%s%.*s", is_freezer ? "/freezer" : "", length,
                 line.path);
        if (gt_root_access(slurm->root, slurm->folder, F_OK) == 0)
            return 0;
    }
    return -ENOENT;
}

static int find_folder(struct gt_slurm *slurm, const char *job, uid_t user)
{
    char rest[96];
    if (find_own(slurm) == 0)
        return 0;
    snprintf(rest, sizeof rest, "uid_%u/job_%s", (unsigned)user, job);
    if (find_below(slurm, "sys/fs/cgroup/freezer", "slurm*", rest) == 0)
        return 0;
    snprintf(rest, sizeof rest, "job_%s", job);
    return find_below(slurm, "sys/fs/cgroup/system.slice", "*slurmstepd.scope", rest);
}

int gt_slurm_open(struct gt_slurm **ret, const struct gt_root *root, const char *job, uid_t user, const char *mark,
                  struct gt_error *error)
{
    struct gt_slurm *slurm = calloc(1, sizeof *slurm);
    if (!slurm || !(slurm->list = malloc(LIST_SIZE))) {
        gt_slurm_close(slurm);
        return gt_error_system(error, ENOMEM, "Slurm");
    }
    slurm->root = slurm->environment.root = root;
    snprintf(slurm->mark, sizeof slurm->mark, "%s", mark);
    if (!*mark || strspn(job, "0123456789") != strlen(job) || find_folder(slurm, job, user) < 0) {
        gt_slurm_close(slurm);
        return gt_error_set(error, ENOENT, "Slurm keeps no control groups of job %s on this machine", job);
    }
    *ret = slurm;
    return 0;
}

void gt_slurm_close(struct gt_slurm *slurm)
{
    if (!slurm)
        return;
    free(slurm->environment.text);
    free(slurm->list);
    free(slurm);
}

/* ---- the tasks ---- */

/* Marks are words between blanks. */
static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at++)
        if ((at == text || at[-1] == ' ') && (!at[length] || at[length] == ' '))
            return true;
    return false;
}

static bool has_mark(struct gt_slurm *slurm, pid_t pid)
{
    slurm->environment.pid = pid;
    const char *marks = gt_environment_read(&slurm->environment) > 0
                            ? gt_environment_find(&slurm->environment, GT_RUN_ENVIRONMENT)
                            : NULL;
    return marks && has_word(marks, slurm->mark);
}

static int take_listed(struct gt_slurm *slurm, const struct gt_slurm_taker *taker, const char *folder)
{
    char path[PATH_MAX + 16];
    int taken = 0, status = 0;
    snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    if (gt_root_read(slurm->root, path, slurm->list, LIST_SIZE) <= 0)
        return 0; /* the step has ended */
    for (char *at = slurm->list, *end; status >= 0; at = end) {
        long pid = strtol(at, &end, 10);
        if (end == at)
            break;
        bool is_new = !taker->knows(taker->context, (pid_t)pid) && has_mark(slurm, (pid_t)pid);
        status = is_new ? taker->take(taker->context, (pid_t)pid) : 0;
        taken += status;
    }
    return status < 0 ? status : taken;
}

static int take_below(struct gt_slurm *slurm, const struct gt_slurm_taker *taker, const char *folder, int depth)
{
    int taken = 0, status = 0;
    DIR *directory = gt_root_list(slurm->root, folder);
    if (!directory)
        return 0;
    for (struct dirent *entry; status >= 0 && (entry = readdir(directory));) {
        char path[PATH_MAX];
        bool is_folder = entry->d_type == DT_DIR && entry->d_name[0] != '.';
        if (!is_folder || snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path)
            continue;
        status = take_listed(slurm, taker, path);
        taken += status;
        if (status >= 0 && depth > 1 && (status = take_below(slurm, taker, path, depth - 1)) > 0)
            taken += status;
    }
    closedir(directory);
    return status < 0 ? status : taken;
}

int gt_slurm_tasks(struct gt_slurm *slurm, int64_t now_ns, const struct gt_slurm_taker *taker)
{
    if (slurm->searched_ns && now_ns - slurm->searched_ns < PERIOD_NS)
        return 0;
    slurm->searched_ns = now_ns;
    return take_below(slurm, taker, slurm->folder, DEPTH);
}
