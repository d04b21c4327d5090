/* The text that Prometheus and its kin scrape, in two forms: OpenMetrics 1.0
 * (https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md) and the older text format 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats).
 *
 * Names come from the table of metrics: gpu_tracker_, the scope (system, job, gpu), the metric, its unit, and _total for
 * counters. A figure that was not measured has no line. */
#ifndef GT_REPORT_EXPOSITION_H
#define GT_REPORT_EXPOSITION_H

#include "base/buffer.h"
#include "gpu_tracker.h"
#include "schema/metric.h"

struct gt_exposition_row {
    enum gt_scope scope;                /* SYSTEM, COMBINED (a job) or GPU */
    const char *labels;                 /* as gt_exposition_label makes them */
    const double *value;                /* of each metric */
    double capacity[GT_CAPACITY_COUNT]; /* 0: none is known */
};

/* Append name="value", with a comma before it unless it is the first. An empty value appends nothing. */
void gt_exposition_label(struct gt_buffer *labels, const char *name, const char *value);

/* Append a family that is no metric, and then its samples: `type` is "gauge", "counter" or "info", `unit` may be NULL. */
void gt_exposition_family(struct gt_buffer *out, enum gt_exposition form, const char *name, const char *type,
                          const char *unit, const char *help);
void gt_exposition_sample(struct gt_buffer *out, const char *name, const char *type, const char *labels, double value);

/* Appends every metric and every capacity that some row has, family by family. */
void gt_exposition_metrics(struct gt_buffer *out, enum gt_exposition form, const struct gt_exposition_row *rows,
                           size_t count);
void gt_exposition_end(struct gt_buffer *out, enum gt_exposition form);

#endif
