#include "analyse/display.h"

#include <errno.h>
#include <stdio.h>

#include "aggregate/energy_curve.h"
#include "sample/sample.h"
#include "schema/unit.h"

bool gt_display_unit_is_estimated(enum gt_metric_id metric, const struct gt_machine *machine)
{
    enum gt_energy_device device = gt_energy_device_of(metric);
    bool any = false;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        any |= (metric == GT_ENERGY || (int)device == i) && gt_energy_is_estimated(&machine->energy_source[i]);
    return any;
}

struct gt_display_unit gt_display_unit_as(const struct gt_columns *columns, const char *name,
                                          const struct gt_machine *machine)
{
    struct gt_display_unit display = {.factor = 1, .unit = ""};
    int index = gt_store_column_find(columns, name);
    const struct gt_column *column = index < 0 ? NULL : &columns->column[index];
    snprintf(display.label, sizeof display.label, "%s", name);
    if (column)
        display.unit = gt_store_column_unit(column, machine);
    if (!column || column->is_original || column->scope < 0)
        return display;
    enum gt_unit unit = gt_metrics[column->metric].unit;
    const char *unit_name = gt_unit_name(unit);
    double bytes;
    if (unit == GT_BYTES) {
        const char *chosen = column->metric == GT_GPU_RAM ? machine->gpu_ram_unit : machine->ram_unit;
        if (gt_unit_memory(chosen, &bytes, NULL) >= 0) {
            display.factor = 1 / bytes;
            unit_name = chosen;
        }
    } else if (unit == GT_RATIO) {
        display.factor = 100;
        unit_name = "percent";
    }
    display.unit = unit_name;
    if (unit != GT_COUNT)
        snprintf(display.label, sizeof display.label, "%s (%s%s)", name, unit_name,
                 gt_display_unit_is_estimated(column->metric, machine) ? ", estimated" : "");
    return display;
}

void gt_display_columns(struct gt_table *table, const char *columns)
{
    char kind[8], key[48];
    int length;
    for (; sscanf(columns, " %7[a-z]:%47[a-z0-9_]%n", kind, key, &length) == 2; columns += length)
        gt_table_column(table, key, key,
                        *kind == 't'   ? GT_CELL_TEXT
                        : *kind == 'i' ? GT_CELL_INTEGER
                                       : GT_CELL_NUMBER,
                        NULL);
}

void gt_display_column(struct gt_table *table, const char *key, const char *title, enum gt_cell_kind kind,
                       const char *unit, unsigned flags)
{
    gt_table_column(table, key, title, kind, unit);
    gt_table_column_flags(table, flags);
}

int gt_display_end(struct gt_report **ret, struct gt_report *report, int status, const char *subject,
                   struct gt_error *error)
{
    if (status < 0 || gt_report_failed(report)) {
        gt_report_free(report);
        return gt_error_system(error, ENOMEM, "%s", subject);
    }
    *ret = report;
    return 0;
}
