/* Code blocks: their reports, and files of them put together. */
#include <errno.h>

#include "analyse/blocks/blocks.h"
#include "analyse/blocks/results.h"
#include "analyse/compare/compare.h"
#include "api/own.h"
#include "blocks/block_event.h"
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
