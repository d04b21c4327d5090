#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/blocks.h"
#include "store/border.h"

int gt_blocks_analyze(const struct gt_blocks_options *options, struct gt_report **ret, struct gt_error *error)
{
    return gt_blocks_report(ret, options, false, error);
}

int gt_blocks_combine(const char *path, const char *const *files, int skip_bad_rows, int overwrite,
                      struct gt_error *error)
{
    struct gt_border_list list = {.skip_bad = skip_bad_rows};
    int status = gt_border_list_check(path, overwrite, error);
    for (; status == 0 && *files; files++)
        status = gt_border_list_add(&list, *files, error);
    if (status == 0)
        status = gt_border_list_save(&list, path, overwrite, error);
    gt_border_list_release(&list);
    return status;
}

int gt_blocks_prepare(char *folder, size_t size, const char *tracking_file, struct gt_error *error)
{
    char path[PATH_MAX], *real = NULL;
    int status = gt_border_folder(path, sizeof path, tracking_file);
    if (status == 0 && mkdir(path, 0777) < 0 && errno != EEXIST)
        status = -errno;
    if (status == 0)
        real = realpath(path, NULL); /* the processes may change their folder */
    if (status == 0 && !real)
        status = -errno;
    if (status == 0 && snprintf(folder, size, "%s", real) >= (int)size)
        status = -ENAMETOOLONG;
    free(real);
    return status < 0 ? gt_error_system(error, -status, "%s", path) : 0;
}

static void remove_folder(const char *folder)
{
    DIR *directory = opendir(folder);
    struct dirent *entry;
    while (directory && (entry = readdir(directory)))
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
    rmdir(folder);
}

int gt_blocks_collect(const char *tracking_file, void (*warn)(void *context, const char *sentence), void *context,
                      struct gt_error *error)
{
    char folder[PATH_MAX];
    struct gt_border_list list = {.skip_bad = true};
    if (gt_border_folder(folder, sizeof folder, tracking_file) < 0)
        return gt_error_system(error, ENAMETOOLONG, "%s", tracking_file);
    if (rmdir(folder) == 0)
        return 0; /* no process marked a block */
    int status = gt_border_list_add(&list, folder, error);
    for (char *line = list.complaints.data, *end; warn && line && *line; line = end + 1) {
        end = strchr(line, '\n');
        *end = '\0';
        warn(context, line);
    }
    if (status == 0)
        status = gt_border_list_attach(&list, tracking_file, error);
    int count = list.count < INT_MAX ? (int)list.count : INT_MAX;
    gt_border_list_release(&list);
    if (status == 0)
        remove_folder(folder);
    return status < 0 ? status : count;
}
