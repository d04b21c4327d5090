/* How often devices are busy, and for how long GPUs stand idle.
 *
 * A sample counts for the first range that holds it, bounds included. A GPU is idle while its use lies in the last range: a span
 * lasts from the first such sample to the first one after it that is not. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/trace/utilization.h"
#include "base/number.h"

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

static int parse(struct ranges *ranges, const char *text, struct gt_error *error)
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
    uint64_t samples, in[RANGES];
};

struct moment {
    uint32_t resource;
    int64_t time;
    double value;
};

static int compare_moments(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    if (x->resource != y->resource)
        return x->resource < y->resource ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return GT_ORDER(x->value, y->value);
}

static void add_usage(const struct gt_analysis_input *input, struct gt_table *table, const struct ranges *ranges,
                      const struct gt_resource *resource, const struct usage *usage)
{
    if (!usage->samples)
        return;
    for (size_t i = 0; i < ranges->count; i++) {
        char range[2 * GT_NUMBER_SIZE + 8];
        snprintf(range, sizeof range, "%g-%g", ranges->low[i], ranges->high[i]);
        gt_table_text(table, gt_analysis_text(input, resource->node));
        gt_table_text(table, gt_analysis_text(input, resource->name));
        gt_table_text(table, gt_analysis_text(input, resource->dimension));
        gt_table_text(table, range);
        gt_table_integer(table, (int64_t)usage->in[i]);
        gt_table_number(table, 100 * (double)usage->in[i] / (double)usage->samples);
    }
}

static void add_idle(const struct gt_analysis_input *input, struct gt_table *table, const struct gt_resource *resource,
                     int64_t start, int64_t end, int64_t samples)
{
    gt_table_text(table, gt_analysis_text(input, resource->node));
    gt_table_text(table, gt_analysis_text(input, resource->name));
    gt_table_number(table, gt_analysis_us(input, start));
    gt_table_number(table, gt_analysis_us(input, end));
    gt_table_number(table, (double)(end - start) / 1e3);
    gt_table_integer(table, samples);
}

/* The dimension tells of the GPU itself, not of its memory. */
static bool is_gpu_use(const struct gt_analysis_input *input, const struct gt_resource *resource)
{
    const char *dimension = gt_analysis_text(input, resource->dimension);
    return dimension && (strcmp(dimension, "GPUUtilization") == 0 || strcmp(dimension, "gpu_utilization") == 0);
}

static void find_idle(const struct gt_analysis_input *input, struct gt_table *table, const struct gt_resource *resource,
                      const struct ranges *ranges, const struct moment *moment, size_t count)
{
    size_t first = SIZE_MAX;
    for (size_t i = 0; i <= count; i++) {
        bool idle = i < count && range_of(ranges, moment[i].value) == ranges->count - 1;
        if (idle && first == SIZE_MAX)
            first = i;
        if (idle || first == SIZE_MAX)
            continue;
        add_idle(input, table, resource, moment[first].time, moment[i < count ? i : count - 1].time,
                 (int64_t)(i - first));
        first = SIZE_MAX;
    }
}

static size_t collect(const struct gt_analysis_input *input, const struct gt_resources *resources,
                      struct moment *moment)
{
    const struct gt_trace_samples *samples = &input->trace->samples;
    size_t count = 0;
    for (size_t i = 0; i < samples->count; i++) {
        uint32_t number = resources->of_series[samples->series[i]];
        const struct gt_resource *resource = &resources->resource[number];
        if (resource->wanted && gt_resource_is_share(input, resource))
            moment[count++] = (struct moment){number, samples->time[i],
                                              gt_resource_value(input, resource, samples->value[i])};
    }
    qsort(moment, count, sizeof *moment, compare_moments);
    return count;
}

static int build(const struct gt_analysis_input *input, struct gt_node *root, struct gt_error *error)
{
    struct ranges ranges = {0};
    struct gt_resources resources = {0};
    struct moment *moment = malloc((input->trace->samples.count + 1) * sizeof *moment);
    struct gt_table *table = gt_analysis_table(
        root, "devices", "Devices", "text:node text:device text:dimension text:range integer:samples number:percent");
    struct gt_table *idle = gt_analysis_table(root, "idle", "Idle GPUs",
                                              "text:node text:device number:start_us number:end_us number:duration_us "
                                              "integer:samples");
    int status = moment ? gt_resources_find(input, &resources) : -ENOMEM;
    if (status >= 0)
        status = parse(&ranges, input->options->ranges ? input->options->ranges : "90-100,10-90,0-10", error);
    size_t count = status < 0 ? 0 : collect(input, &resources, moment);
    for (size_t from = 0, to; from < count; from = to) {
        struct usage usage = {0};
        const struct gt_resource *resource = &resources.resource[moment[from].resource];
        for (to = from; to < count && moment[to].resource == moment[from].resource; to++) {
            size_t range = range_of(&ranges, moment[to].value);
            usage.samples++;
            if (range < ranges.count)
                usage.in[range]++;
        }
        add_usage(input, table, &ranges, resource, &usage);
        if (is_gpu_use(input, resource))
            find_idle(input, idle, resource, &ranges, moment + from, to - from);
    }
    gt_analysis_empty(root, table, "no samples of system metrics");
    if (!gt_table_rows(idle))
        gt_table_flags(idle, GT_ONLY_DATA);
    gt_resources_release(&resources);
    free(moment);
    return status;
}

const struct gt_analysis gt_analysis_devices = {
    .name = "devices",
    .help = "how many samples of each device lie in which --ranges of use, and spans of idle GPUs",
    .takes = GT_TAKES_DEVICE | GT_TAKES_RANGES,
    .build = build,
};
