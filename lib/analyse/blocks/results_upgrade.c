/* Results of earlier versions as those of this one. */
#include <errno.h>
#include <math.h>

#include "analyse/blocks/results.h"
#include "schema/unit.h"
#include "store/store.h"

static bool is_in_bytes(const struct gt_columns *columns, const char *name)
{
    int index = gt_store_column_find(columns, name);
    return index >= 0 && gt_metrics[columns->column[index].metric].unit == GT_BYTES;
}

static int peaks_in_bytes(struct gt_json_value *tree)
{
    const char *unit = gt_json_text_of(gt_json_member(gt_json_member(tree, "static_data"), "ram_unit"));
    struct gt_columns columns;
    const char *name;
    double bytes;
    struct gt_json_value *peak, *peaks = gt_json_member(tree, "peaks");
    int status = 0;
    if (!unit || gt_unit_memory(unit, &bytes, NULL) < 0)
        return 0;
    gt_store_columns(&columns, NULL);
    gt_json_foreach_member (peaks, name, peak) {
        if (gt_json_is_number(peak) && is_in_bytes(&columns, name))
            status |= gt_json_set(peaks, name, gt_json_new_number(nearbyint(gt_json_number_of(peak) * bytes)));
    }
    return status;
}

/* Columns that have another name now. */
static int rename_columns(struct gt_json_value *counters)
{
    int status = 0;
    const char *next;
    struct gt_json_value *value;
    for (const char *name = gt_json_next_member(counters, NULL, &value); name; name = next) {
        const char *now = gt_store_name_now(name);
        next = gt_json_next_member(counters, name, &value);
        if (now != name)
            status |= gt_json_rename(counters, name, now);
    }
    return status;
}

static int rename_all(struct gt_json_value *tree)
{
    size_t i;
    const struct gt_json_value *block;
    int status = rename_columns(gt_json_member(tree, "overall_counters"));
    gt_json_foreach_item (gt_json_member(tree, "code_block_results"), i, block) {
        status |= rename_columns(gt_json_member(block, "counters"));
    }
    return status;
}

int gt_results_upgrade(struct gt_json_value *tree, struct gt_error *error)
{
    int64_t version = gt_json_integer_of(gt_json_member(tree, "results_version"));
    int status = version < 2 ? peaks_in_bytes(tree) | rename_all(tree) : 0;
    return status ? gt_error_system(error, ENOMEM, "results") : 0;
}
