#include "schema/metric.h"

#include <errno.h>
#include <string.h>

enum {
    S = 1 << GT_SCOPE_SYSTEM,
    M = 1 << GT_SCOPE_MAIN,
    D = 1 << GT_SCOPE_DESCENDANTS,
    C = 1 << GT_SCOPE_COMBINED,
    P = 1 << GT_SCOPE_PROCESS,
    G = 1 << GT_SCOPE_GPU,
};

const struct gt_metric gt_metrics[GT_METRIC_COUNT] = {
#define METRIC(symbol, name, unit, kind, combine, job, scopes, help) \
    {#name, GT_##unit, GT_##kind, GT_##combine, GT_JOB_##job, scopes, help},
#include "schema/metric.def"
#undef METRIC
};

const struct gt_metric gt_capacities[GT_CAPACITY_COUNT] = {
#define CAPACITY(symbol, name, unit, scopes, help) {#name, GT_##unit, GT_GAUGE, GT_NONE, GT_JOB_NODE, scopes, help},
#include "schema/capacity.def"
#undef CAPACITY
};

int gt_metric_find(const char *name)
{
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        if (!strcmp(gt_metrics[id].name, name))
            return id;
    return -ENOENT;
}

bool gt_metric_has(enum gt_metric_id id, enum gt_scope scope)
{
    return gt_metrics[id].scopes & (1u << scope);
}

bool gt_metric_is_summed(enum gt_metric_id id)
{
    return gt_metrics[id].kind == GT_GAUGE && gt_metrics[id].combine == GT_SUM && gt_metric_has(id, GT_SCOPE_PROCESS);
}

const char *gt_scope_name(enum gt_scope scope)
{
    static const char *const names[] = {"system", "main", "descendants", "combined", "process", "gpu"};
    return names[scope];
}

const char *gt_unit_name(enum gt_unit unit)
{
    static const char *const names[] = {"bytes",  "seconds", "ratio", "count", "watts",
                                        "joules", "celsius", "hertz", "bits"};
    return names[unit];
}

const char *gt_kind_name(enum gt_kind kind)
{
    static const char *const names[] = {"gauge", "counter", "peak"};
    return names[kind];
}

const char *gt_job_rule_name(enum gt_job_rule rule)
{
    static const char *const names[] = {"add", "bound", "network", "group", "node", "device"};
    return names[rule];
}

void gt_values_clear(double values[GT_METRIC_COUNT])
{
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        values[id] = NAN;
}
