#include "analyse/display.h"

#include <stdio.h>
#include <string.h>

#include "aggregate/energy_curve.h"
#include "schema/unit.h"

bool gt_display_unit_is_estimated(enum gt_metric_id metric, const struct gt_machine *machine)
{
    static const char *const of[GT_ENERGY_DEVICES] = {
        [GT_ENERGY_CPU] = "cpu_", [GT_ENERGY_DRAM] = "dram_", [GT_ENERGY_GPU] = "gpu_"};
    if (gt_metrics[metric].unit != GT_JOULES && gt_metrics[metric].unit != GT_WATTS)
        return false;
    bool any = false;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        any |= (metric == GT_ENERGY || !strncmp(gt_metrics[metric].name, of[i], strlen(of[i]))) &&
               gt_energy_is_estimated(&machine->energy_source[i]);
    return any;
}

struct gt_display_unit gt_display_unit_as(const struct gt_columns *columns, const char *name,
                                          const struct gt_machine *machine)
{
    struct gt_display_unit display = {.factor = 1};
    int index = gt_store_column_find(columns, name);
    const struct gt_column *column = index < 0 ? NULL : &columns->column[index];
    snprintf(display.label, sizeof display.label, "%s", name);
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

/* ---- charts ---- */

enum { LINES = 4 };

static const struct picture {
    const char *key, *title;
    struct {
        struct gt_history_line line;
        const char *key, *title;
    } of[LINES];
} pictures[] = {
    {"ram_over_time",
     "RAM",
     {{{GT_SCOPE_COMBINED, GT_RAM}, "combined", "Combined"},
      {{GT_SCOPE_MAIN, GT_RAM}, "main", "Main"},
      {{GT_SCOPE_DESCENDANTS, GT_RAM}, "descendants", "Descendants"}}},
    {"cpu_over_time",
     "CPU in use",
     {{{GT_SCOPE_COMBINED, GT_CPU_UTILIZATION}, "combined", "Combined"},
      {{GT_SCOPE_SYSTEM, GT_CPU_UTILIZATION}, "system", "System"}}},
    {"gpu_ram_over_time",
     "GPU RAM",
     {{{GT_SCOPE_COMBINED, GT_GPU_RAM}, "combined", "Combined"}, {{GT_SCOPE_SYSTEM, GT_GPU_RAM}, "system", "System"}}},
    {"gpu_over_time", "GPUs in use", {{{GT_SCOPE_SYSTEM, GT_GPU_UTILIZATION}, "system", "Sum of the GPUs"}}},
    {"power_over_time",
     "Power",
     {{{GT_SCOPE_COMBINED, GT_CPU_ENERGY}, "cpu_combined", "CPU, this tree"},
      {{GT_SCOPE_SYSTEM, GT_CPU_ENERGY}, "cpu_system", "CPU, whole machine"},
      {{GT_SCOPE_COMBINED, GT_GPU_ENERGY}, "gpu_combined", "GPU, this tree"},
      {{GT_SCOPE_SYSTEM, GT_GPU_POWER}, "gpu_system", "GPU, whole machine"}}},
};

static bool gpu_picture(const struct picture *picture)
{
    enum gt_metric_id metric = picture->of[0].line.metric;
    return metric == GT_GPU_RAM || metric == GT_GPU_UTILIZATION;
}

static size_t known(const struct gt_history *history, size_t line)
{
    size_t count = 0;
    for (size_t span = 0; span < history->spans; span++)
        count += !isnan(gt_history_value(history, line, span));
    return count;
}

/* One unit of the picture, in the metric's own. */
static double unit_of(const struct gt_machine *machine, enum gt_metric_id metric, const char **name)
{
    double size = 1;
    switch (gt_metrics[metric].unit) {
    case GT_BYTES:
        *name = metric == GT_GPU_RAM ? machine->gpu_ram_unit : machine->ram_unit;
        gt_unit_memory(*name, &size, NULL);
        return size;
    case GT_RATIO: *name = "percent"; return 0.01;
    default: *name = "watts"; return 1;
    }
}

static void add_line(const struct gt_history *history, struct gt_node *series, size_t line, int index, double unit)
{
    for (size_t span = 0; span < history->spans; span++) {
        double value = gt_history_value(history, line, span);
        if (!isnan(value))
            gt_series_point(series, index, gt_history_time(history, span), value / unit);
    }
}

static void add_picture(const struct gt_over_time *recording, struct gt_node *root, const struct picture *picture)
{
    const struct gt_history *history = recording->history;
    const char *unit_name;
    double unit = unit_of(recording->machine, picture->of[0].line.metric, &unit_name);
    struct gt_node *series = NULL;
    for (int i = 0; i < LINES && picture->of[i].key; i++) {
        size_t line = gt_history_find(picture->of[i].line.scope, picture->of[i].line.metric);
        if (line == GT_HISTORY_LINES || known(history, line) < 2)
            continue;
        if (!series) {
            series = gt_report_series(root, picture->key, picture->title, "seconds", unit_name);
            gt_node_flags(series, GT_ONLY_PEOPLE);
            for (size_t k = 0; k < recording->bands; k++)
                gt_series_band(series, recording->band[k].title, recording->band[k].from, recording->band[k].to);
        }
        bool is_estimated = gt_display_unit_is_estimated(picture->of[i].line.metric, recording->machine);
        char title[80];
        snprintf(title, sizeof title, "%s%s", picture->of[i].title, is_estimated ? " (estimated)" : "");
        int index = gt_series_line(series, picture->of[i].key, title);
        add_line(history, series, line, index, unit);
    }
}

void gt_over_time_add(const struct gt_over_time *recording, struct gt_node *root)
{
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++)
        if (!gpu_picture(&pictures[i]) || recording->machine->gpu_count)
            add_picture(recording, root, &pictures[i]);
}
