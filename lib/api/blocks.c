#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/blocks/blocks.h"
#include "analyse/compare/compare.h"
#include "analyse/blocks/results.h"
#include "api/own.h"
#include "blocks/block_event.h"
#include "blocks/block_event_folder.h"
#include "store/store.h"
#include "api/blocks.h"

int gt_blocks_analyze(const struct gt_blocks_options *options, struct gt_report **ret, struct gt_error *error)
{
    GT_OWN(struct gt_blocks_options, own, options);
    return gt_blocks_report(ret, &own, own.blocks_optional, error);
}

int gt_blocks_compare(const struct gt_compare_options *options, struct gt_report **ret, struct gt_error *error)
{
    GT_OWN(struct gt_compare_options, own, options);
    return gt_compare_report(ret, &own, error);
}

int gt_blocks_results(const char *type, const char *json, struct gt_report **ret, struct gt_error *error)
{
    return gt_results_report(ret, type, json, error);
}

int gt_blocks_results_read(const char *path, char **ret, struct gt_error *error)
{
    return gt_results_json(ret, path, error);
}

int gt_blocks_combine(const char *path, const char *const *files, int skip_bad_rows, int overwrite,
                      struct gt_error *error)
{
    struct gt_block_event_list list = {.skip_bad = skip_bad_rows};
    int status = gt_block_event_list_check(path, overwrite, error);
    for (; status == 0 && *files; files++)
        status = gt_block_event_list_add(&list, *files, error);
    if (status == 0)
        status = gt_block_event_list_save(&list, path, overwrite, error);
    gt_block_event_list_release(&list);
    return status;
}

int gt_blocks_prepare(char *folder, size_t size, const char *tracking_file, int overwrite, struct gt_error *error)
{
    char file[PATH_MAX], path[PATH_MAX];
    int status = gt_store_path(file, sizeof file, tracking_file, getpid(), error);
    if (status >= 0 && gt_block_event_folder(path, sizeof path, file) < 0)
        status = gt_error_system(error, ENAMETOOLONG, "%s", file);
    if (status >= 0)
        status = gt_block_event_check(file, overwrite, error);
    if (status >= 0)
        status = gt_block_event_folder_make(path, overwrite, error);
    if (status < 0)
        return status;
    char *real = realpath(path, NULL); /* the processes may change their folder */
    if (!real || snprintf(folder, size, "%s", real) >= (int)size)
        status = gt_error_system(error, real ? ENAMETOOLONG : errno, "%s", path);
    free(real);
    return status < 0 ? status : 0;
}

static void pass_on(struct gt_buffer *lines, void (*warn)(void *context, const char *sentence), void *context)
{
    char *end;
    for (char *line = lines->data; warn && line && *line; line = end + 1) {
        end = strchr(line, '\n');
        *end = '\0';
        warn(context, line);
    }
}

int gt_blocks_collect(const char *folder, const char *tracking_file, pid_t pid,
                      void (*warn)(void *context, const char *sentence), void *context, struct gt_error *error)
{
    char file[PATH_MAX];
    struct gt_block_event_list list = {.skip_bad = true};
    int status = gt_block_event_folder_check(folder, error);
    if (status < 0)
        return status;
    if (gt_block_event_folder_drop_unused(folder) > 0)
        return 0; /* no process marked a block */
    status = gt_store_path(file, sizeof file, tracking_file, pid, error);
    if (status >= 0)
        status = gt_block_event_list_add(&list, folder, error);
    pass_on(&list.complaints, warn, context);
    if (status >= 0)
        status = gt_block_event_list_attach(&list, file, error);
    int count = list.count < INT_MAX ? (int)list.count : INT_MAX;
    gt_block_event_list_release(&list);
    if (status < 0)
        return status;
    gt_block_event_folder_drop(folder);
    return count;
}

void gt_blocks_cancel(const char *folder)
{
    gt_block_event_folder_drop_unused(folder);
}
