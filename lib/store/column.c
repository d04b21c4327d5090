#include "store/store.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "schema/unit.h"

/* gpu_tracker's own columns, in its order. COLUMN(name, scope, metric, divided by cores or GPUs) */
static const struct gt_column original[] = {
#define COLUMN(name, scope, metric, per_unit)                            \
    {                                                                    \
        name, GT_SCOPE_##scope, GT_##metric, per_unit, true, false, 1, 1 \
    }
    COLUMN("main_ram", MAIN, RAM, false),
    COLUMN("descendants_ram", DESCENDANTS, RAM, false),
    COLUMN("combined_ram", COMBINED, RAM, false),
    COLUMN("system_ram", SYSTEM, RAM, false),
    COLUMN("main_gpu_ram", MAIN, GPU_RAM, false),
    COLUMN("descendants_gpu_ram", DESCENDANTS, GPU_RAM, false),
    COLUMN("combined_gpu_ram", COMBINED, GPU_RAM, false),
    COLUMN("system_gpu_ram", SYSTEM, GPU_RAM, false),
    COLUMN("gpu_sum_utilization_percent", SYSTEM, GPU_UTILIZATION, false),
    COLUMN("gpu_hardware_utilization_percent", SYSTEM, GPU_UTILIZATION, true),
    COLUMN("main_n_threads", MAIN, THREADS, false),
    COLUMN("descendants_n_threads", DESCENDANTS, THREADS, false),
    COLUMN("combined_n_threads", COMBINED, THREADS, false),
    COLUMN("cpu_system_sum_utilization_percent", SYSTEM, CPU_UTILIZATION, false),
    COLUMN("cpu_system_hardware_utilization_percent", SYSTEM, CPU_UTILIZATION, true),
    COLUMN("cpu_main_sum_utilization_percent", MAIN, CPU_UTILIZATION, false),
    COLUMN("cpu_main_hardware_utilization_percent", MAIN, CPU_UTILIZATION, true),
    COLUMN("cpu_descendants_sum_utilization_percent", DESCENDANTS, CPU_UTILIZATION, false),
    COLUMN("cpu_descendants_hardware_utilization_percent", DESCENDANTS, CPU_UTILIZATION, true),
    COLUMN("cpu_combined_sum_utilization_percent", COMBINED, CPU_UTILIZATION, false),
    COLUMN("cpu_combined_hardware_utilization_percent", COMBINED, CPU_UTILIZATION, true),
    {"timestamp", GT_COLUMN_REAL, 0, false, true, false, 1, 1},
#undef COLUMN
};

enum { ORIGINAL_COUNT = sizeof original / sizeof *original };

static bool is_covered(enum gt_scope scope, enum gt_metric_id metric)
{
    for (size_t i = 0; i < ORIGINAL_COUNT; i++)
        if (original[i].scope == (int)scope && original[i].metric == metric)
            return true;
    return false;
}

static bool is_gpu(enum gt_metric_id metric)
{
    return metric == GT_GPU_RAM || metric == GT_GPU_UTILIZATION;
}

static double bytes_per_unit(enum gt_metric_id metric, const struct gt_machine *machine)
{
    double factor = 1;
    gt_unit_memory(is_gpu(metric) ? machine->gpu_ram_unit : machine->ram_unit, &factor, NULL);
    return factor;
}

/* What one of the original's "hardware" percentages is divided by. */
static double hardware_units(const struct gt_column *column, const struct gt_machine *machine)
{
    if (is_gpu(column->metric))
        return machine->expected_gpus;
    return column->scope == GT_SCOPE_SYSTEM ? machine->core_count : machine->expected_cores;
}

static void set_scale(struct gt_column *column, const struct gt_machine *machine)
{
    column->is_zero = is_gpu(column->metric) && !machine->gpu_count;
    if (gt_metrics[column->metric].unit == GT_BYTES)
        column->divide = bytes_per_unit(column->metric, machine);
    if (gt_metrics[column->metric].unit == GT_RATIO) {
        column->multiply = 100;
        column->divide = column->per_unit ? hardware_units(column, machine) : 1;
    }
}

static void append(struct gt_columns *columns, enum gt_scope scope, enum gt_metric_id metric)
{
    struct gt_column *column = &columns->column[columns->count++];
    *column = (struct gt_column){.scope = scope, .metric = metric, .multiply = 1, .divide = 1};
    snprintf(column->name, sizeof column->name, "%s_%s", gt_scope_name(scope), gt_metrics[metric].name);
}

void gt_store_columns(struct gt_columns *ret, const struct gt_machine *machine)
{
    memcpy(ret->column, original, sizeof original);
    ret->count = ret->original_count = ORIGINAL_COUNT;
    for (size_t i = 0; machine && i < ORIGINAL_COUNT; i++)
        if (original[i].scope >= 0)
            set_scale(&ret->column[i], machine);
    ret->column[ret->count++] = (struct gt_column){.name = "monotonic", .scope = GT_COLUMN_MONOTONIC};
    for (int metric = 0; metric < GT_METRIC_COUNT; metric++)
        for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
            if (gt_metric_has(metric, scope) && !is_covered(scope, metric))
                append(ret, scope, metric);
}

int gt_store_column_find(const struct gt_columns *columns, const char *name)
{
    for (size_t i = 0; i < columns->count; i++)
        if (!strcmp(columns->column[i].name, name))
            return (int)i;
    return -ENOENT;
}

static double round_decimals(double value)
{
    if (fabs(value) >= 1e6)
        return value;
    return nearbyint(value * 1e9) / 1e9;
}

double gt_store_column_value(const struct gt_column *column, const struct gt_sample *sample)
{
    if (column->scope == GT_COLUMN_REAL) /* a double holds no more than the microseconds of it */
        return (double)(sample->real_ns / 1000) / 1e6;
    if (column->scope == GT_COLUMN_MONOTONIC)
        return (double)(sample->monotonic_ns / 1000) / 1e6;
    if (column->is_zero)
        return 0;
    if (column->divide <= 0)
        return NAN;
    return round_decimals(sample->row[column->scope].value[column->metric] * column->multiply / column->divide);
}

static int64_t nanoseconds(double seconds)
{
    double microseconds = nearbyint(seconds * 1e6);
    if (microseconds / 1e6 == seconds)
        return (int64_t)microseconds * 1000;
    return (int64_t)floor(seconds) * INT64_C(1000000000) + (int64_t)((seconds - floor(seconds)) * 1e9);
}

void gt_store_column_assign(const struct gt_column *column, double value, struct gt_sample *sample)
{
    if (column->scope == GT_COLUMN_REAL || column->scope == GT_COLUMN_MONOTONIC) {
        if (!(fabs(value) < 9e9))
            value = 0;
        *(column->scope == GT_COLUMN_REAL ? &sample->real_ns : &sample->monotonic_ns) = nanoseconds(value);
        return;
    }
    if (column->is_zero)
        return;
    value = value * column->divide / column->multiply;
    if (column->divide > 1 && column->multiply == 1) /* memory: whole bytes */
        value = nearbyint(value);
    sample->row[column->scope].value[column->metric] = value;
}
