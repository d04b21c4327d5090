/* Pictures of a recording: what was used, over time. */
#include "analyse/usage_parts.h"

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
    {"gpu_over_time",
     "GPUs in use",
     {{{GT_SCOPE_SYSTEM, GT_GPU_UTILIZATION}, "system", "Sum of the GPUs"}}},
    {"power_over_time",
     "Power",
     {{{GT_SCOPE_COMBINED, GT_CPU_ENERGY}, "cpu_combined", "CPU, this tree"},
      {{GT_SCOPE_SYSTEM, GT_CPU_ENERGY}, "cpu_system", "CPU, whole machine"},
      {{GT_SCOPE_COMBINED, GT_GPU_ENERGY}, "gpu_combined", "GPU, this tree"},
      {{GT_SCOPE_SYSTEM, GT_GPU_POWER}, "gpu_system", "GPU, whole machine"}}},
};

static size_t line_of(struct gt_history_line wanted)
{
    size_t line = 0;
    while (line < GT_HISTORY_LINES &&
           (gt_history_line[line].scope != wanted.scope || gt_history_line[line].metric != wanted.metric))
        line++;
    return line;
}

static size_t known(const struct gt_history *history, size_t line)
{
    size_t count = 0;
    for (size_t span = 0; span < history->spans; span++)
        count += !isnan(gt_history_value(history, line, span));
    return count;
}

/* One unit of the picture, in the metric's own. */
static double unit_of(const struct gt_usage *usage, enum gt_metric_id metric, const char **name)
{
    enum gt_unit unit = gt_metrics[metric].unit;
    *name = unit == GT_BYTES ? usage->machine->ram_unit : unit == GT_RATIO ? "percent" : "watts";
    if (metric == GT_GPU_RAM)
        *name = usage->machine->gpu_ram_unit;
    if (unit == GT_BYTES)
        return metric == GT_GPU_RAM ? usage->gpu_ram_unit : usage->ram_unit;
    return unit == GT_RATIO ? 0.01 : 1;
}

static void add_line(const struct gt_history *history, struct gt_node *series, size_t line, int index, double unit)
{
    for (size_t span = 0; span < history->spans; span++) {
        double value = gt_history_value(history, line, span);
        if (!isnan(value))
            gt_series_point(series, index, gt_history_time(history, span), value / unit);
    }
}

static void add_picture(const struct gt_usage *usage, struct gt_node *root, const struct picture *picture)
{
    const struct gt_history *history = &usage->summary->history;
    const char *unit_name;
    double unit = unit_of(usage, picture->of[0].line.metric, &unit_name);
    struct gt_node *series = NULL;
    for (int i = 0; i < LINES && picture->of[i].key; i++) {
        size_t line = line_of(picture->of[i].line);
        if (line == GT_HISTORY_LINES || known(history, line) < 2)
            continue;
        if (!series) {
            series = gt_report_series(root, picture->key, picture->title, "seconds", unit_name);
            gt_node_flags(series, GT_ONLY_PICTURE);
        }
        int index = gt_series_line(series, picture->of[i].key, picture->of[i].title);
        add_line(history, series, line, index, unit);
    }
}

void gt_usage_course(const struct gt_usage *usage, struct gt_node *root)
{
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++)
        add_picture(usage, root, &pictures[i]);
}
