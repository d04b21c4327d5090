#include <errno.h>

#include "schema/metric.h"

int gt_metric_info(size_t metric, struct gt_metric_info *ret)
{
    if (metric >= GT_METRIC_COUNT)
        return -ENOENT;
    const struct gt_metric *m = &gt_metrics[metric];
    *ret = (struct gt_metric_info){m->name, gt_unit_name(m->unit), gt_kind_name(m->kind), m->scopes, m->help};
    return 0;
}
