#include "collect/process/identity.h"

#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/rank.h"
#include "base/utf8.h"

enum { CONTAINER_DIGITS = 64, CONTAINER_SHOWN = 12 };

/* The part of the path before the step, below a part that speaks of Slurm: "job_123", or since version 26.05 the job's "sEKNKTV3WPV500". */
static bool is_slurm(const char *path, char *job, size_t size)
{
    const char *slurm = strstr(path, "slurm"), *at = slurm ? strstr(slurm, "/job_") : NULL;
    size_t digits = at ? strspn(at + 5, "0123456789") : 0;
    if (digits && (!at[5 + digits] || at[5 + digits] == '/')) {
        snprintf(job, size, "%.*s", (int)digits, at + 5);
        return true;
    }
    const char *scope = strstr(path, "slurmstepd.scope/s"), *name = scope ? strchr(scope, '/') + 1 : NULL;
    size_t length = name ? strcspn(name, "/") : 0;
    if (!length || strncmp(name + length, "/step_", 6) != 0)
        return false;
    snprintf(job, size, "%.*s", (int)length, name);
    return true;
}

/* docker-<id>.scope, /docker/<id>, libpod-<id>.scope, cri-containerd-<id>.scope, /kubepods/.../<id> */
static bool is_container(const char *path, char *job, size_t size)
{
    for (const char *at = path; *at; at++) {
        size_t digits = strspn(at, "0123456789abcdef");
        if (digits == CONTAINER_DIGITS) {
            snprintf(job, size, "%.*s", CONTAINER_SHOWN, at);
            return true;
        }
        at += digits ? digits - 1 : 0;
    }
    return false;
}

/* The last part that names a unit with processes. */
static bool is_unit(const char *path, char *job, size_t size)
{
    bool found = false;
    for (const char *at = path; *at == '/';) {
        const char *part = at + 1;
        size_t length = strcspn(part, "/");
        bool service = length > 8 && !strncmp(part + length - 8, ".service", 8);
        bool scope = length > 6 && !strncmp(part + length - 6, ".scope", 6);
        if (service || scope)
            snprintf(job, size, "%.*s", (int)length, part);
        found = found || service || scope;
        at = part + length;
    }
    return found;
}

static const struct {
    enum gt_job_kind kind;
    bool (*is)(const char *path, char *job, size_t size);
} kinds[] = {{GT_JOB_SLURM, is_slurm}, {GT_JOB_CONTAINER, is_container}, {GT_JOB_UNIT, is_unit}};

void gt_identity_job(const char *cgroups, struct gt_identity *ret)
{
    ret->kind = GT_JOB_NONE;
    ret->job[0] = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (const char *line = cgroups; *line; line += strcspn(line, "\n"), line += *line == '\n') {
            char path[1024];
            size_t length = strcspn(line, "\n"), before = strcspn(line, "/");
            if (before >= length || length - before >= sizeof path)
                continue;
            memcpy(path, line + before, length - before);
            path[length - before] = 0;
            if (kinds[i].is(path, ret->job, sizeof ret->job)) {
                ret->kind = kinds[i].kind;
                return;
            }
        }
}

/* Texts may also be cut off within a character. */
static void clean(char *text)
{
    for (char *at = text; *at;) {
        int length = gt_utf8_length(at);
        if (!length)
            *at = '?';
        at += length ? length : 1;
    }
}

/* Users know a job of Slurm by its number, which a path of version 26.05 does not hold: the environment of its processes does. */
static void find_job_number(const struct gt_root *root, pid_t pid, struct gt_identity *ret)
{
    struct gt_environment environment = {.pid = pid, .root = root};
    const char *job = gt_environment_read(&environment) > 0 ? gt_environment_find(&environment, "SLURM_JOB_ID") : NULL;
    if (job && isdigit((unsigned char)*job))
        snprintf(ret->job, sizeof ret->job, "%.*s", (int)strspn(job, "0123456789"), job);
    free(environment.text);
}

int gt_identity_read(const struct gt_root *root, pid_t pid, struct gt_identity *ret)
{
    char text[4096];
    *ret = (struct gt_identity){0};
    ssize_t length = gt_root_read_process(root, pid, "status", text, sizeof text);
    if (length <= 0)
        return length < 0 ? (int)length : -ESRCH;
    const char *name = strstr(text, "Name:\t"), *uid = strstr(text, "\nUid:");
    if (name)
        snprintf(ret->command, sizeof ret->command, "%.*s", (int)strcspn(name + 6, "\n"), name + 6);
    ret->uid = uid ? (uid_t)strtoul(uid + 5, NULL, 10) : (uid_t)-1;
    if (gt_root_read_process(root, pid, "cgroup", text, sizeof text) > 0)
        gt_identity_job(text, ret);
    if (ret->kind == GT_JOB_SLURM && !isdigit((unsigned char)*ret->job))
        find_job_number(root, pid, ret);
    clean(ret->command);
    clean(ret->job);
    return 0;
}

void gt_user_name(const struct gt_root *root, uid_t uid, char *text, size_t size)
{
    char scratch[4096];
    struct passwd entry, *found = NULL;
    snprintf(text, size, "%d", (int)uid);
    if (!root->is_machine)
        gt_root_name_of(root, "etc/passwd", uid, text, size);
    else if (getpwuid_r(uid, &entry, scratch, sizeof scratch, &found) == 0 && found)
        snprintf(text, size, "%s", entry.pw_name);
    clean(text);
}
