/* Use of each resource: statistics over its samples, whole or phase by phase. Dimensions are kept apart: the use of
 * a GPU and the use of its memory are two figures. */
#include "analyse/trace/utilization.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/display.h"
#include "analyse/gpu/lists.h"
#include "analyse/trace/phases.h"
#include "analyse/views.h"
#include "base/number.h"
#include "schema/human.h"
#include "schema/metric.h"

/* ---- samples ---- */

/* Series of our recordings are named by their metric; NULL: it is of another tool. */
static const struct gt_metric *metric_of(const char *dimension)
{
    int metric = dimension ? gt_metric_find(dimension) : -1;
    return metric < 0 ? NULL : &gt_metrics[metric];
}

static bool is_ratio(const char *dimension)
{
    const struct gt_metric *metric = metric_of(dimension);
    return metric && metric->unit == GT_RATIO;
}

/* SMDebug's dimensions that are not percent: what I/O and networks move. */
static bool is_share(const char *device, const char *dimension)
{
    return is_ratio(dimension) || (dimension && (strstr(dimension, "Utilization") || strstr(dimension, "Percent"))) ||
           (device && strstr(device, "Percent"));
}

/* Of counters and of maxima so far neither a mean nor a percentile says anything of use, nor does one of flags. */
static bool has_statistics(const char *dimension)
{
    const struct gt_metric *metric = metric_of(dimension);
    return !metric || (metric->kind == GT_GAUGE && metric->unit != GT_BITS);
}

/* NULL: it is not known. */
static const char *unit_of(const char *device, const char *dimension)
{
    const struct gt_metric *metric = metric_of(dimension);
    if (is_share(device, dimension))
        return "percent";
    return metric ? gt_unit_name(metric->unit) : NULL;
}

/* Is it what the user asked for? */
static bool is_wanted(const struct gt_trace *trace, const struct gt_trace_series *series, const char *device)
{
    return !device || strcmp(gt_trace_text(trace, series->type), device) == 0 ||
           strncmp(gt_trace_text(trace, series->name), device, strlen(device)) == 0 ||
           strncmp(gt_trace_text(trace, series->dimension), device, strlen(device)) == 0;
}

/* Returns the columns of samples but for time and value, and the factor of these. */
static struct gt_rows rows_of_series(const struct gt_analysis_input *input)
{
    const struct gt_trace *trace = input->trace;
    struct gt_rows rows = gt_rows_new(input->query, trace->series_count);
    uint32_t *number = gt_rows_add_keys(&rows, "series", NULL), *node = gt_rows_add_keys(&rows, "node", NULL);
    uint32_t *type = gt_rows_add_keys(&rows, "resource", NULL), *name = gt_rows_add_keys(&rows, "device", NULL);
    uint32_t *dimension = gt_rows_add_keys(&rows, "dimension", NULL);
    uint32_t *wanted = gt_rows_add_keys(&rows, "is_wanted", NULL), *share = gt_rows_add_keys(&rows, "is_share", NULL);
    uint32_t *statistics = gt_rows_add_keys(&rows, "has_statistics", NULL);
    double *factor = gt_rows_add_reals(&rows, "factor");
    for (size_t i = 0; i < rows.count; i++) {
        const struct gt_trace_series *of = &trace->series[i];
        const char *text = gt_trace_text(trace, of->dimension);
        number[i] = (uint32_t)i;
        node[i] = of->node != GT_TRACE_NONE ? gt_analysis_place(input, of->node) : input->node[of->file];
        type[i] = gt_analysis_place(input, of->type);
        name[i] = gt_analysis_place(input, of->name);
        dimension[i] = gt_analysis_place(input, of->dimension);
        wanted[i] = is_wanted(trace, of, input->options->device);
        share[i] = is_share(gt_trace_text(trace, of->name), text);
        statistics[i] = has_statistics(text);
        factor[i] = is_ratio(text) ? 100 : 1;
    }
    return rows;
}

struct gt_rows gt_rows_of_samples(const struct gt_analysis_input *input)
{
    const struct gt_trace_samples *samples = &input->trace->samples;
    struct gt_rows series = rows_of_series(input), rows = gt_rows_new(input->query, samples->count);
    uint32_t *number = gt_rows_add_keys(&rows, "series", NULL);
    int64_t *time = gt_rows_add_wholes(&rows, "time");
    double *value = gt_rows_add_reals(&rows, "value");
    for (size_t i = 0; i < rows.count; i++)
        number[i] = samples->series[i];
    gt_rows_join(&rows, &series, "series", GT_RESOURCE_KEYS " is_wanted is_share has_statistics factor");
    const double *factor = gt_rows_reals(&rows, "factor");
    for (size_t i = 0; i < rows.count; i++) {
        time[i] = samples->time[i];
        value[i] = factor[i] * samples->value[i];
    }
    return rows;
}

/* ---- figures ---- */

/* "171 MB", "12.4 %", "2". */
static void write_figure(struct gt_buffer *out, double value, const char *unit)
{
    static const struct {
        const char *unit, *shown;
        double by;
    } others[] = {{"percent", " %", 1}, {"celsius", " C", 1}, {"hertz", " MHz", 1e6}};
    char number[GT_HUMAN_SIZE];
    gt_buffer_clear(out);
    if (gt_human_amount(out, value, unit))
        return;
    for (size_t i = 0; unit && i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i].unit, unit) == 0) {
            gt_buffer_printf(out, "%s%s", gt_human_number(number, value / others[i].by), others[i].shown);
            return;
        }
    gt_buffer_text(out, gt_human_number(number, value));
}

static const char *const figures[] = {"mean", "min", "max", "p50", "p95", "p99"};
enum { FIGURES = sizeof figures / sizeof *figures };

/* ---- the report ---- */

struct titles {
    const char **title; /* sorted by first appearance */
    size_t count;
    size_t *of_interval;
    int64_t *latest; /* the latest end up to each interval, node by node */
};

static int64_t end_of(const struct gt_phase_interval *interval)
{
    return interval->end + interval->is_last;
}

static int number_titles(const struct gt_phases *phases, struct titles *titles)
{
    titles->title = calloc(phases->count + 1, sizeof *titles->title);
    titles->of_interval = calloc(phases->count + 1, sizeof *titles->of_interval);
    titles->latest = calloc(phases->count + 1, sizeof *titles->latest);
    if (!titles->title || !titles->of_interval || !titles->latest)
        return -ENOMEM;
    for (size_t i = 0; i < phases->count; i++) {
        const struct gt_phase_interval *interval = &phases->interval[i];
        size_t at = 0;
        while (at < titles->count && strcmp(titles->title[at], interval->title) != 0)
            at++;
        if (at == titles->count)
            titles->title[titles->count++] = interval->title;
        titles->of_interval[i] = at;
        bool same = i && phases->interval[i - 1].node == interval->node;
        titles->latest[i] = same && titles->latest[i - 1] > end_of(interval) ? titles->latest[i - 1] : end_of(interval);
    }
    return 0;
}

static void release_titles(struct titles *titles)
{
    free(titles->title);
    free(titles->of_interval);
    free(titles->latest);
}

/* The interval of a node that began last and holds the moment; its title's number, or SIZE_MAX. */
static size_t title_at(const struct gt_phases *phases, const struct titles *titles, uint32_t node, int64_t time)
{
    size_t low = GT_SEARCH(0, phases->count, middle,
                           phases->interval[middle].node != node ? phases->interval[middle].node < node
                                                                 : phases->interval[middle].start <= time);
    while (low > 0 && phases->interval[low - 1].node == node && titles->latest[low - 1] > time)
        if (end_of(&phases->interval[--low]) > time)
            return titles->of_interval[low];
    return SIZE_MAX;
}

/* The node by whose phases samples of a host are told apart: itself, or the first of the processes that ran on it. */
static uint32_t node_with_phases(const struct gt_analysis_input *input, const struct gt_phases *phases, uint32_t host)
{
    uint32_t first = host;
    for (size_t i = phases->count; i-- > 0;) {
        if (phases->interval[i].node == host)
            return host;
        if (gt_analysis_is_host(input, host, phases->interval[i].node))
            first = phases->interval[i].node;
    }
    return first;
}

/* Number the phase in which each sample lies, and keep those that lie in one. */
static void add_phases(const struct gt_analysis_input *input, const struct gt_phases *phases,
                       const struct titles *titles, struct gt_rows *samples)
{
    struct gt_rows nodes = gt_rows_group(samples, "node", GT_AGGREGATES({.as = NULL}));
    const uint32_t *node = gt_rows_keys(&nodes, "node");
    uint32_t *of = gt_rows_add_keys(&nodes, "node_with_phases", NULL);
    for (size_t i = 0; i < nodes.count; i++)
        of[i] = node_with_phases(input, phases, node[i]);
    gt_rows_join(samples, &nodes, "node", "node_with_phases");
    const int64_t *time = gt_rows_wholes(samples, "time");
    uint32_t *phase = gt_rows_add_keys(samples, "phase", titles->title);
    of = gt_rows_keys(samples, "node_with_phases");
    for (size_t i = 0; i < samples->count; i++) {
        size_t title = title_at(phases, titles, of[i], time[i]);
        phase[i] = title == SIZE_MAX ? GT_NO_KEY : (uint32_t)title;
    }
    *samples = gt_rows_known(samples, "phase");
}

static const char *const data_columns[] = {
    "text:node text:resource text:device text:dimension integer:samples " GT_NUMBERS_COLUMNS,
    "text:node text:phase text:resource text:device text:dimension integer:samples " GT_NUMBERS_COLUMNS};

static struct gt_table *make_table(struct gt_node *root, bool by_phase)
{
    struct gt_table *table = gt_analysis_table(
        root, "utilization", "Utilization",
        by_phase ? "text:node text:phase text:resource text:device text:dimension integer:samples"
                 : "text:node text:resource text:device text:dimension integer:samples");
    gt_analysis_columns(table, GT_NUMBERS_COLUMNS " text:unit", GT_COLUMN_ONLY_DATA);
    for (int i = 0; i < FIGURES; i++)
        gt_display_column(table, figures[i], figures[i], GT_CELL_TEXT, NULL, GT_COLUMN_ONLY_PEOPLE | GT_COLUMN_FIGURE);
    return table;
}

static void put_rows(const struct gt_analysis_input *input, const struct gt_rows *rows, struct gt_table *table,
                     bool by_phase)
{
    const uint32_t *device = gt_rows_keys(rows, "device"), *dimension = gt_rows_keys(rows, "dimension");
    struct gt_buffer text = {0};
    for (size_t i = 0; i < rows->count; i++) {
        const char *unit = unit_of(gt_analysis_text(input, device[i]), gt_analysis_text(input, dimension[i]));
        gt_rows_put_row(input, table, rows, i, data_columns[by_phase]);
        gt_table_text(table, unit);
        for (int k = 0; k < FIGURES; k++) {
            write_figure(&text, gt_rows_reals(rows, figures[k])[i], unit);
            gt_table_text(table, text.data);
        }
    }
    gt_buffer_release(&text);
}

/* Returns what is left out of the wanted resources, or NULL. */
static const char *left_out(const struct gt_analysis_input *input)
{
    struct gt_rows series = rows_of_series(input);
    series = gt_rows_where(&series, "is_wanted", true);
    series = gt_rows_where(&series, "has_statistics", false);
    return series.count ? "counters, and maxima so far: gpu-tracker report has them" : NULL;
}

static int add_table(const struct gt_analysis_input *input, struct gt_node *root, const struct gt_phases *phases,
                     const struct titles *titles, bool by_phase)
{
    struct gt_table *table = make_table(root, by_phase);
    struct gt_rows rows = gt_rows_of_samples(input);
    rows = gt_rows_where(&rows, "is_wanted", true);
    rows = gt_rows_where(&rows, "has_statistics", true);
    if (by_phase)
        add_phases(input, phases, titles, &rows);
    rows = gt_rows_group(&rows, by_phase ? GT_RESOURCE_KEYS " phase" : GT_RESOURCE_KEYS,
                         GT_AGGREGATES(GT_COUNT("samples"), GT_MEAN("mean", "value"), GT_MIN("min", "value"),
                                       GT_MAX("max", "value"), GT_QUANTILE("p50", "value", 0.5),
                                       GT_QUANTILE("p95", "value", 0.95), GT_QUANTILE("p99", "value", 0.99)));
    put_rows(input, &rows, table, by_phase);
    const char *rest = left_out(input);
    gt_analysis_empty(root, table,
                      by_phase && !titles->count ? "no training phase of that name, and no steps"
                      : rest                     ? rest
                                                 : "no samples of system metrics");
    if (rest && table && gt_table_rows(table))
        gt_report_text(root, "left_out", "Left out", rest);
    return gt_query_status(input->query);
}

static int build_utilization(const struct gt_analysis_input *input, struct gt_node *root)
{
    static const char *const choices[] = {"device", "phase", "training_phase", NULL};
    struct gt_phases phases = {0};
    struct titles titles = {0};
    int by = gt_analysis_by(input, choices);
    int status = by < 0 ? by : by > 0 ? gt_phases_find(input, false, &phases) : 0;
    if (status >= 0)
        status = number_titles(&phases, &titles);
    if (status >= 0)
        status = add_table(input, root, &phases, &titles, by > 0);
    release_titles(&titles);
    gt_phases_release(&phases);
    return status;
}

const struct gt_analysis gt_analysis_utilization = {
    .name = "utilization",
    .group = "machine",
    .help = "use of CPUs, GPUs, GPU memory and others by node; --device gpu; --by phase with --phase NAME",
    .takes = GT_TAKES_BY | GT_TAKES_PHASES | GT_TAKES_DEVICE | GT_TAKES_TOP,
    .build = build_utilization,
};

/* ---- devices ----
 * How often devices are busy, and for how long GPUs stand idle.
 *
 * A sample counts for the first range that holds it, bounds included; those that none holds, as of several cores together,
 * have a row of their own. A GPU is idle while its use lies in the last
 * range: a span lasts from the first such sample to the first one after it that is not. */

enum { RANGES = 16 };

struct ranges {
    double low[RANGES], high[RANGES];
    size_t count;
};

static int take_range(struct ranges *ranges, const char *text, size_t length)
{
    char word[64], *dash;
    if (ranges->count == RANGES || length >= sizeof word)
        return -EINVAL;
    memcpy(word, text, length);
    word[length] = '\0';
    if (!(dash = strchr(word, '-')))
        return -EINVAL;
    *dash = '\0';
    double low, high;
    if (gt_number_double(word, &low) < 0 || gt_number_double(dash + 1, &high) < 0 || low > high)
        return -EINVAL;
    ranges->low[ranges->count] = low;
    ranges->high[ranges->count++] = high;
    return 0;
}

static int parse_ranges(struct ranges *ranges, const char *text, struct gt_error *error)
{
    const char *at = text;
    for (;;) {
        size_t length = strcspn(at, ",");
        if (take_range(ranges, at, length) < 0)
            return gt_error_set(error, EINVAL, "ranges '%s': at most %d ranges of percent, as in 90-100,10-90,0-10",
                                text, RANGES);
        if (!at[length])
            return 0;
        at += length + 1;
    }
}

static size_t range_of(const struct ranges *ranges, double value)
{
    for (size_t i = 0; i < ranges->count; i++)
        if (value >= ranges->low[i] && value <= ranges->high[i])
            return i;
    return ranges->count;
}

/* The last is of those that are in no range. */
static void add_usage(const struct gt_analysis_input *input, struct gt_table *table, const struct ranges *ranges,
                      const struct gt_rows *samples, size_t from, size_t to)
{
    int64_t in[RANGES + 1] = {0};
    for (size_t i = from; i < to; i++)
        in[range_of(ranges, gt_rows_reals(samples, "value")[i])]++;
    for (size_t i = 0; i < ranges->count + (in[ranges->count] > 0); i++) {
        char range[2 * GT_NUMBER_SIZE + 8] = "outside";
        if (i < ranges->count)
            snprintf(range, sizeof range, "%g-%g", ranges->low[i], ranges->high[i]);
        gt_rows_put_row(input, table, samples, from, "text:node text:device text:dimension");
        GT_CELLS(table, range, in[i], 100 * (double)in[i] / (double)(to - from));
    }
}

/* The dimension tells of the GPU itself, not of its memory. */
static bool is_gpu_use(const char *dimension)
{
    return dimension && (strcmp(dimension, "GPUUtilization") == 0 || strcmp(dimension, "gpu_utilization") == 0);
}

static void find_idle(const struct gt_analysis_input *input, struct gt_table *table, const struct ranges *ranges,
                      const struct gt_rows *samples, size_t from, size_t to)
{
    const int64_t *time = gt_rows_wholes(samples, "time");
    const double *value = gt_rows_reals(samples, "value");
    size_t first = SIZE_MAX;
    for (size_t i = from; i <= to; i++) {
        bool idle = i < to && range_of(ranges, value[i]) == ranges->count - 1;
        if (idle && first == SIZE_MAX)
            first = i;
        if (idle || first == SIZE_MAX)
            continue;
        int64_t end = time[i < to ? i : to - 1];
        gt_rows_put_row(input, table, samples, from, "text:node text:device");
        GT_CELLS(table, gt_analysis_us(input, time[first]), gt_analysis_us(input, end),
                 (double)(end - time[first]) / 1e3, (int64_t)(i - first));
        first = SIZE_MAX;
    }
}

static int build_devices(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct ranges ranges = {0};
    struct gt_table *table = gt_analysis_table(
        root, "devices", "Devices", "text:node text:device text:dimension text:range integer:samples number:percent");
    struct gt_table *idle = gt_analysis_table(root, "idle", "Idle GPUs",
                                              "text:node text:device number:start_us number:end_us number:duration_us "
                                              "integer:samples");
    int status = parse_ranges(&ranges, input->options->ranges ? input->options->ranges : "90-100,10-90,0-10",
                              input->error);
    struct gt_rows samples = gt_rows_of_samples(input);
    samples = gt_rows_where(&samples, "is_wanted", true);
    samples = gt_rows_where(&samples, "is_share", true);
    gt_rows_sort(&samples, GT_RESOURCE_KEYS " time value");
    for (size_t from = 0, to; from < samples.count && status >= 0; from = to) {
        to = gt_rows_run(&samples, GT_RESOURCE_KEYS, from);
        add_usage(input, table, &ranges, &samples, from, to);
        if (is_gpu_use(gt_analysis_text(input, gt_rows_keys(&samples, "dimension")[from])))
            find_idle(input, idle, &ranges, &samples, from, to);
    }
    gt_analysis_empty(root, table, "no samples of system metrics");
    gt_analysis_empty(root, idle, NULL);
    return status < 0 ? status : gt_query_status(input->query);
}

const struct gt_analysis gt_analysis_devices = {
    .name = "devices",
    .group = "machine",
    .help = "how many samples of each device lie in which --ranges of use, and spans of idle GPUs",
    .takes = GT_TAKES_DEVICE | GT_TAKES_RANGES | GT_TAKES_TOP,
    .build = build_devices,
};
