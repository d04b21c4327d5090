#include "store/type.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/os/rank.h"
#include "store/address.h"
#include "store/store.h"

#define STORE(name) extern const struct gt_store_type gt_store_##name;
#include "store/store.def"

static const struct gt_store_type *const types[] = {
#define STORE(name) &gt_store_##name,
#include "store/store.def"
};

enum { TYPE_COUNT = sizeof types / sizeof *types };

/* ".csv" of "folder/a.csv"; NULL when the name has none. */
static const char *suffix_of(const char *path)
{
    return strrchr(gt_file_name(path), '.');
}

static bool is_folder(const char *path)
{
    return *path && path[strlen(path) - 1] == '/';
}

const struct gt_store_type *gt_store_type_of(const char *path, struct gt_error *error)
{
    const char *suffix = suffix_of(path);
    char choices[200] = "";
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        if (suffix && !strcmp(suffix, types[i]->suffix))
            return types[i];
        size_t used = strlen(choices);
        snprintf(choices + used, sizeof choices - used, "%s%s", i ? " or " : "", types[i]->suffix);
    }
    if (gt_refuse_address(path, error) >= 0)
        gt_error_set(error, EINVAL, "%s: a tracking file ends in %s", path, choices);
    return NULL;
}

int gt_store_path_beside(char *ret, size_t size, const char *path, const char *suffix)
{
    const char *own = suffix_of(path);
    size_t stem = own ? (size_t)(own - path) : strlen(path);
    int length = snprintf(ret, size, "%.*s%s%s", (int)stem, path, suffix, own ? own : "");
    return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

/* A value from the environment is one part of a name: it makes no folders. NULL is refused, with the reason. */
static int add_value(struct gt_buffer *out, const char *value, const char *pattern, const char *reason,
                     struct gt_error *error)
{
    if (!value)
        return gt_error_set(error, EINVAL, "%s: %s", pattern, reason);
    for (; *value; value++)
        gt_buffer_char(out, *value == '/' ? '_' : *value);
    return 0;
}

static int add_job(struct gt_buffer *out, const char *pattern, struct gt_error *error)
{
    struct gt_buffer job = {0};
    int status = gt_rank_job(&job);
    if (status >= 0)
        status = add_value(out, status ? job.data : NULL, pattern,
                           "%j needs a job id, and neither GPU_TRACKER_JOB nor a scheduler's or launcher's variable is "
                           "set",
                           error);
    gt_buffer_release(&job);
    return status;
}

static int expand_one(struct gt_buffer *out, const char *pattern, char letter, pid_t pid, struct gt_error *error)
{
    char host[HOST_NAME_MAX + 1] = "";
    switch (letter) {
    case '%': return gt_buffer_char(out, '%');
    case 'p': return gt_buffer_printf(out, "%d", (int)pid);
    case 'h': gethostname(host, sizeof host - 1); return gt_buffer_text(out, host);
    case 'j': return add_job(out, pattern, error);
    case 'r':
        return add_value(out, gt_rank(), pattern, "%r needs a rank: start it by srun or mpirun, or leave %r out",
                         error);
    case 's':
        return add_value(out, gt_rank_step(), pattern, "%s needs a step of Slurm: start it by srun, or leave %s out",
                         error);
    case '\0': return gt_error_set(error, EINVAL, "%s: a single %% at the end; write %%%%", pattern);
    default:
        return gt_error_set(
            error, EINVAL, "%s: %%%c is not a placeholder; use %%p pid, %%h host, %%j job, %%s step, %%r rank and %%%%",
            pattern, letter);
    }
}

/* Fill in placeholders, and add a suffix. */
static int fill(char *ret, size_t size, const char *pattern, const char *suffix, pid_t pid, struct gt_error *error)
{
    struct gt_buffer text = {0};
    int status = 0;
    for (const char *p = pattern; status >= 0 && *p; p++)
        status = *p == '%' ? expand_one(&text, pattern, *++p, pid, error) : gt_buffer_char(&text, *p);
    if (status >= 0)
        status = gt_buffer_text(&text, suffix);
    if (status >= 0 && text.length >= size)
        status = gt_error_system(error, ENAMETOOLONG, "%s", pattern);
    if (status >= 0)
        snprintf(ret, size, "%s", text.data ? text.data : "");
    gt_buffer_release(&text);
    return status < 0 ? status : 0;
}

int gt_store_fill(char *ret, size_t size, const char *pattern, pid_t pid, struct gt_error *error)
{
    return fill(ret, size, pattern, "", pid, error);
}

int gt_store_path(char *ret, size_t size, const char *pattern, pid_t pid, struct gt_error *error)
{
    if (gt_is_address(pattern))
        return gt_error_set(error, EINVAL,
                            "%s: only gpu-tracker run and attach record for a server; record into a file, and push it",
                            pattern);
    if (!*gt_file_name(pattern))
        return gt_error_set(error, EINVAL, "\"%s\" is not the name of a file", pattern);
    if (!strcmp(pattern, "-"))
        return gt_error_set(error, EINVAL, "a tracking file cannot be standard output; ./- is a file of that name");
    const char *suffix = suffix_of(pattern);
    bool has_suffix = suffix && !strchr(suffix, '%'); /* "run.%p" has none of ours to be wrong about */
    if (has_suffix && !gt_store_type_of(pattern, error))
        return -EINVAL;
    return fill(ret, size, pattern, has_suffix ? "" : types[0]->suffix, pid, error);
}

/* In a folder with the sticky bit, as /tmp, only the owner of a file replaces it. */
static bool may_replace(const char *path, const struct stat *status)
{
    char copy[PATH_MAX];
    struct stat around;
    uid_t user = geteuid();
    snprintf(copy, sizeof copy, "%s", path);
    return stat(dirname(copy), &around) < 0 || !(around.st_mode & S_ISVTX) || user == 0 || user == status->st_uid ||
           user == around.st_uid;
}

static int check_file(const char *path, bool overwrite, struct gt_error *error)
{
    struct stat status;
    if (lstat(path, &status) < 0)
        return errno == ENOENT ? 0 : gt_error_system(error, errno, "%s", path);
    if (S_ISDIR(status.st_mode))
        return gt_error_system(error, EISDIR, "%s", path);
    if (!overwrite)
        return gt_error_exists(error, path);
    if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
        return gt_error_set(error, EINVAL, "%s is not a regular file", path);
    if (!may_replace(path, &status))
        return gt_error_system(error, EPERM, "%s belongs to another user", path);
    return 0;
}

/* Permissions do not tell all: make a file there that has no name, or one that is removed at once. 0 or the errno. */
static int try_folder(const char *folder)
{
    char name[PATH_MAX];
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOENT)) {
        if (snprintf(name, sizeof name, "%s/.gpu-tracker-XXXXXX", folder) >= (int)sizeof name)
            return ENAMETOOLONG;
        fd = mkostemp(name, O_CLOEXEC);
        if (fd >= 0)
            unlink(name);
    }
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

/* The folder, or the nearest around it that is there: up to `missing` are made when recording begins. */
static int check_folder(const char *path, int missing, struct gt_error *error)
{
    char copy[PATH_MAX];
    struct stat status;
    if (snprintf(copy, sizeof copy, "%s", path) >= (int)sizeof copy)
        return gt_error_system(error, ENAMETOOLONG, "%s", path);
    char *folder = is_folder(path) ? copy : dirname(copy);
    while (stat(folder, &status) < 0) {
        if (errno != ENOENT || !missing--)
            return gt_error_system(error, errno, "%s: folder %s", path, folder);
        folder = dirname(folder);
    }
    if (!S_ISDIR(status.st_mode))
        return gt_error_system(error, ENOTDIR, "%s: %s", path, folder);
    int code = -gt_access(AT_FDCWD, folder, W_OK | X_OK);
    if (code)
        return gt_error_system(error, code, "%s: folder %s", path, folder);
    code = try_folder(folder);
    return code ? gt_error_system(error, code, "%s: no file can be made in folder %s", path, folder) : 0;
}

int gt_store_make_folder(const char *path, struct gt_error *error)
{
    char copy[PATH_MAX];
    if (snprintf(copy, sizeof copy, "%s", path) >= (int)sizeof copy)
        return gt_error_system(error, ENAMETOOLONG, "%s", path);
    const char *folder = dirname(copy);
    bool is_there = mkdir(folder, 0777) == 0 || errno == EEXIST || access(folder, F_OK) == 0;
    return is_there ? 0 : gt_error_system(error, errno, "%s: folder %s", path, folder);
}

int gt_store_make_folders(const char *path, mode_t mode, struct gt_error *error)
{
    char folder[PATH_MAX];
    if (snprintf(folder, sizeof folder, "%s", path) >= (int)sizeof folder)
        return gt_error_system(error, ENAMETOOLONG, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, mode) < 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
            return gt_error_system(error, errno, "%s", folder);
        *slash = '/';
    }
    return 0;
}

int gt_store_place(struct gt_new_file *file, const char *path, bool replace, struct gt_error *error)
{
    int status = gt_new_file_place(file, replace);
    if (status == -EEXIST)
        return gt_error_set(error, EEXIST, "%s: another run has made it meanwhile, and it is left alone", path);
    return status < 0 ? gt_error_system(error, -status, "%s", path) : 0;
}

const char *gt_store_part(size_t index)
{
    static const char *const others[] = {GT_PROCESS_RECORD_SUFFIX, GT_BLOCKS_SUFFIX};
    if (index < GT_DETAIL_COUNT)
        return gt_details[index].suffix;
    index -= GT_DETAIL_COUNT;
    return index < sizeof others / sizeof *others ? others[index] : NULL;
}

int gt_store_check(const struct gt_store_options *options, struct gt_error *error)
{
    if (is_folder(options->path)) /* of an experiment */
        return check_folder(options->path, INT_MAX, error);
    const struct gt_store_type *type = gt_store_type_of(options->path, error);
    if (!type)
        return -EINVAL;
    int status = check_folder(options->path, 1, error);
    if (!status)
        status = check_file(options->path, options->overwrite, error);
    if (!status && type->check)
        status = type->check(options->path, options->overwrite, error);
    for (size_t i = 0; !status && options->detail && !type->is_database && i <= GT_DETAIL_COUNT; i++) {
        char beside[PATH_MAX];
        if (gt_store_path_beside(beside, sizeof beside, options->path, gt_store_part(i)) < 0)
            return gt_error_system(error, ENAMETOOLONG, "%s", options->path);
        status = check_file(beside, options->overwrite, error);
    }
    return status;
}
