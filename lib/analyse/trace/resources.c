#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/trace/utilization.h"
#include "schema/metric.h"

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
    for (size_t i = 0; i < 4; i++)
        if (first[i] != second[i])
            return first[i] < second[i] ? -1 : 1;
    return 0;
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
    qsort(resources->resource, trace->series_count, sizeof *resources->resource, compare);
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

/* Series of our recordings are named by their metric. */
static bool is_ratio(const struct gt_analysis_input *input, const struct gt_resource *resource)
{
    const char *dimension = gt_analysis_text(input, resource->dimension);
    int metric = dimension ? gt_metric_find(dimension) : -1;
    return metric >= 0 && gt_metrics[metric].unit == GT_RATIO;
}

double gt_resource_value(const struct gt_analysis_input *input, const struct gt_resource *resource, double value)
{
    return is_ratio(input, resource) ? 100 * value : value;
}

/* SMDebug's dimensions that are not percent: what I/O and networks move. */
bool gt_resource_is_share(const struct gt_analysis_input *input, const struct gt_resource *resource)
{
    const char *dimension = gt_analysis_text(input, resource->dimension);
    return is_ratio(input, resource) ||
           (dimension && (strstr(dimension, "Utilization") || strstr(dimension, "Percent"))) ||
           (gt_analysis_text(input, resource->name) && strstr(gt_analysis_text(input, resource->name), "Percent"));
}
