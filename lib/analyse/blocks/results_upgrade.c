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

static int peaks_in_bytes(json_t *tree)
{
    const char *unit = json_string_value(json_object_get(json_object_get(tree, "static_data"), "ram_unit"));
    struct gt_columns columns;
    const char *name;
    double bytes;
    json_t *peak, *peaks = json_object_get(tree, "peaks");
    int status = 0;
    if (!unit || gt_unit_memory(unit, &bytes, NULL) < 0)
        return 0;
    gt_store_columns(&columns, NULL);
    json_object_foreach (peaks, name, peak) {
        if (json_is_number(peak) && is_in_bytes(&columns, name))
            status |= json_object_set_new(peaks, name, json_real(nearbyint(json_number_value(peak) * bytes)));
    }
    return status;
}

/* Columns that have another name now. */
static int rename_columns(json_t *counters)
{
    int status = 0;
    const char *name;
    json_t *value;
    void *next;
    json_object_foreach_safe(counters, next, name, value)
    {
        const char *now = gt_store_name_now(name);
        if (now == name)
            continue;
        status |= json_object_set(counters, now, value);
        json_object_del(counters, name);
    }
    return status;
}

static int rename_all(json_t *tree)
{
    size_t i;
    const json_t *block;
    int status = rename_columns(json_object_get(tree, "overall_counters"));
    json_array_foreach (json_object_get(tree, "code_block_results"), i, block) {
        status |= rename_columns(json_object_get(block, "counters"));
    }
    return status;
}

int gt_results_upgrade(json_t *tree, struct gt_error *error)
{
    json_int_t version = json_integer_value(json_object_get(tree, "results_version"));
    int status = version < 2 ? peaks_in_bytes(tree) | rename_all(tree) : 0;
    return status ? gt_error_system(error, ENOMEM, "results") : 0;
}
