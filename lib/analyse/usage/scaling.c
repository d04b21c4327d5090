#include "analyse/usage/scaling.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyse/display.h"
#include "analyse/usage/usage.h"
#include "base/os/file.h"
#include "base/number.h"
#include "schema/human.h"
#include "store/field.h"

/* ---- The fit ---- */

static bool is_enough(const struct gt_scaling_point *points, size_t count)
{
    double first = count ? points[0].x : 0, second = first;
    if (count < GT_SCALING_LEAST)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (points[i].x != first && points[i].x != second && second != first)
            return true;
        second = points[i].x != first && second == first ? points[i].x : second;
    }
    return false;
}

/* Sen's interval: so many ranks on both sides of the median of the slopes, which are sorted. */
static void bound_slope(struct gt_scaling *ret, const double *slopes, size_t pairs, size_t count)
{
    double n = (double)count, half = 1.96 * sqrt(n * (n - 1) * (2 * n + 5) / 18);
    double low = floor(((double)pairs - half) / 2), high = ceil(((double)pairs + half) / 2);
    ret->slope_low = slopes[low > 0 ? (size_t)low : 0];
    ret->slope_high = slopes[high < (double)pairs ? (size_t)high : pairs - 1];
}

static void fit_line(struct gt_scaling *ret, const struct gt_scaling_point *points, size_t count, double *scratch)
{
    size_t pairs = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++)
            if (points[k].x != points[i].x)
                scratch[pairs++] = (points[k].y - points[i].y) / (points[k].x - points[i].x);
    ret->slope = gt_median(scratch, pairs);
    bound_slope(ret, scratch, pairs, count);
    for (size_t i = 0; i < count; i++)
        scratch[i] = points[i].y - ret->slope * points[i].x;
    ret->begin = gt_median(scratch, count);
    for (size_t i = 0; i < count; i++)
        scratch[i] = points[i].x;
    ret->centre = gt_median(scratch, count);
    ret->spread = 0;
    for (size_t i = 0; i < count; i++)
        ret->spread = fmax(ret->spread, fabs(points[i].y - ret->begin - ret->slope * points[i].x));
}

/* The median distance of a run from the fit, as a share of its figure. */
static double misfit(const struct gt_scaling *scaling, const struct gt_scaling_point *points, size_t count,
                     double *scratch)
{
    for (size_t i = 0; i < count; i++)
        scratch[i] = fabs(gt_scaling_at(scaling, points[i].x).best / points[i].y - 1);
    return gt_median(scratch, count);
}

static bool are_positive(const struct gt_scaling_point *points, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(points[i].x > 0) || !(points[i].y > 0))
            return false;
    return true;
}

int gt_scaling_fit(struct gt_scaling *ret, const struct gt_scaling_point *points, size_t count)
{
    struct gt_scaling power = {0};
    if (!is_enough(points, count))
        return -EDOM;
    *ret = (struct gt_scaling){.least_x = INFINITY, .most_x = -INFINITY};
    double *scratch = calloc(count * count, sizeof *scratch);
    struct gt_scaling_point *logarithms = calloc(count, sizeof *logarithms);
    if (!scratch || !logarithms) {
        free(scratch);
        free(logarithms);
        return -ENOMEM;
    }
    fit_line(ret, points, count, scratch);
    if (are_positive(points, count)) {
        for (size_t i = 0; i < count; i++)
            logarithms[i] = (struct gt_scaling_point){log(points[i].x), log(points[i].y)};
        fit_line(&power, logarithms, count, scratch);
        power.is_power = true;
        double line = misfit(ret, points, count, scratch);
        if (misfit(&power, points, count, scratch) < 0.9 * line)
            *ret = power;
    }
    ret->least_x = INFINITY;
    ret->most_x = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        ret->least_x = fmin(ret->least_x, points[i].x);
        ret->most_x = fmax(ret->most_x, points[i].x);
    }
    free(scratch);
    free(logarithms);
    return 0;
}

struct gt_scaling_range gt_scaling_at(const struct gt_scaling *scaling, double x)
{
    double at = scaling->is_power ? log(x) : x, away = at - scaling->centre;
    double best = scaling->begin + scaling->slope * at;
    double low = (scaling->slope_low - scaling->slope) * away, high = (scaling->slope_high - scaling->slope) * away;
    struct gt_scaling_range range = {best + fmin(low, high) - scaling->spread, best,
                                     best + fmax(low, high) + scaling->spread};
    if (scaling->is_power)
        return (struct gt_scaling_range){exp(range.low), exp(range.best), exp(range.high)};
    range.low = fmax(range.low, 0);
    return range;
}

/* ---- sizes of runs ---- */

/* The number that begins there: "1000", "1e6", "0.5"; NaN: none does. */
static double number_at(const char *text)
{
    return isdigit((unsigned char)*text) ? strtod(text, NULL) : NAN;
}

static double last_number(const char *name)
{
    const char *end = strrchr(name, '.'), *at = end && end > name ? end : name + strlen(name);
    while (at > name && !isdigit((unsigned char)at[-1]))
        at--;
    while (at > name &&
           (isdigit((unsigned char)at[-1]) || (at[-1] == '.' && at - 1 > name && isdigit((unsigned char)at[-2]))))
        at--;
    return number_at(at);
}

static double number_behind(const char *text, const char *word)
{
    double value = NAN;
    for (const char *at = text; *word && isnan(value) && (at = strstr(at, word)); at++)
        value = number_at(at + strlen(word) + strspn(at + strlen(word), " ="));
    return value;
}

/* The command's words are divided by blanks: names that hold some are not found. */
static double bytes_of_files(const char *command)
{
    char words[sizeof((struct gt_machine *)0)->command], *rest = words;
    double bytes = 0;
    struct stat about;
    snprintf(words, sizeof words, "%s", command);
    strsep(&rest, " "); /* the program */
    for (const char *word; (word = strsep(&rest, " "));)
        if (*word && stat(word, &about) == 0 && S_ISREG(about.st_mode))
            bytes += (double)about.st_size;
    return bytes > 0 ? bytes : NAN;
}

static double field_of(const char *name, const struct gt_machine *machine)
{
    const struct gt_field *field = gt_field_find(&gt_machine_fields, name);
    return !field || field->kind == GT_FIELD_TEXT ? NAN : gt_field_number(field, machine);
}

/* 0; the error of -EINVAL says why there is none. */
static int size_of_run(double *ret, const char *variable, const char *path, const struct gt_machine *machine,
                       struct gt_error *error)
{
    if (!strcmp(variable, "name"))
        *ret = last_number(gt_file_name(path));
    else if (!strncmp(variable, "name:", 5))
        *ret = number_behind(gt_file_name(path), variable + 5);
    else if (!strncmp(variable, "command:", 8))
        *ret = number_behind(machine->command, variable + 8);
    else if (!strcmp(variable, "size"))
        *ret = bytes_of_files(machine->command);
    else
        *ret = field_of(variable, machine);
    if (*ret > 0)
        return 0;
    return gt_error_set(error, EINVAL,
                        "%s: \"%s\" names no size of this run: name, name:TEXT, command:WORD, size or a static field",
                        path, variable);
}

/* ---- the report ---- */

struct gt_scaling_report {
    const char *variable;
    struct gt_report *report;
    struct gt_table *table;
    struct gt_scaling_point *memory, *time;
    size_t memories, times; /* runs that tell */
    struct gt_next_time next;
};

/* What failed does not tell what it takes. */
int gt_scaling_report_add(struct gt_scaling_report *runs, const char *path, const struct gt_usage *usage,
                          struct gt_error *error)
{
    double size, peak = gt_usage_peak(usage), elapsed = usage->outcome->elapsed;
    int status = size_of_run(&size, runs->variable, usage->recording, usage->machine, error);
    if (status < 0)
        return status;
    bool counts = usage->outcome->exit_status <= 0 && gt_usage_out_of_memory(usage) == GT_MEMORY_SUFFICED;
    if (counts && !isnan(peak))
        runs->memory[runs->memories++] = (struct gt_scaling_point){size, peak};
    if (counts && !isnan(elapsed))
        runs->time[runs->times++] = (struct gt_scaling_point){size, elapsed};
    if (counts)
        gt_next_time_add(&runs->next, usage);
    GT_CELLS(runs->table, path, size, peak, elapsed, counts ? NULL : "failed: left out");
    return 0;
}

/* "1.20 GB + 3.00 MB for each 1000", "grows with the power 2.01". */
static void describe(const struct gt_scaling *scaling, char *(*human)(char *, double), char *text, size_t size)
{
    char begin[GT_HUMAN_SIZE], slope[GT_HUMAN_SIZE], low[GT_HUMAN_SIZE], high[GT_HUMAN_SIZE], each[24] = "";
    double step = pow(1000, floor(log10(fmax(scaling->centre, 1)) / 3)); /* in which people count */
    if (step > 1)
        snprintf(each, sizeof each, " %.0f", step);
    if (scaling->is_power)
        snprintf(text, size, "grows with the power %.2f (%.2f to %.2f)", scaling->slope, scaling->slope_low,
                 scaling->slope_high);
    else
        snprintf(text, size, "%s + %s for each%s (%s to %s)", human(begin, scaling->begin),
                 human(slope, step * scaling->slope), each, human(low, step * scaling->slope_low),
                 human(high, step * scaling->slope_high));
}

struct figure {
    const char *key, *title;
    char *(*human)(char *, double);
    const char *unit;
};

static void add_range(struct gt_node *section, const struct gt_scaling *scaling, const struct figure *figure,
                      double size)
{
    char low[GT_HUMAN_SIZE], best[GT_HUMAN_SIZE], high[GT_HUMAN_SIZE], text[160];
    struct gt_scaling_range range = gt_scaling_at(scaling, size);
    bool is_far = size > 2 * scaling->most_x || size < scaling->least_x / 2;
    snprintf(text, sizeof text, "%s (%s to %s)%s", figure->human(best, range.best), figure->human(low, range.low),
             figure->human(high, range.high), is_far ? ", far from all runs" : "");
    gt_node_flags(gt_report_text(section, "expected_text", "Expected", text), GT_ONLY_PEOPLE);
    gt_node_flags(gt_report_number(section, "expected", "Expected", range.best, figure->unit), GT_ONLY_DATA);
    gt_node_flags(gt_report_number(section, "low", "At least", range.low, figure->unit), GT_ONLY_DATA);
    gt_node_flags(gt_report_number(section, "high", "At most", range.high, figure->unit), GT_ONLY_DATA);
}

static int add_figure(struct gt_node *root, const struct figure *figure, const struct gt_scaling_point *points,
                      size_t count, double size, struct gt_scaling *scaling, struct gt_error *error)
{
    char text[200];
    int status = gt_scaling_fit(scaling, points, count);
    if (status == -EDOM)
        return gt_error_set(
            error, EINVAL,
            count < GT_SCALING_LEAST
                ? "%zu runs that ended well are too few to tell how %s grows: it takes %d, of three sizes"
                : "the %zu runs that ended well have too few sizes to tell how %s grows: it takes %d "
                  "runs, of three sizes",
            count, figure->key, GT_SCALING_LEAST);
    if (status < 0)
        return gt_error_system(error, -status, "scaling");
    describe(scaling, figure->human, text, sizeof text);
    struct gt_node *section = gt_report_section(root, figure->key, figure->title);
    gt_report_text(section, "law", "Law", text);
    gt_node_flags(gt_report_number(section, "slope", "Slope", scaling->slope, NULL), GT_ONLY_DATA);
    gt_node_flags(gt_report_number(section, "slope_low", "At least", scaling->slope_low, NULL), GT_ONLY_DATA);
    gt_node_flags(gt_report_number(section, "slope_high", "At most", scaling->slope_high, NULL), GT_ONLY_DATA);
    gt_node_flags(gt_report_bool(section, "is_power", "Power", scaling->is_power), GT_ONLY_DATA);
    if (!isnan(size))
        add_range(section, scaling, figure, size);
    return 0;
}

int gt_scaling_report_open(struct gt_scaling_report **ret, const char *variable, size_t count, struct gt_error *error)
{
    struct gt_scaling_report *runs = calloc(1, sizeof *runs);
    if (!runs)
        return gt_error_system(error, ENOMEM, "scaling");
    int status = gt_report_new(&runs->report, "scaling", error);
    if (status < 0) {
        free(runs);
        return status;
    }
    runs->variable = variable;
    runs->memory = calloc(count + 1, sizeof *runs->memory);
    runs->time = calloc(count + 1, sizeof *runs->time);
    gt_next_time_init(&runs->next);
    runs->table = gt_report_table(&runs->report->root, "runs", "Runs");
    gt_table_column(runs->table, "recording", "Recording", GT_CELL_TEXT, NULL);
    gt_table_column(runs->table, "size", "Size", GT_CELL_NUMBER, NULL);
    gt_table_column(runs->table, "memory", "Memory, at most", GT_CELL_NUMBER, "bytes");
    gt_table_column(runs->table, "time", "Time", GT_CELL_NUMBER, "seconds");
    gt_table_column(runs->table, "remark", "Remark", GT_CELL_TEXT, NULL);
    if (runs->memory && runs->time) {
        *ret = runs;
        return 0;
    }
    gt_scaling_report_close(runs);
    return gt_error_system(error, ENOMEM, "scaling");
}

int gt_scaling_report_finish(struct gt_scaling_report *runs, double size, struct gt_report **ret,
                             struct gt_error *error)
{
    static const struct figure memory = {"memory", "Memory, at most", gt_human_bytes, "bytes"};
    static const struct figure time = {"time", "Time", gt_human_seconds, "seconds"};
    struct gt_scaling scaling[2];
    struct gt_node *root = &runs->report->root;
    int status = add_figure(root, &memory, runs->memory, runs->memories, size, &scaling[0], error);
    if (status >= 0)
        status = add_figure(root, &time, runs->time, runs->times, size, &scaling[1], error);
    if (status < 0)
        return status;
    if (!isnan(size)) { /* the upper ends of the intervals, and the most cores and GPUs that any run used */
        gt_next_time_expect(&runs->next, gt_scaling_at(&scaling[0], size).high, gt_scaling_at(&scaling[1], size).high);
        gt_next_time_requests(gt_report_section(root, "next_time", "To ask for"), &runs->next);
    }
    *ret = runs->report;
    runs->report = NULL;
    return status;
}

void gt_scaling_report_close(struct gt_scaling_report *runs)
{
    if (!runs)
        return;
    gt_report_free(runs->report);
    free(runs->memory);
    free(runs->time);
    free(runs);
}
