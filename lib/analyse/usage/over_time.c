#include "analyse/usage/usage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/display.h"
#include "base/number.h"
#include "schema/unit.h"

enum { LINES = 4 };

static const struct picture {
    const char *key, *title;
    struct {
        enum gt_scope scope;
        enum gt_metric_id metric;
        const char *key, *title;
    } of[LINES];
} pictures[] = {
    {"memory_over_time",
     "Memory",
     {{GT_SCOPE_COMBINED, GT_RAM, "combined", "Combined"},
      {GT_SCOPE_MAIN, GT_RAM, "main", "Main"},
      {GT_SCOPE_DESCENDANTS, GT_RAM, "descendants", "Descendants"}}},
    {"cpu_over_time",
     "CPU in use",
     {{GT_SCOPE_COMBINED, GT_CPU_UTILIZATION, "combined", "Combined"},
      {GT_SCOPE_SYSTEM, GT_CPU_UTILIZATION, "system", "System"}}},
    {"gpu_memory_over_time",
     "GPU memory",
     {{GT_SCOPE_COMBINED, GT_GPU_RAM, "combined", "Combined"}, {GT_SCOPE_SYSTEM, GT_GPU_RAM, "system", "System"}}},
    {"gpu_over_time", "GPUs in use", {{GT_SCOPE_SYSTEM, GT_GPU_UTILIZATION, "system", "Sum of the GPUs"}}},
    {"power_over_time",
     "Power",
     {{GT_SCOPE_COMBINED, GT_CPU_ENERGY, "cpu_combined", "CPU, this tree"},
      {GT_SCOPE_SYSTEM, GT_CPU_ENERGY, "cpu_system", "CPU, whole machine"},
      {GT_SCOPE_COMBINED, GT_GPU_ENERGY, "gpu_combined", "GPU, this tree"},
      {GT_SCOPE_SYSTEM, GT_GPU_POWER, "gpu_system", "GPU, whole machine"}}},
    {"swap_over_time", "Swapped out", {{GT_SCOPE_COMBINED, GT_SWAP, "combined", "Combined"}}},
    {"disk_over_time",
     "Storage",
     {{GT_SCOPE_COMBINED, GT_READ_BYTES, "read", "Read"}, {GT_SCOPE_COMBINED, GT_WRITTEN_BYTES, "written", "Written"}}},
    {"network_over_time",
     "Network of the whole namespace",
     {{GT_SCOPE_SYSTEM, GT_NETWORK_NAMESPACE_RECEIVED, "received", "Received"},
      {GT_SCOPE_SYSTEM, GT_NETWORK_NAMESPACE_SENT, "sent", "Sent"}}},
};

static bool is_of_gpus(const struct picture *picture)
{
    enum gt_metric_id metric = picture->of[0].metric;
    return metric == GT_GPU_RAM || metric == GT_GPU_UTILIZATION;
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

static void add_points(const struct gt_sample_course *of, struct gt_node *series, int line, int index, double unit)
{
    struct gt_course *course = of->course;
    size_t step = (course->spans + GT_COURSE_SPANS - 1) / GT_COURSE_SPANS;
    for (size_t from = 0; from < course->spans; from += step) {
        size_t to = from + step < course->spans ? from + step : course->spans;
        double value = gt_sample_course_value(of, line, from, to);
        if (!isnan(value))
            gt_series_point(series, index, (double)(from + to) / 2 * gt_course_span_length(course), value / unit);
    }
    if (of->is_fine)
        gt_series_course(series, index, course, line, unit);
}

static struct gt_node *new_series(const struct gt_over_time *recording, struct gt_node *page,
                                  const struct picture *picture, double unit, const char *unit_name)
{
    enum gt_metric_id metric = picture->of[0].metric;
    bool is_size = gt_metrics[metric].unit == GT_BYTES && gt_metrics[metric].kind == GT_GAUGE;
    struct gt_node *series = gt_report_series(page, picture->key, picture->title, "seconds", unit_name,
                                              GT_ONLY_PEOPLE | (is_size ? GT_PEAKS : 0));
    gt_series_limit(series, metric == GT_CPU_UTILIZATION ? "cores" : "limit", limit_of(recording, metric) / unit);
    if (metric == GT_RAM && series && isfinite(recording->memory_peak))
        series->series.peak = recording->memory_peak / unit;
    return series;
}

/* Memory and CPU of the job are always drawn; other series not if they are always 0. */
static bool is_worth_a_chart(const struct gt_sample_course *course, int line, enum gt_scope scope,
                             enum gt_metric_id metric)
{
    if (line < 0 || course->course->line[line].known < 2)
        return false;
    return (scope == GT_SCOPE_COMBINED && (metric == GT_RAM || metric == GT_CPU_UTILIZATION)) ||
           gt_course_over(course->course, (size_t)line, 0, course->course->spans).most > 0;
}

static void add_picture(const struct gt_over_time *recording, struct gt_node *page, const struct picture *picture)
{
    const char *unit_name;
    double unit = unit_of(recording->machine, picture->of[0].metric, &unit_name);
    struct gt_node *series = NULL;
    for (int i = 0; i < LINES && picture->of[i].key; i++) {
        enum gt_metric_id metric = picture->of[i].metric;
        int line = gt_sample_course_find(recording->course, picture->of[i].scope, metric, -1);
        if (!is_worth_a_chart(recording->course, line, picture->of[i].scope, metric))
            continue;
        if (!series)
            series = new_series(recording, page, picture, unit, unit_name);
        bool is_estimated = gt_display_unit_is_estimated(metric, recording->machine);
        char title[80];
        snprintf(title, sizeof title, "%s%s", picture->of[i].title, is_estimated ? " (estimated)" : "");
        int index = gt_series_line(series, picture->of[i].key, title);
        add_points(recording->course, series, line, index, unit);
    }
}

/* A strip for each GPU: of several, lines would hide the idle one. */
static bool add_strips(const struct gt_over_time *recording, struct gt_node *page)
{
    struct gt_node *series = NULL;
    for (size_t gpu = 0; gpu < recording->machine->gpu_length; gpu++) {
        int line = gt_sample_course_find(recording->course, GT_SCOPE_GPU, GT_GPU_UTILIZATION, (int)gpu);
        char key[32], title[40];
        if (line < 0)
            continue;
        if (!series)
            series = gt_report_series(page, "gpu_over_time", "GPUs in use", "seconds", "percent",
                                      GT_ONLY_PEOPLE | GT_STRIPS);
        snprintf(key, sizeof key, "gpu_%zu", gpu);
        snprintf(title, sizeof title, "GPU %zu", gpu);
        int index = gt_series_line(series, key, title);
        add_points(recording->course, series, line, index, 0.01);
    }
    return series;
}

void gt_over_time_add(const struct gt_over_time *recording, struct gt_node *page)
{
    bool has_strips = false;
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++) {
        bool is_use = pictures[i].of[0].metric == GT_GPU_UTILIZATION;
        if (is_use)
            has_strips = add_strips(recording, page);
        if ((is_use && has_strips) || (is_of_gpus(&pictures[i]) && !recording->machine->gpu_count))
            continue;
        add_picture(recording, page, &pictures[i]);
    }
}

enum { SHOWN = 40 };

struct bar {
    const struct gt_process_record *record;
    double begin, end; /* seconds from the first sample */
};

static int by_length(const void *a, const void *b)
{
    const struct bar *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(y->end - y->begin, x->end - x->begin), GT_ORDER(x->record->number, y->record->number));
}

static int by_begin(const void *a, const void *b)
{
    const struct bar *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->begin, y->begin), GT_ORDER(x->record->number, y->record->number));
}

/* Times of processes count from the beginning of the tracking, those of charts from the first sample. */
static size_t find_bars(const struct gt_usage *usage, struct bar *bars)
{
    const struct gt_process_records *records = &usage->outcome->records;
    int64_t start = usage->machine->start_real_ns, first = usage->summary->first_real_ns;
    double shift = start > 0 && first > start ? (double)(first - start) / 1e9 : 0;
    double last = (double)(usage->summary->last_real_ns - first) / 1e9;
    size_t count = 0;
    for (size_t i = 0; i < records->count; i++) {
        const struct gt_process_record *record = &records->record[i];
        double begin = isnan(record->begin) ? 0 : fmax(record->begin - shift, 0);
        double end = isnan(record->end) ? last : record->end - shift;
        if (end > begin)
            bars[count++] = (struct bar){record, begin, end};
    }
    return count;
}

static void add_bars(struct gt_node *page, const struct bar *bars, size_t count, bool is_all)
{
    struct gt_node *series = gt_report_series(page, "processes_over_time",
                                              is_all ? "Processes" : "Processes, the 40 that lived longest", "seconds",
                                              "", GT_ONLY_PEOPLE | GT_LANES);
    for (size_t i = 0; i < count; i++) {
        char key[24], name[80];
        snprintf(key, sizeof key, "%lld", (long long)bars[i].record->pid);
        snprintf(name, sizeof name, "%s", *bars[i].record->name ? bars[i].record->name : key);
        int lane = gt_series_line(series, key, name);
        gt_series_band(series, lane, name, bars[i].begin, bars[i].end);
    }
}

void gt_process_lanes_add(const struct gt_usage *usage, struct gt_node *page)
{
    size_t records = usage->outcome->records.count;
    struct bar *bars = records > 1 ? malloc(records * sizeof *bars) : NULL;
    size_t count = bars ? find_bars(usage, bars) : 0, shown = count < SHOWN ? count : SHOWN;
    if (count > 1) {
        qsort(bars, count, sizeof *bars, by_length);
        qsort(bars, shown, sizeof *bars, by_begin);
        add_bars(page, bars, shown, shown == count);
    }
    free(bars);
}
