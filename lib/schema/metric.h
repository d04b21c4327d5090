/* Everything that is measured stands in one table, metric.def, with its unit and the scopes that have it. */
#ifndef GT_SCHEMA_METRIC_H
#define GT_SCHEMA_METRIC_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "gpu_tracker.h"

enum gt_metric_id {
#define METRIC(symbol, name, unit, kind, combine, job, scopes, help) GT_##symbol,
#include "schema/metric.def"
#undef METRIC
    GT_METRIC_COUNT
};

/* What is read of a process itself are metrics of the table's first part, so its values are an array of these by the
 * same ids. Its parts of GPUs and of energy are worked out for its row. */
enum { GT_PROCESS_METRICS = GT_WRITTEN_CHARACTERS + 1 };

enum gt_unit { GT_BYTES, GT_SECONDS, GT_RATIO, GT_COUNT, GT_WATTS, GT_JOULES, GT_CELSIUS, GT_HERTZ, GT_BITS };
enum gt_kind { GT_GAUGE, GT_COUNTER, GT_PEAK };
enum gt_combine { GT_SUM, GT_UNION, GT_MAX, GT_NONE };
/* How trackers of one job combine: see metric.def. */
enum gt_job_rule { GT_JOB_ADD, GT_JOB_BOUND, GT_JOB_NETWORK, GT_JOB_GROUP, GT_JOB_NODE, GT_JOB_DEVICE };

struct gt_metric {
    const char *name;
    enum gt_unit unit;
    enum gt_kind kind;
    enum gt_combine combine;
    enum gt_job_rule job;
    unsigned scopes; /* bit 1 << scope */
    const char *help;
};

extern const struct gt_metric gt_metrics[GT_METRIC_COUNT];

/* Capacities tell what there is at most: capacity.def. */
enum gt_capacity_id {
#define CAPACITY(symbol, name, unit, scopes, help) GT_CAPACITY_##symbol,
#include "schema/capacity.def"
#undef CAPACITY
    GT_CAPACITY_COUNT
};

extern const struct gt_metric gt_capacities[GT_CAPACITY_COUNT];

bool gt_metric_has(enum gt_metric_id id, enum gt_scope scope);
const char *gt_scope_name(enum gt_scope scope); /* "system", "main", ... also the prefix of column names */
const char *gt_unit_name(enum gt_unit unit);    /* "bytes", "seconds", ... */
const char *gt_kind_name(enum gt_kind kind);
const char *gt_job_rule_name(enum gt_job_rule rule); /* "add", "bound", ... */

/* Returns true for a state of processes that is summed over those of a job. */
bool gt_metric_is_summed(enum gt_metric_id metric);
/* Set all values of a row to "not measured". */
void gt_values_clear(double values[GT_METRIC_COUNT]);

#endif
