#include "store/csv.h"

#include <stdio.h>

bool gt_csv_final_at(size_t index, struct gt_csv_final *ret)
{
    for (int metric = 0; metric < GT_METRIC_COUNT; metric++)
        for (int scope = 0; scope < GT_FIXED_ROWS; scope++) {
            if (!gt_metric_has(metric, scope) || gt_metrics[metric].kind == GT_GAUGE || index--)
                continue;
            ret->scope = scope;
            ret->metric = metric;
            snprintf(ret->name, sizeof ret->name, GT_CSV_FINAL "%s_%s", gt_scope_name(scope), gt_metrics[metric].name);
            return true;
        }
    return false;
}

const struct gt_store_type gt_store_csv = {
    .suffix = ".csv",
    .help = "Text, one line a sample; GPUs and processes in files beside it",
    .has_detail_files = true,
    .create = gt_csv_create,
    .write = gt_csv_write,
    .flush = gt_csv_flush,
    .is_in_place = gt_csv_is_in_place,
    .restore = gt_csv_restore,
    .finish = gt_csv_finish,
    .open = gt_csv_read_open,
    .has = gt_csv_read_has,
    .begin = gt_csv_read_begin,
    .next = gt_csv_read_next,
    .unfinished = gt_csv_read_unfinished,
    .close = gt_csv_read_close,
};
