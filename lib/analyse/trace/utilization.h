/* Samples of system metrics are grouped by the resource that they are of. */
#ifndef GT_ANALYSE_TRACE_UTILIZATION_H
#define GT_ANALYSE_TRACE_UTILIZATION_H

#include "analyse/trace/analysis.h"

/* Series of one node, type, name and dimension are one, whatever files they come from. */
struct gt_resource {
    uint32_t node, type, name, dimension; /* places */
    bool wanted;                          /* options->device allows it: its type, or its name or dimension begins so */
};

struct gt_resources {
    struct gt_resource *resource; /* sorted by node, type, name, dimension */
    size_t count;
    uint32_t *of_series;
};
int gt_resources_find(const struct gt_analysis_input *input, struct gt_resources *resources);
void gt_resources_release(struct gt_resources *resources);
/* Returns the value of a sample, a ratio of our recordings in percent. */
double gt_resource_value(const struct gt_analysis_input *input, const struct gt_resource *resource, double value);

#endif
