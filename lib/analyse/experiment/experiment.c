/* Curves of an experiment, and their figures.
 *
 * A value with a window is the mean over the time before it, so its share of a stretch of time is that of the
 * overlap, and integrals are exact. Without one, as AIPowerMeter records, a curve is straight between its points. */
#include "analyse/experiment/experiment.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyse/display.h"
#include "base/buffer.h"
#include "base/grow.h"
#include "base/json.h"
#include "record/aipowermeter.h"
#include "report/report.h"

static const char *const group_names[GT_EXPERIMENT_GROUPS] = {"CPU", "GPU", "Experiment", "wattmeter"};

/* The others are rates. */
static const struct {
    const char *name;
    enum gt_experiment_kind kind;
} kinds[] = {
    {"absolute_cpu_time_per_pid", GT_EXPERIMENT_AMOUNT},
    {"per_process_mem_use_abs", GT_EXPERIMENT_STATE},
    {"per_process_mem_use_percent", GT_EXPERIMENT_STATE},
    {"per_process_mem_use_uss", GT_EXPERIMENT_STATE},
    {"mem_use_abs", GT_EXPERIMENT_STATE},
    {"mem_use_percent", GT_EXPERIMENT_STATE},
    {"mem_use_uss", GT_EXPERIMENT_STATE},
    {"total_mem_use", GT_EXPERIMENT_STATE},
    {"temperature", GT_EXPERIMENT_STATE},
};

/* Names of the same figure in different versions, newer first: where a recording has one, the other is offered, too. */
static const struct {
    const char *name, *other;
} aliases[] = {
    {"nvidia_power", "nvidia_draw_absolute"},           {"per_gpu_nvidia_power", "per_gpu_power_draw"},
    {"per_gpu_attributable_mem_use", "nvidia_mem_use"}, {"per_gpu_absolute_percent_usage", "nvidia_sm_use"},
    {"per_process_mem_use_abs", "mem_use_abs"},         {"per_process_mem_use_percent", "mem_use_percent"},
    {"per_process_mem_use_uss", "mem_use_uss"},         {"per_process_cpu_uses", "cpu_uses"},
};

static enum gt_experiment_kind kind_of(enum gt_experiment_group group, const char *name)
{
    if (group == GT_EXPERIMENT_RESULTS)
        return GT_EXPERIMENT_STATE;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].name, name))
            return kinds[i].kind;
    return GT_EXPERIMENT_RATE;
}

static bool is_named(const struct gt_experiment_line *line, const char *name, const char *device)
{
    bool is_same_device = device && line->device ? !strcmp(line->device, device) : !device && !line->device;
    return is_same_device && !strcmp(line->name, name);
}

const struct gt_experiment_line *gt_experiment_find(const struct gt_experiment *experiment, const char *name,
                                                    const char *device)
{
    for (size_t i = 0; i < experiment->count; i++)
        if (is_named(&experiment->line[i], name, device))
            return &experiment->line[i];
    return NULL;
}

static struct gt_experiment_line *add_line(struct gt_experiment *experiment, enum gt_experiment_group group,
                                           const char *name, const char *device)
{
    if (GT_GROW_TO(experiment->line, experiment->capacity, experiment->count + 1) < 0)
        return NULL;
    struct gt_experiment_line line = {.group = group, .kind = kind_of(group, name), .name = strdup(name)};
    line.device = device ? strdup(device) : NULL;
    if (!line.name || (device && !line.device)) {
        free(line.name);
        free(line.device);
        return NULL;
    }
    experiment->line[experiment->count] = line;
    return &experiment->line[experiment->count++];
}

static int begin_segment(struct gt_experiment_line *line, uint32_t number)
{
    if (line->segment_count && line->segment[line->segment_count - 1].number == number)
        return 0;
    if (GT_GROW_TO(line->segment, line->segment_capacity, line->segment_count + 1) < 0)
        return -ENOMEM;
    line->segment[line->segment_count++] = (struct gt_experiment_stretch){.first = line->count, .number = number};
    return 0;
}

static int add_point(struct gt_experiment_line *line, uint32_t segment, struct gt_experiment_point point, double window)
{
    size_t capacity = line->capacity;
    if (begin_segment(line, segment) < 0 || GT_GROW_TO(line->window, capacity, line->count + 1) < 0 ||
        GT_GROW_TO(line->point, line->capacity, line->count + 1) < 0)
        return -ENOMEM;
    struct gt_experiment_stretch *stretch = &line->segment[line->segment_count - 1];
    size_t at = line->count; /* clocks may have been set back: points are kept by time */
    while (at > stretch->first && line->point[at - 1].date > point.date)
        at--;
    memmove(&line->point[at + 1], &line->point[at], (line->count - at) * sizeof *line->point);
    memmove(&line->window[at + 1], &line->window[at], (line->count - at) * sizeof *line->window);
    line->point[at] = point;
    line->window[at] = window;
    line->count++;
    stretch->count++;
    return 0;
}

int gt_experiment_add(struct gt_experiment *experiment, enum gt_experiment_group group, const char *name,
                      const char *device, struct gt_experiment_point point, double window)
{
    if (isnan(point.value) || isnan(point.date))
        return 0;
    struct gt_experiment_line *line = NULL;
    for (size_t i = 0; i < experiment->count && !line; i++)
        if (experiment->line[i].group == group && is_named(&experiment->line[i], name, device))
            line = &experiment->line[i];
    if (!line)
        line = add_line(experiment, group, name, device);
    return line ? add_point(line, experiment->segment, point, window) : -ENOMEM;
}

static int copy_line(struct gt_experiment *experiment, size_t from, const char *name)
{
    const struct gt_experiment_line original = experiment->line[from];
    uint32_t segment = experiment->segment;
    int status = 0;
    for (size_t s = 0; s < original.segment_count && status == 0; s++)
        for (size_t i = 0; i < original.segment[s].count && status == 0; i++) {
            size_t at = original.segment[s].first + i;
            experiment->segment = original.segment[s].number;
            status = gt_experiment_add(experiment, original.group, name, original.device, original.point[at],
                                       original.window[at]);
        }
    experiment->segment = segment;
    return status;
}

/* The other name of the figure, NULL for most. */
static const char *other_name(const char *name)
{
    for (size_t k = 0; k < sizeof aliases / sizeof *aliases; k++) {
        if (!strcmp(name, aliases[k].name))
            return aliases[k].other;
        if (!strcmp(name, aliases[k].other))
            return aliases[k].name;
    }
    return NULL;
}

static bool has_name(const struct gt_experiment *experiment, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(experiment->line[i].name, name))
            return true;
    return false;
}

static int offer_aliases(struct gt_experiment *experiment)
{
    size_t count = experiment->count;
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++) {
        const char *other = other_name(experiment->line[i].name);
        if (other && !has_name(experiment, count, other))
            status = copy_line(experiment, i, other);
    }
    for (size_t i = 0; i < count && status == 0; i++) {
        const struct gt_experiment_line *line = &experiment->line[i];
        if (!strcmp(line->name, "per_gpu_attributable_power") && line->device && !strcmp(line->device, "all") &&
            !has_name(experiment, count, "nvidia_attributable_power"))
            status = copy_line(experiment, i, "nvidia_attributable_power");
    }
    /* The sum over GPUs is a figure of none of them. */
    for (size_t i = count; i < experiment->count; i++)
        if (!strcmp(experiment->line[i].name, "nvidia_attributable_power")) {
            free(experiment->line[i].device);
            experiment->line[i].device = NULL;
        }
    return status;
}

static int read_folder(struct gt_experiment *experiment, const char *path, struct gt_error *error)
{
    static const struct {
        const char *file;
        int (*read)(struct gt_experiment *, const char *, struct gt_error *);
    } files[] = {
        {"power_metrics.json", gt_experiment_read_power},
        {"results_exp.json", gt_experiment_read_results},
        {"omegawatt.csv", gt_experiment_read_meter},
    };
    char name[4200];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(name, sizeof name, "%s/%s", path, files[i].file);
        int status = files[i].read(experiment, name, error);
        if (status < 0)
            return status;
    }
    return 0;
}

int gt_experiment_new(struct gt_experiment **ret, struct gt_error *error)
{
    struct gt_experiment *experiment = calloc(1, sizeof *experiment);
    if (!experiment)
        return gt_error_system(error, ENOMEM, "experiment");
    *ret = experiment;
    return 0;
}

int gt_experiment_put(struct gt_experiment *experiment, const struct gt_experiment_curve *curve, size_t segment,
                      const struct gt_experiment_point *point, double window, struct gt_error *error)
{
    enum gt_experiment_group group = 0;
    while (group < GT_EXPERIMENT_GROUPS && strcmp(group_names[group], curve->group) != 0)
        group++;
    if (group == GT_EXPERIMENT_GROUPS)
        return gt_error_set(error, EINVAL, "\"%s\" is not a group of curves", curve->group);
    experiment->segment = (uint32_t)segment;
    if (gt_experiment_add(experiment, group, curve->name, curve->device, *point, window) < 0)
        return gt_error_system(error, ENOMEM, "experiment");
    return 0;
}

int gt_experiment_complete(struct gt_experiment *experiment, const char *name, struct gt_error *error)
{
    if (experiment->count == 0)
        return gt_error_set(error, ENODATA, "%s has no recording of power", name);
    return offer_aliases(experiment) < 0 ? gt_error_system(error, ENOMEM, "%s", name) : 0;
}

int gt_experiment_open(struct gt_experiment **ret, const char *path, struct gt_error *error)
{
    struct stat file;
    struct gt_experiment *experiment = NULL;
    if (stat(path, &file) < 0)
        return gt_error_system(error, errno, "%s", path);
    int status = gt_experiment_new(&experiment, error);
    if (status < 0)
        return status;
    status = S_ISDIR(file.st_mode) ? read_folder(experiment, path, error)
                                   : gt_experiment_read_recording(experiment, path, error);
    if (status >= 0)
        status = gt_experiment_complete(experiment, path, error);
    if (status < 0) {
        gt_experiment_free(experiment);
        return status;
    }
    *ret = experiment;
    return 0;
}

void gt_experiment_free(struct gt_experiment *experiment)
{
    for (size_t i = 0; experiment && i < experiment->count; i++) {
        free(experiment->line[i].name);
        free(experiment->line[i].device);
        free(experiment->line[i].point);
        free(experiment->line[i].window);
        free(experiment->line[i].segment);
    }
    if (experiment) {
        free(experiment->line);
        free(experiment->model);
    }
    free(experiment);
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

int gt_experiment_curve(const struct gt_experiment *experiment, size_t index, struct gt_experiment_curve *ret)
{
    if (index >= experiment->count)
        return -ENOENT;
    const struct gt_experiment_line *line = &experiment->line[index];
    *ret = (struct gt_experiment_curve){group_names[line->group], line->name, line->device, line->segment_count};
    return 0;
}

size_t gt_experiment_points(const struct gt_experiment *experiment, size_t curve, size_t segment,
                            const struct gt_experiment_point **ret)
{
    if (curve >= experiment->count || segment >= experiment->line[curve].segment_count)
        return 0;
    const struct gt_experiment_line *line = &experiment->line[curve];
    *ret = &line->point[line->segment[segment].first];
    return line->segment[segment].count;
}

static double within(double value, double low, double high)
{
    return fmin(fmax(value, low), high);
}

/* Where point number `i` of a segment begins to count. */
static double begin_of(const struct gt_experiment_line *line, size_t i, bool is_first)
{
    double window = line->kind == GT_EXPERIMENT_STATE ? NAN : line->window[i];
    if (!isnan(window))
        return line->point[i].date - window;
    return is_first ? line->point[i].date : line->point[i - 1].date;
}

/* The integral of what lies between point i - 1 and point i, or in the window of point i, up to the bounds. */
static double part_of(const struct gt_experiment_line *line, size_t i, bool is_first, double start, double end)
{
    const struct gt_experiment_point *now = &line->point[i];
    double begin = begin_of(line, i, is_first), from = within(start, begin, now->date);
    double to = within(end, begin, now->date), length = now->date - begin;
    if (line->kind == GT_EXPERIMENT_AMOUNT && !(length > 0))
        return start <= now->date && now->date <= end ? now->value : 0;
    if (!(to > from))
        return 0;
    if (line->kind == GT_EXPERIMENT_AMOUNT)
        return now->value * (to - from) / length;
    if (line->kind == GT_EXPERIMENT_RATE && !isnan(line->window[i]))
        return now->value * (from == begin && to == now->date ? line->window[i] : to - from); /* dates are coarser */
    double slope = (now->value - now[-1].value) / length;
    return (to - from) * (now[-1].value + slope * ((from + to) / 2 - begin));
}

struct sums {
    double duration, total, maximum, first, last;
};

static void add_segment(const struct gt_experiment_line *line, const struct gt_experiment_stretch *segment,
                        double start, double end, struct sums *sums)
{
    for (size_t i = segment->first; i < segment->first + segment->count; i++) {
        bool is_first = i == segment->first;
        const struct gt_experiment_point *point = &line->point[i];
        double begin = begin_of(line, i, is_first);
        if (begin > end || point->date < start)
            continue;
        sums->duration += within(end, begin, point->date) - within(start, begin, point->date);
        sums->total += part_of(line, i, is_first, start, end);
        sums->first = fmin(sums->first, fmax(begin, start));
        sums->last = fmax(sums->last, fmin(point->date, end));
        if (point->date <= end && !(sums->maximum >= point->value))
            sums->maximum = point->value;
    }
}

/* One point alone, or several at one moment, have no time to be divided by. */
static double mean_at(const struct gt_experiment_line *line, double start, double end)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < line->count; i++)
        if (line->point[i].date >= start && line->point[i].date <= end) {
            sum += line->point[i].value;
            count++;
        }
    return count ? sum / (double)count : NAN;
}

void gt_experiment_figures(const struct gt_experiment *experiment, size_t curve, double start, double end,
                           struct gt_experiment_figures *ret)
{
    const struct gt_experiment_line *line = &experiment->line[curve];
    double from = isnan(start) ? -INFINITY : start, to = isnan(end) ? INFINITY : end;
    struct sums sums = {0, 0, NAN, INFINITY, -INFINITY};
    for (size_t s = 0; s < line->segment_count; s++)
        add_segment(line, &line->segment[s], from, to, &sums);
    bool is_any = sums.first <= sums.last;
    *ret = (struct gt_experiment_figures){
        .duration = is_any ? sums.duration : NAN,
        .start = is_any ? sums.first : NAN,
        .end = is_any ? sums.last : NAN,
        .total = is_any ? sums.total : NAN,
        .average = sums.duration > 0 ? sums.total / sums.duration : mean_at(line, from, to),
        .maximum = sums.maximum,
    };
}

/* The recorder's own time: that of its curve that lasts longest, of the processors and GPUs if there are any. */
void gt_experiment_span(const struct gt_experiment *experiment, double start, double end,
                        struct gt_experiment_figures *ret)
{
    struct gt_experiment_figures one;
    *ret = (struct gt_experiment_figures){NAN, NAN, NAN, NAN, NAN, NAN};
    for (int pass = 0; pass < 2 && isnan(ret->duration); pass++)
        for (size_t i = 0; i < experiment->count; i++) {
            if (experiment->line[i].group > GT_EXPERIMENT_GPU && pass == 0)
                continue;
            gt_experiment_figures(experiment, i, start, end, &one);
            if (!(ret->duration >= one.duration) && !isnan(one.duration))
                *ret = (struct gt_experiment_figures){one.duration, one.start, one.end, NAN, NAN, NAN};
        }
}

/* ---- at moments of one's choosing -------------------------------------------------------------------------------- */

static double value_at(const struct gt_experiment_line *line, double time)
{
    for (size_t s = 0; s < line->segment_count; s++) {
        const struct gt_experiment_stretch *segment = &line->segment[s];
        for (size_t i = segment->first; i < segment->first + segment->count; i++) {
            const struct gt_experiment_point *now = &line->point[i];
            double begin = begin_of(line, i, i == segment->first);
            if (!(begin <= time && time <= now->date))
                continue;
            if (line->kind != GT_EXPERIMENT_STATE && !isnan(line->window[i]))
                return now->value;
            if (time == now->date || i == segment->first)
                return now->value;
            return now[-1].value + (now->value - now[-1].value) * (time - begin) / (now->date - begin);
        }
    }
    return NAN;
}

void gt_experiment_interpolate(const struct gt_experiment *experiment, size_t curve, int cumulative,
                               const double *times, size_t count, double *values)
{
    struct gt_experiment_figures whole, part;
    gt_experiment_figures(experiment, curve, NAN, NAN, &whole);
    for (size_t i = 0; i < count; i++) {
        values[i] = cumulative ? NAN : value_at(&experiment->line[curve], times[i]);
        if (!cumulative || !(whole.start <= times[i] && times[i] <= whole.end))
            continue;
        gt_experiment_figures(experiment, curve, NAN, times[i], &part);
        values[i] = part.total;
    }
}

/* ---- the summary, under AIPowerMeter's names: joules for power, means and maxima for the rest ---- */

enum figure { TOTAL, AVERAGE, MAXIMUM };

static const struct row {
    enum gt_experiment_group group;
    const char *key, *title, *curve;
    enum figure figure;
    const char *unit;
    bool is_per_device;
} rows[] = {
    {GT_EXPERIMENT_CPU, "total_psys_power", "Platform", "psys_power", TOTAL, "joules", false},
    {GT_EXPERIMENT_CPU, "total_intel_power", "Processor packages", "intel_power", TOTAL, "joules", false},
    {GT_EXPERIMENT_CPU, "rel_intel_power", "Processor packages, this experiment", "rel_intel_power", TOTAL, "joules",
     false},
    {GT_EXPERIMENT_CPU, "total_dram_power", "Memory", "total_dram_power", TOTAL, "joules", false},
    {GT_EXPERIMENT_CPU, "total_cpu_power", "Cores", "total_cpu_power", TOTAL, "joules", false},
    {GT_EXPERIMENT_CPU, "rel_dram_power", "Memory, this experiment", "per_process_dram_power", TOTAL, "joules", false},
    {GT_EXPERIMENT_CPU, "rel_cpu_power", "Cores, this experiment", "per_process_cpu_power", TOTAL, "joules", false},
    {GT_EXPERIMENT_CPU, "cpu_time", "CPU time", "absolute_cpu_time_per_pid", TOTAL, "seconds", false},
    {GT_EXPERIMENT_CPU, "mem_use_abs", "Average RAM", "per_process_mem_use_abs", AVERAGE, "bytes", false},
    {GT_EXPERIMENT_CPU, "mem_use_uss", "Average RAM, unshared", "per_process_mem_use_uss", AVERAGE, "bytes", false},
    {GT_EXPERIMENT_GPU, "abs_nvidia_power", "GPUs", "nvidia_power", TOTAL, "joules", false},
    {GT_EXPERIMENT_GPU, "rel_nvidia_power", "GPUs, this experiment", "nvidia_attributable_power", TOTAL, "joules",
     false},
    {GT_EXPERIMENT_GPU, "nvidia_memory", "Average GPU RAM", "nvidia_memory", AVERAGE, "bytes", false},
    {GT_EXPERIMENT_GPU, "nvidia_use_rate", "Average GPU utilization", "nvidia_use_rate", AVERAGE, "percent", false},
    {GT_EXPERIMENT_GPU, "nvidia_mem_use_abs", "Max GPU RAM", "nvidia_mem_use", MAXIMUM, "bytes", true},
    {GT_EXPERIMENT_GPU, "nvidia_average_sm", "Average SM use", "nvidia_sm_use", AVERAGE, "", true},
    {GT_EXPERIMENT_GPU, "per_gpu_attributable_power", "Each GPU, this experiment", "per_gpu_attributable_power", TOTAL,
     "joules", true},
};

static double pick(const struct gt_experiment_figures *figures, enum figure figure)
{
    return figure == TOTAL ? figures->total : figure == AVERAGE ? figures->average : figures->maximum;
}

static void add_row(struct gt_node *section, const struct gt_experiment *experiment, const struct row *row,
                    double start, double end)
{
    struct gt_experiment_figures figures;
    struct gt_node *devices = NULL;
    double value = NAN;
    for (size_t i = 0; i < experiment->count; i++) {
        const struct gt_experiment_line *line = &experiment->line[i];
        if (strcmp(line->name, row->curve) != 0)
            continue;
        gt_experiment_figures(experiment, i, start, end, &figures);
        value = pick(&figures, row->figure);
        if (row->is_per_device && line->device) {
            devices = devices ? devices : gt_report_section(section, row->key, row->title);
            gt_report_number(devices, line->device, line->device, value, row->unit);
        }
    }
    if (!devices)
        gt_report_number(section, row->key, row->title, value, row->unit);
}

static bool has_group(const struct gt_experiment *experiment, enum gt_experiment_group group)
{
    for (size_t i = 0; i < experiment->count; i++)
        if (experiment->line[i].group == group)
            return true;
    return false;
}

static void add_group(struct gt_node *root, const struct gt_experiment *experiment, enum gt_experiment_group group,
                      double start, double end)
{
    if (!has_group(experiment, group))
        return;
    bool is_cpu = group == GT_EXPERIMENT_CPU;
    struct gt_node *section = gt_report_section(root, is_cpu ? "cpu" : "gpu", is_cpu ? "CPU" : "GPU");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].group == group)
            add_row(section, experiment, &rows[i], start, end);
}

static void add_meter(struct gt_node *root, const struct gt_experiment *experiment, double start, double end)
{
    struct gt_node *section = NULL;
    struct gt_experiment_figures figures;
    for (size_t i = 0; i < experiment->count; i++) {
        if (experiment->line[i].group != GT_EXPERIMENT_METER)
            continue;
        section = section ? section : gt_report_section(root, "wattmeter", "Power meter");
        gt_experiment_figures(experiment, i, start, end, &figures);
        gt_report_number(section, experiment->line[i].name, experiment->line[i].name, figures.total, "joules");
    }
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

int gt_experiment_set_model(struct gt_experiment *experiment, const char *json, struct gt_error *error)
{
    json_error_t trouble = {0};
    json_t *model = json_loads(json, JSON_ALLOW_NUL, &trouble);
    if (!json_is_object(model)) {
        json_decref(model);
        return gt_error_set(error, EINVAL, "the model's summary is not a JSON object%s%s", *trouble.text ? ": " : "",
                            trouble.text);
    }
    char *text = json_dumps(model, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(model);
    if (!text)
        return gt_error_system(error, ENOMEM, "the model's summary");
    free(experiment->model);
    experiment->model = text;
    return 0;
}

static void add_model(struct gt_node *root, const struct gt_experiment *experiment)
{
    static const struct {
        const char *key, *title, *unit;
    } counts[] = {
        {"total_params", "Parameters", ""},
        {"trainable_params", "Trainable parameters", ""},
        {"total_mult_adds", "Multiplications and additions of a forward pass", ""},
    };
    json_t *model = experiment->model ? json_loads(experiment->model, JSON_ALLOW_NUL, NULL) : NULL;
    struct gt_node *section = NULL;
    for (size_t i = 0; model && i < sizeof counts / sizeof *counts; i++) {
        const json_t *count = json_object_get(model, counts[i].key);
        if (!json_is_number(count))
            continue;
        section = section ? section : gt_report_section(root, "model", "Model");
        gt_report_count(section, counts[i].key, counts[i].title, json_number_value(count), counts[i].unit);
    }
    json_decref(model);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Local time, as AIPowerMeter tells it, with the zone. */
static void add_date(struct gt_node *root, const char *key, const char *title, double date)
{
    char text[64];
    gt_experiment_date_text(text, sizeof text, isnan(date) ? 0 : (int64_t)nearbyint(date * 1e6) * 1000, true);
    gt_report_text(root, key, title, isnan(date) ? NULL : text);
}

double gt_experiment_total_power(const struct gt_experiment *experiment, double start, double end)
{
    static const char *const names[] = {"intel_power", "nvidia_power"};
    struct gt_experiment_figures figures;
    double sum = NAN;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct gt_experiment_line *line = gt_experiment_find(experiment, names[i], NULL);
        if (!line)
            continue;
        gt_experiment_figures(experiment, (size_t)(line - experiment->line), start, end, &figures);
        if (!isnan(figures.total))
            sum = (isnan(sum) ? 0 : sum) + figures.total;
    }
    return sum;
}

static bool is_listed(const struct gt_experiment *experiment, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (!strcmp(experiment->line[i].name, experiment->line[index].name))
            return true;
    return false;
}

int gt_experiment_listing(const struct gt_experiment *experiment, char **ret, struct gt_error *error)
{
    struct gt_buffer text = {0};
    struct gt_experiment_curve curve;
    for (enum gt_experiment_group group = 0; group < GT_EXPERIMENT_GROUPS; group++) {
        size_t count = 0;
        gt_buffer_printf(&text, "%s\n", group_names[group]);
        for (size_t i = 0; gt_experiment_curve(experiment, i, &curve) == 0; i++)
            if (experiment->line[i].group == group && !is_listed(experiment, i))
                gt_buffer_printf(&text, "%s%s", count++ ? ", " : "  ", curve.name);
        gt_buffer_text(&text, count ? "\n" : "  not available\n");
    }
    if (text.failed) {
        gt_buffer_release(&text);
        return gt_error_system(error, ENOMEM, "experiment");
    }
    *ret = text.data;
    return 0;
}

int gt_experiment_summary(const struct gt_experiment *experiment, double start, double end, struct gt_report **ret,
                          struct gt_error *error)
{
    struct gt_report *report;
    struct gt_experiment_figures span;
    int status = gt_report_new(&report, "experiment", error);
    if (status < 0)
        return status;
    gt_experiment_span(experiment, start, end, &span);
    struct gt_node *root = gt_report_section(&report->root, "experiment", "Experiment");
    gt_report_number(root, "duration", "Duration", span.duration, "seconds");
    add_date(root, "start", "Start", span.start);
    add_date(root, "end", "End", span.end);
    add_model(root, experiment);
    add_group(root, experiment, GT_EXPERIMENT_CPU, start, end);
    add_group(root, experiment, GT_EXPERIMENT_GPU, start, end);
    add_meter(root, experiment, start, end);
    return gt_display_end(ret, report, 0, "experiment", error);
}
