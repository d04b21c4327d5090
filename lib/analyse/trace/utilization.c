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

/* ---- resources ---- */

static struct gt_resource resource_of(const struct gt_analysis_input *input, const struct gt_trace_series *series)
{
    const char *device = input->options->device;
    const char *type = gt_trace_text(input->trace, series->type), *name = gt_trace_text(input->trace, series->name);
    const char *dimension = gt_trace_text(input->trace, series->dimension);
    uint32_t node = series->node != GT_TRACE_NONE ? gt_analysis_place(input, series->node) : input->node[series->file];
    return (struct gt_resource){
        node,
        gt_analysis_place(input, series->type),
        gt_analysis_place(input, series->name),
        gt_analysis_place(input, series->dimension),
        !device || strcmp(type, device) == 0 || strncmp(name, device, strlen(device)) == 0 ||
            strncmp(dimension, device, strlen(device)) == 0,
    };
}

static int compare(const void *a, const void *b)
{
    const struct gt_resource *x = a, *y = b;
    const uint32_t first[] = {x->node, x->type, x->name, x->dimension};
    const uint32_t second[] = {y->node, y->type, y->name, y->dimension};
    return gt_order_lists(first, second, 4);
}

int gt_resources_find(const struct gt_analysis_input *input, struct gt_resources *resources)
{
    const struct gt_trace *trace = input->trace;
    size_t count = 0;
    resources->resource = calloc(trace->series_count + 1, sizeof *resources->resource);
    resources->of_series = calloc(trace->series_count + 1, sizeof *resources->of_series);
    if (!resources->resource || !resources->of_series)
        return -ENOMEM;
    for (size_t i = 0; i < trace->series_count; i++)
        resources->resource[i] = resource_of(input, &trace->series[i]);
    GT_SORT(resources->resource, trace->series_count, compare);
    for (size_t i = 0; i < trace->series_count; i++)
        if (!count || compare(&resources->resource[count - 1], &resources->resource[i]) != 0)
            resources->resource[count++] = resources->resource[i];
    resources->count = count;
    for (size_t i = 0; i < trace->series_count; i++) {
        struct gt_resource wanted = resource_of(input, &trace->series[i]);
        const struct gt_resource *found = bsearch(&wanted, resources->resource, count, sizeof wanted, compare);
        resources->of_series[i] = (uint32_t)(found - resources->resource);
    }
    return 0;
}

void gt_resources_release(struct gt_resources *resources)
{
    free(resources->resource);
    free(resources->of_series);
}

/* Series of our recordings are named by their metric; NULL: it is of another tool. */
static const struct gt_metric *metric_of(const struct gt_analysis_input *input, const struct gt_resource *resource)
{
    const char *dimension = gt_analysis_text(input, resource->dimension);
    int metric = dimension ? gt_metric_find(dimension) : -1;
    return metric < 0 ? NULL : &gt_metrics[metric];
}

static bool is_ratio(const struct gt_analysis_input *input, const struct gt_resource *resource)
{
    const struct gt_metric *metric = metric_of(input, resource);
    return metric && metric->unit == GT_RATIO;
}

double gt_resource_value(const struct gt_analysis_input *input, const struct gt_resource *resource, double value)
{
    return is_ratio(input, resource) ? 100 * value : value;
}

/* SMDebug's dimensions that are not percent: what I/O and networks move. */
static bool is_share(const struct gt_analysis_input *input, const struct gt_resource *resource)
{
    const char *dimension = gt_analysis_text(input, resource->dimension);
    return is_ratio(input, resource) ||
           (dimension && (strstr(dimension, "Utilization") || strstr(dimension, "Percent"))) ||
           (gt_analysis_text(input, resource->name) && strstr(gt_analysis_text(input, resource->name), "Percent"));
}

/* ---- figures and their units ---- */

/* Of counters and of maxima so far neither a mean nor a percentile says anything of use, nor does one of flags. */
static bool has_statistics(const struct gt_analysis_input *input, const struct gt_resource *resource)
{
    const struct gt_metric *metric = metric_of(input, resource);
    return !metric || (metric->kind == GT_GAUGE && metric->unit != GT_BITS);
}

/* NULL: it is not known. */
static const char *unit_of(const struct gt_analysis_input *input, const struct gt_resource *resource)
{
    const struct gt_metric *metric = metric_of(input, resource);
    if (is_share(input, resource))
        return "percent";
    return metric ? gt_unit_name(metric->unit) : NULL;
}

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

/* ---- samples ---- */

/* Of the resources that are wanted: number of the resource, time, value. */
static struct gt_rows find_samples(const struct gt_analysis_input *input, const struct gt_resources *resources,
                                   bool (*is_taken)(const struct gt_analysis_input *input,
                                                    const struct gt_resource *resource))
{
    const struct gt_trace_samples *samples = &input->trace->samples;
    struct gt_rows rows = gt_rows_new(input->query, samples->count);
    uint32_t *number = gt_rows_add_keys(&rows, "number", NULL);
    int64_t *time = gt_rows_add_wholes(&rows, "time");
    double *value = gt_rows_add_reals(&rows, "value");
    for (size_t i = 0; i < rows.count; i++) {
        uint32_t at = resources->of_series[samples->series[i]];
        const struct gt_resource *resource = &resources->resource[at];
        number[i] = resource->wanted && is_taken(input, resource) ? at : GT_NO_KEY;
        time[i] = samples->time[i];
        value[i] = gt_resource_value(input, resource, samples->value[i]);
    }
    return gt_rows_known(&rows, "number");
}

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
static void add_phases(const struct gt_analysis_input *input, const struct gt_resources *resources,
                       const struct gt_phases *phases, const struct titles *titles, struct gt_rows *samples)
{
    uint32_t *phase = gt_rows_add_keys(samples, "phase", titles->title);
    uint32_t *node = gt_query_memory(input->query, resources->count, sizeof *node);
    const uint32_t *number = gt_rows_keys(samples, "number");
    const int64_t *time = gt_rows_wholes(samples, "time");
    for (size_t i = 0; i < resources->count && node; i++)
        node[i] = node_with_phases(input, phases, resources->resource[i].node);
    for (size_t i = 0; i < samples->count && node; i++) {
        size_t title = title_at(phases, titles, node[number[i]], time[i]);
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

static void put_rows(const struct gt_analysis_input *input, const struct gt_resources *resources, struct gt_rows *rows,
                     struct gt_table *table, bool by_phase)
{
    const uint32_t *number = gt_rows_keys(rows, "number");
    uint32_t *node = gt_rows_add_keys(rows, "node", NULL), *type = gt_rows_add_keys(rows, "resource", NULL);
    uint32_t *name = gt_rows_add_keys(rows, "device", NULL), *dimension = gt_rows_add_keys(rows, "dimension", NULL);
    struct gt_buffer text = {0};
    for (size_t i = 0; i < rows->count; i++) {
        const struct gt_resource *resource = &resources->resource[number[i]];
        const char *unit = unit_of(input, resource);
        node[i] = resource->node;
        type[i] = resource->type;
        name[i] = resource->name;
        dimension[i] = resource->dimension;
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
static const char *left_out(const struct gt_analysis_input *input, const struct gt_resources *resources)
{
    for (size_t i = 0; i < resources->count; i++)
        if (resources->resource[i].wanted && !has_statistics(input, &resources->resource[i]))
            return "counters, and maxima so far: gpu-tracker report has them";
    return NULL;
}

static int add_table(const struct gt_analysis_input *input, struct gt_node *root, const struct gt_phases *phases,
                     const struct titles *titles, bool by_phase)
{
    struct gt_resources resources = {0};
    struct gt_table *table = make_table(root, by_phase);
    int status = gt_resources_find(input, &resources);
    if (status >= 0) {
        struct gt_rows samples = find_samples(input, &resources, has_statistics);
        if (by_phase)
            add_phases(input, &resources, phases, titles, &samples);
        struct gt_rows rows = gt_rows_group(
            &samples, by_phase ? "number phase" : "number",
            GT_AGGREGATES(GT_COUNT("samples"), GT_MEAN("mean", "value"), GT_MIN("min", "value"), GT_MAX("max", "value"),
                          GT_QUANTILE("p50", "value", 0.5), GT_QUANTILE("p95", "value", 0.95),
                          GT_QUANTILE("p99", "value", 0.99)));
        put_rows(input, &resources, &rows, table, by_phase);
        status = gt_query_status(input->query);
    }
    const char *rest = status < 0 ? NULL : left_out(input, &resources);
    gt_resources_release(&resources);
    gt_analysis_empty(root, table,
                      by_phase && !titles->count ? "no training phase of that name, and no steps"
                      : rest                     ? rest
                                                 : "no samples of system metrics");
    if (rest && table && gt_table_rows(table))
        gt_report_text(root, "left_out", "Left out", rest);
    return status;
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

struct usage {
    uint64_t samples, in[RANGES + 1]; /* the last: in none of them */
};

static void add_usage(const struct gt_analysis_input *input, struct gt_table *table, const struct ranges *ranges,
                      const struct gt_resource *resource, const struct usage *usage)
{
    for (size_t i = 0; i < ranges->count + (usage->in[ranges->count] > 0); i++) {
        char range[2 * GT_NUMBER_SIZE + 8] = "outside";
        if (i < ranges->count)
            snprintf(range, sizeof range, "%g-%g", ranges->low[i], ranges->high[i]);
        GT_CELLS(table, gt_analysis_text(input, resource->node), gt_analysis_text(input, resource->name),
                 gt_analysis_text(input, resource->dimension), range, usage->in[i],
                 100 * (double)usage->in[i] / (double)usage->samples);
    }
}

/* The dimension tells of the GPU itself, not of its memory. */
static bool is_gpu_use(const struct gt_analysis_input *input, const struct gt_resource *resource)
{
    const char *dimension = gt_analysis_text(input, resource->dimension);
    return dimension && (strcmp(dimension, "GPUUtilization") == 0 || strcmp(dimension, "gpu_utilization") == 0);
}

static void find_idle(const struct gt_analysis_input *input, struct gt_table *table, const struct gt_resource *resource,
                      const struct ranges *ranges, const struct gt_rows *samples, size_t from, size_t to)
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
        GT_CELLS(table, gt_analysis_text(input, resource->node), gt_analysis_text(input, resource->name),
                 gt_analysis_us(input, time[first]), gt_analysis_us(input, end), (double)(end - time[first]) / 1e3,
                 (int64_t)(i - first));
        first = SIZE_MAX;
    }
}

static int build_devices(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct ranges ranges = {0};
    struct gt_resources resources = {0};
    struct gt_table *table = gt_analysis_table(
        root, "devices", "Devices", "text:node text:device text:dimension text:range integer:samples number:percent");
    struct gt_table *idle = gt_analysis_table(root, "idle", "Idle GPUs",
                                              "text:node text:device number:start_us number:end_us number:duration_us "
                                              "integer:samples");
    int status = gt_resources_find(input, &resources);
    if (status >= 0)
        status = parse_ranges(&ranges, input->options->ranges ? input->options->ranges : "90-100,10-90,0-10",
                              input->error);
    struct gt_rows samples = {0};
    if (status >= 0)
        samples = find_samples(input, &resources, is_share);
    if (status >= 0)
        gt_rows_sort(&samples, "number time value");
    for (size_t from = 0, to; from < samples.count; from = to) {
        struct usage usage = {0};
        const struct gt_resource *resource = &resources.resource[gt_rows_keys(&samples, "number")[from]];
        to = gt_rows_run(&samples, "number", from);
        for (size_t i = from; i < to; i++)
            usage.in[range_of(&ranges, gt_rows_reals(&samples, "value")[i])]++;
        usage.samples = to - from;
        add_usage(input, table, &ranges, resource, &usage);
        if (is_gpu_use(input, resource))
            find_idle(input, idle, resource, &ranges, &samples, from, to);
    }
    gt_analysis_empty(root, table, "no samples of system metrics");
    gt_analysis_empty(root, idle, NULL);
    gt_resources_release(&resources);
    return status < 0 ? status : gt_query_status(input->query);
}

const struct gt_analysis gt_analysis_devices = {
    .name = "devices",
    .group = "machine",
    .help = "how many samples of each device lie in which --ranges of use, and spans of idle GPUs",
    .takes = GT_TAKES_DEVICE | GT_TAKES_RANGES | GT_TAKES_TOP,
    .build = build_devices,
};
