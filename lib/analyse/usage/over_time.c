#include "analyse/usage/over_time.h"

#include <math.h>
#include <stdio.h>

#include "analyse/display.h"
#include "schema/unit.h"

enum { LINES = 4, STILL_POINTS = 512 };

static const struct picture {
    const char *key, *title;
    struct {
        struct gt_history_line line;
        const char *key, *title;
    } of[LINES];
} pictures[] = {
    {"memory_over_time",
     "Memory",
     {{{GT_SCOPE_COMBINED, GT_RAM}, "combined", "Combined"},
      {{GT_SCOPE_MAIN, GT_RAM}, "main", "Main"},
      {{GT_SCOPE_DESCENDANTS, GT_RAM}, "descendants", "Descendants"}}},
    {"cpu_over_time",
     "CPU in use",
     {{{GT_SCOPE_COMBINED, GT_CPU_UTILIZATION}, "combined", "Combined"},
      {{GT_SCOPE_SYSTEM, GT_CPU_UTILIZATION}, "system", "System"}}},
    {"gpu_memory_over_time",
     "GPU memory",
     {{{GT_SCOPE_COMBINED, GT_GPU_RAM}, "combined", "Combined"}, {{GT_SCOPE_SYSTEM, GT_GPU_RAM}, "system", "System"}}},
    {"gpu_over_time", "GPUs in use", {{{GT_SCOPE_SYSTEM, GT_GPU_UTILIZATION}, "system", "Sum of the GPUs"}}},
    {"power_over_time",
     "Power",
     {{{GT_SCOPE_COMBINED, GT_CPU_ENERGY}, "cpu_combined", "CPU, this tree"},
      {{GT_SCOPE_SYSTEM, GT_CPU_ENERGY}, "cpu_system", "CPU, whole machine"},
      {{GT_SCOPE_COMBINED, GT_GPU_ENERGY}, "gpu_combined", "GPU, this tree"},
      {{GT_SCOPE_SYSTEM, GT_GPU_POWER}, "gpu_system", "GPU, whole machine"}}},
    {"swap_over_time", "Swapped out", {{{GT_SCOPE_COMBINED, GT_SWAP}, "combined", "Combined"}}},
    {"disk_over_time",
     "Storage",
     {{{GT_SCOPE_COMBINED, GT_READ_BYTES}, "read", "Read"},
      {{GT_SCOPE_COMBINED, GT_WRITTEN_BYTES}, "written", "Written"}}},
    {"network_over_time",
     "Network of the whole namespace",
     {{{GT_SCOPE_SYSTEM, GT_NETWORK_NAMESPACE_RECEIVED}, "received", "Received"},
      {{GT_SCOPE_SYSTEM, GT_NETWORK_NAMESPACE_SENT}, "sent", "Sent"}}},
};

static bool is_of_gpus(const struct picture *picture)
{
    enum gt_metric_id metric = picture->of[0].line.metric;
    return metric == GT_GPU_RAM || metric == GT_GPU_UTILIZATION;
}

static size_t line_of(struct gt_history_line wanted)
{
    return gt_history_find(wanted.scope, wanted.metric);
}

static size_t known(const struct gt_history *history, size_t line)
{
    size_t count = 0;
    for (size_t span = 0; line < GT_HISTORY_LINES && span < history->spans; span++)
        count += !isnan(gt_history_value(history, line, span));
    return count;
}

/* One unit of the picture, in the metric's own. */
static double unit_of(const struct gt_machine *machine, enum gt_metric_id metric, const char **name)
{
    double size = 1;
    bool is_rate = gt_metrics[metric].kind == GT_COUNTER;
    switch (gt_metrics[metric].unit) {
    case GT_BYTES:
        *name = metric == GT_GPU_RAM ? machine->gpu_ram_unit : machine->ram_unit;
        gt_unit_memory(*name, &size, NULL);
        if (is_rate)
            *name = "megabytes a second";
        return is_rate ? 1e6 : size;
    case GT_RATIO:
        *name = metric == GT_GPU_UTILIZATION ? "percent" : "cores";
        return metric == GT_GPU_UTILIZATION ? 0.01 : 1;
    default: *name = "watts"; return 1;
    }
}

/* The most that there can be of it. */
static double limit_of(const struct gt_over_time *recording, enum gt_metric_id metric)
{
    const struct gt_machine *machine = recording->machine;
    switch (metric) {
    case GT_RAM:
        if (recording->memory_limit > 0)
            return recording->memory_limit;
        return machine->ram_capacity > 0 ? machine->ram_capacity : NAN;
    case GT_GPU_RAM: return machine->gpu_ram_capacity > 0 ? machine->gpu_ram_capacity : NAN;
    case GT_CPU_UTILIZATION: return machine->core_count > 0 ? machine->core_count : NAN;
    default: return NAN;
    }
}

static void add_history(const struct gt_history *history, struct gt_node *series, size_t line, int index, double unit)
{
    for (size_t span = 0; span < history->spans; span++) {
        double value = gt_history_value(history, line, span);
        if (!isnan(value))
            gt_series_point(series, index, gt_history_time(history, span), value / unit);
    }
}

/* A point of a still picture: the greatest of a size, the mean of anything else. */
static double still_value(const struct gt_whole_course_line *line, size_t from, size_t to)
{
    bool is_size = gt_metrics[line->metric].unit == GT_BYTES && gt_metrics[line->metric].kind == GT_GAUGE;
    double sum = 0, most = -INFINITY;
    uint64_t count = 0;
    for (size_t i = from; i < to; i++) {
        const struct gt_whole_course_span *span = &line->span[i];
        sum += span->sum;
        count += span->count;
        most = span->count ? fmax(most, span->most) : most;
    }
    return !count ? NAN : is_size ? most : sum / (double)count;
}

static void add_course(struct gt_whole_course *course, struct gt_node *series, const struct gt_whole_course_line *line,
                       int index, double unit)
{
    size_t step = (course->spans + STILL_POINTS - 1) / STILL_POINTS;
    for (size_t from = 0; from < course->spans; from += step) {
        size_t to = from + step < course->spans ? from + step : course->spans;
        double value = still_value(line, from, to);
        if (!isnan(value))
            gt_series_point(series, index, (double)(from + to) / 2 * gt_course_span_length(course), value / unit);
    }
    gt_series_course(series, index, course, line, unit);
}

static struct gt_node *new_series(const struct gt_over_time *recording, struct gt_node *page,
                                  const struct picture *picture, double unit, const char *unit_name)
{
    enum gt_metric_id metric = picture->of[0].line.metric;
    struct gt_node *series = gt_report_series(page, picture->key, picture->title, "seconds", unit_name);
    bool is_size = gt_metrics[metric].unit == GT_BYTES && gt_metrics[metric].kind == GT_GAUGE;
    gt_node_flags(series, GT_ONLY_PEOPLE | (is_size ? GT_PEAKS : 0));
    gt_series_limit(series, metric == GT_CPU_UTILIZATION ? "cores" : "limit", limit_of(recording, metric) / unit);
    if (metric == GT_RAM)
        gt_series_peak(series, recording->memory_peak / unit);
    return series;
}

static bool is_worth_a_chart(const struct gt_whole_course_line *line)
{
    bool is_rate_of_bytes = gt_metrics[line->metric].unit == GT_BYTES && gt_metrics[line->metric].kind == GT_COUNTER;
    bool any = !(is_rate_of_bytes || line->metric == GT_SWAP);
    for (size_t i = 0; i < GT_WHOLE_COURSE_SPANS && !any; i++)
        any = line->span[i].count && line->span[i].most > 0;
    return any && line->known > 1;
}

static void add_picture(const struct gt_over_time *recording, struct gt_node *page, const struct picture *picture)
{
    const char *unit_name;
    double unit = unit_of(recording->machine, picture->of[0].line.metric, &unit_name);
    struct gt_node *series = NULL;
    for (int i = 0; i < LINES && picture->of[i].key; i++) {
        struct gt_history_line of = picture->of[i].line;
        const struct gt_whole_course_line *line = recording->course
                                                      ? gt_whole_course_find(recording->course, of.scope, of.metric, -1)
                                                      : NULL;
        if (recording->course ? !line || !is_worth_a_chart(line) : known(recording->history, line_of(of)) < 2)
            continue;
        if (!series)
            series = new_series(recording, page, picture, unit, unit_name);
        bool is_estimated = gt_display_unit_is_estimated(of.metric, recording->machine);
        char title[80];
        snprintf(title, sizeof title, "%s%s", picture->of[i].title, is_estimated ? " (estimated)" : "");
        int index = gt_series_line(series, picture->of[i].key, title);
        if (line)
            add_course(recording->course, series, line, index, unit);
        else
            add_history(recording->history, series, line_of(of), index, unit);
    }
}

static bool is_gpu_known(const struct gt_history *history, size_t gpu)
{
    for (size_t span = 0; gpu < history->gpus && span < history->spans; span++)
        if (!isnan(gt_history_gpu(history, gpu, span)))
            return true;
    return false;
}

static void add_gpu_history(const struct gt_history *history, struct gt_node *series, size_t gpu, int index)
{
    for (size_t span = 0; span < history->spans; span++) {
        double value = gt_history_gpu(history, gpu, span);
        if (!isnan(value))
            gt_series_point(series, index, gt_history_time(history, span), value * 100);
    }
}

/* A strip for each GPU: of several, lines would hide the idle one. */
static bool add_strips(const struct gt_over_time *recording, struct gt_node *page)
{
    struct gt_node *series = NULL;
    for (size_t gpu = 0; gpu < recording->machine->gpu_length; gpu++) {
        const struct gt_whole_course_line *line = recording->course
                                                      ? gt_whole_course_find(recording->course, GT_SCOPE_GPU,
                                                                             GT_GPU_UTILIZATION, (int)gpu)
                                                      : NULL;
        char key[32], title[40];
        if (recording->course ? !line : !is_gpu_known(recording->history, gpu))
            continue;
        if (!series) {
            series = gt_report_series(page, "gpu_over_time", "GPUs in use", "seconds", "percent");
            gt_node_flags(series, GT_ONLY_PEOPLE | GT_STRIPS);
        }
        snprintf(key, sizeof key, "gpu_%zu", gpu);
        snprintf(title, sizeof title, "GPU %zu", gpu);
        int index = gt_series_line(series, key, title);
        if (line)
            add_course(recording->course, series, line, index, 0.01);
        else
            add_gpu_history(recording->history, series, gpu, index);
    }
    return series;
}

void gt_over_time_add(const struct gt_over_time *recording, struct gt_node *page)
{
    bool has_strips = false;
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++) {
        bool is_use = pictures[i].of[0].line.metric == GT_GPU_UTILIZATION;
        if (is_use)
            has_strips = add_strips(recording, page);
        if ((is_use && has_strips) || (is_of_gpus(&pictures[i]) && !recording->machine->gpu_count))
            continue;
        add_picture(recording, page, &pictures[i]);
    }
}
