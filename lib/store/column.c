#include "store/column.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "schema/unit.h"

const struct gt_detail gt_details[GT_DETAIL_COUNT] = {
    {GT_SCOPE_GPU, "gpu_data", ".gpus"},
    {GT_SCOPE_PROCESS, "process_data", ".processes"},
};

/* gpu_tracker's own columns, in its order. */
static const struct {
    const char *name;
    int scope;
    enum gt_metric_id metric;
    bool per_unit;
} original[] = {
    {"main_ram", GT_SCOPE_MAIN, GT_RAM, false},
    {"descendants_ram", GT_SCOPE_DESCENDANTS, GT_RAM, false},
    {"combined_ram", GT_SCOPE_COMBINED, GT_RAM, false},
    {"system_ram", GT_SCOPE_SYSTEM, GT_RAM, false},
    {"main_gpu_ram", GT_SCOPE_MAIN, GT_GPU_RAM, false},
    {"descendants_gpu_ram", GT_SCOPE_DESCENDANTS, GT_GPU_RAM, false},
    {"combined_gpu_ram", GT_SCOPE_COMBINED, GT_GPU_RAM, false},
    {"system_gpu_ram", GT_SCOPE_SYSTEM, GT_GPU_RAM, false},
    {"gpu_sum_utilization_percent", GT_SCOPE_SYSTEM, GT_GPU_UTILIZATION, false},
    {"gpu_hardware_utilization_percent", GT_SCOPE_SYSTEM, GT_GPU_UTILIZATION, true},
    {"main_n_threads", GT_SCOPE_MAIN, GT_THREADS, false},
    {"descendants_n_threads", GT_SCOPE_DESCENDANTS, GT_THREADS, false},
    {"combined_n_threads", GT_SCOPE_COMBINED, GT_THREADS, false},
    {"cpu_system_sum_utilization_percent", GT_SCOPE_SYSTEM, GT_CPU_UTILIZATION, false},
    {"cpu_system_hardware_utilization_percent", GT_SCOPE_SYSTEM, GT_CPU_UTILIZATION, true},
    {"cpu_main_sum_utilization_percent", GT_SCOPE_MAIN, GT_CPU_UTILIZATION, false},
    {"cpu_main_hardware_utilization_percent", GT_SCOPE_MAIN, GT_CPU_UTILIZATION, true},
    {"cpu_descendants_sum_utilization_percent", GT_SCOPE_DESCENDANTS, GT_CPU_UTILIZATION, false},
    {"cpu_descendants_hardware_utilization_percent", GT_SCOPE_DESCENDANTS, GT_CPU_UTILIZATION, true},
    {"cpu_combined_sum_utilization_percent", GT_SCOPE_COMBINED, GT_CPU_UTILIZATION, false},
    {"cpu_combined_hardware_utilization_percent", GT_SCOPE_COMBINED, GT_CPU_UTILIZATION, true},
    {"timestamp", GT_COLUMN_REAL, 0, false},
};

enum { ORIGINAL_COUNT = sizeof original / sizeof *original };

static bool is_covered(int scope, enum gt_metric_id metric)
{
    for (size_t i = 0; i < ORIGINAL_COUNT; i++)
        if (original[i].scope == scope && original[i].metric == metric)
            return true;
    return false;
}

static bool is_gpu(enum gt_metric_id metric)
{
    return metric == GT_GPU_RAM || metric == GT_GPU_UTILIZATION;
}

/* Returns what one of the original's "hardware" percentages is divided by. */
static double hardware_units(const struct gt_column *column, const struct gt_machine *machine)
{
    if (is_gpu(column->metric))
        return machine->expected_gpus;
    return column->scope == GT_SCOPE_SYSTEM ? machine->core_count : machine->expected_cores;
}

static struct gt_column *append(struct gt_columns *columns, int scope, enum gt_metric_id metric, const char *prefix,
                                const char *name)
{
    struct gt_column *column = &columns->column[columns->count++];
    *column = (struct gt_column){.scope = scope, .metric = metric, .multiply = 1, .divide = 1, .most = INFINITY};
    snprintf(column->name, sizeof column->name, "%s%s%s", prefix, *prefix ? "_" : "", name);
    enum gt_unit unit = gt_metrics[metric].unit;
    column->is_integer = scope >= 0 && (unit == GT_BYTES || unit == GT_COUNT || unit == GT_HERTZ || unit == GT_BITS);
    return column;
}

static void append_original(struct gt_columns *columns, size_t index, const struct gt_machine *machine)
{
    enum gt_metric_id metric = original[index].metric;
    struct gt_column *column = append(columns, original[index].scope, metric, "", original[index].name);
    column->is_original = true;
    column->per_unit = original[index].per_unit;
    column->is_integer = column->is_integer && gt_metrics[metric].unit == GT_COUNT;
    if (!machine || column->scope < 0)
        return;
    column->is_zero = is_gpu(metric) && !machine->gpu_count;
    if (gt_metrics[metric].unit == GT_BYTES)
        gt_unit_memory(is_gpu(metric) ? machine->gpu_ram_unit : machine->ram_unit, &column->divide, NULL);
    if (gt_metrics[metric].unit == GT_RATIO) {
        column->multiply = 100;
        column->divide = column->per_unit ? hardware_units(column, machine) : 1;
        column->most = column->per_unit && machine->start_real_ns > 0 ? 100 : INFINITY; /* only ours have a start */
    }
}

void gt_store_columns(struct gt_columns *ret, const struct gt_machine *machine)
{
    ret->count = 0;
    for (size_t i = 0; i < ORIGINAL_COUNT; i++)
        append_original(ret, i, machine);
    ret->original_count = ret->count;
    append(ret, GT_COLUMN_MONOTONIC, 0, "", "monotonic");
    for (int metric = 0; metric < GT_METRIC_COUNT; metric++)
        for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
            if (gt_metric_has(metric, scope) && !is_covered(scope, metric))
                append(ret, scope, metric, gt_scope_name(scope), gt_metrics[metric].name);
}

void gt_detail_columns(struct gt_columns *ret, enum gt_scope scope)
{
    static const struct {
        const char *name;
        int number;
        enum gt_scope scope;
    } identity[] = {
        {"device", GT_COLUMN_DEVICE, GT_SCOPE_GPU},     {"pid", GT_COLUMN_PID, GT_SCOPE_PROCESS},
        {"parent", GT_COLUMN_PARENT, GT_SCOPE_PROCESS}, {"start", GT_COLUMN_START, GT_SCOPE_PROCESS},
        {"rank", GT_COLUMN_RANK, GT_SCOPE_PROCESS},
    };
    ret->count = ret->original_count = 0;
    append(ret, GT_COLUMN_REAL, 0, "", "timestamp");
    for (size_t i = 0; i < sizeof identity / sizeof *identity; i++)
        if (identity[i].scope == scope)
            append(ret, identity[i].number, 0, "", identity[i].name)->is_integer = true;
    for (int metric = 0; metric < GT_METRIC_COUNT; metric++)
        if (gt_metric_has(metric, scope))
            append(ret, scope, metric, "", gt_metrics[metric].name);
}

/* Names of columns in earlier recordings. */
static const struct {
    const char *before, *now;
} renamed[] = {
    {"combined_network_received", "system_network_namespace_received"},
    {"combined_network_sent", "system_network_namespace_sent"},
};

enum { RENAMED = sizeof renamed / sizeof *renamed };

const char *gt_store_name_now(const char *name)
{
    for (size_t i = 0; i < RENAMED; i++)
        if (!strcmp(renamed[i].before, name))
            return renamed[i].now;
    return name;
}

const char *gt_store_name_before(const char *name)
{
    for (size_t i = 0; i < RENAMED; i++)
        if (!strcmp(renamed[i].now, name))
            return renamed[i].before;
    return NULL;
}

int gt_store_column_find(const struct gt_columns *columns, const char *name)
{
    name = gt_store_name_now(name);
    for (size_t i = 0; i < columns->count; i++)
        if (!strcmp(columns->column[i].name, name))
            return (int)i;
    return -ENOENT;
}

int gt_store_column_named(struct gt_column *ret, const char *name, const struct gt_machine *machine)
{
    struct gt_columns *columns = malloc(sizeof *columns);
    int index = -ENOMEM;
    if (columns) {
        gt_store_columns(columns, machine);
        index = gt_store_column_find(columns, name);
    }
    if (index >= 0)
        *ret = columns->column[index];
    free(columns);
    return index < 0 ? index : 0;
}

static double round_decimals(double value)
{
    if (fabs(value) >= 1e6)
        return value;
    return nearbyint(value * 1e9) / 1e9;
}

/* As many digits as a double holds of the time since 1970. */
static double microseconds(int64_t ns)
{
    return (double)(ns / 1000) / 1e6;
}

double gt_detail_value(const struct gt_column *column, const struct gt_sample *sample, const struct gt_row *row)
{
    switch (column->scope) {
    case GT_COLUMN_REAL: return microseconds(sample->real_ns);
    case GT_COLUMN_MONOTONIC: return microseconds(sample->monotonic_ns);
    case GT_COLUMN_DEVICE: return row->device;
    case GT_COLUMN_PID: return row->pid;
    case GT_COLUMN_PARENT: return row->parent;
    case GT_COLUMN_START: return (double)row->start;
    case GT_COLUMN_RANK: return row->rank > 0 ? row->rank - 1 : NAN;
    default: return round_decimals(row->value[column->metric]);
    }
}

double gt_store_column_value(const struct gt_column *column, const struct gt_sample *sample)
{
    if (column->scope < 0)
        return gt_detail_value(column, sample, NULL);
    if (!column->is_original)
        return round_decimals(sample->row[column->scope].value[column->metric]);
    if (column->is_zero)
        return 0;
    if (column->divide <= 0)
        return NAN;
    double value = round_decimals(sample->row[column->scope].value[column->metric] * column->multiply / column->divide);
    return value > column->most ? column->most : value;
}

double gt_store_column_measured(const struct gt_column *column, const struct gt_sample *sample)
{
    return column->is_zero ? NAN : gt_store_column_value(column, sample);
}

static int64_t nanoseconds(double seconds)
{
    if (!(fabs(seconds) < 9e9))
        return 0;
    double whole = nearbyint(seconds * 1e6);
    if (whole / 1e6 == seconds)
        return (int64_t)whole * 1000;
    return (int64_t)floor(seconds) * GT_SECOND + (int64_t)((seconds - floor(seconds)) * 1e9);
}

static double within(double value, double limit)
{
    return value >= 0 && value <= limit ? value : 0;
}

void gt_detail_assign(const struct gt_column *column, double value, struct gt_sample *sample, struct gt_row *row)
{
    switch (column->scope) {
    case GT_COLUMN_REAL: sample->real_ns = nanoseconds(value); break;
    case GT_COLUMN_MONOTONIC: sample->monotonic_ns = nanoseconds(value); break;
    case GT_COLUMN_DEVICE: row->device = (int)within(value, 1 << 20); break;
    case GT_COLUMN_PID: row->pid = (pid_t)within(value, INT32_MAX); break;
    case GT_COLUMN_PARENT: row->parent = (pid_t)within(value, INT32_MAX); break;
    case GT_COLUMN_START: row->start = (uint64_t)within(value, 0x1p53); break;
    case GT_COLUMN_RANK: row->rank = value >= 0 ? (int)within(value, INT32_MAX - 1) + 1 : 0; break;
    default: row->value[column->metric] = value; break;
    }
}

void gt_store_column_assign(const struct gt_column *column, double value, struct gt_sample *sample)
{
    if (column->scope < 0) {
        gt_detail_assign(column, value, sample, NULL);
        return;
    }
    if (column->is_zero)
        return;
    if (column->is_original)
        value = value * column->divide / column->multiply;
    if (column->divide > 1 && column->multiply == 1) /* memory: whole bytes */
        value = nearbyint(value);
    sample->row[column->scope].value[column->metric] = isfinite(value) ? value : NAN;
}

const char *gt_store_column_unit(const struct gt_column *column, const struct gt_machine *machine)
{
    if (column->scope < 0)
        return "seconds";
    enum gt_unit unit = gt_metrics[column->metric].unit;
    if (!column->is_original)
        return gt_unit_name(unit);
    if (unit == GT_BYTES)
        return column->metric == GT_GPU_RAM ? machine->gpu_ram_unit : machine->ram_unit;
    return unit == GT_RATIO ? "percent" : gt_unit_name(unit);
}
