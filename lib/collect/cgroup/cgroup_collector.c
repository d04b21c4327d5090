/* What the job's own control group tells of its memory. Nothing when the job merely lies in a group with others. */
#include <errno.h>
#include <stdio.h>

#include "collect/availability.h"
#include "collect/cgroup/cgroup.h"

static const enum gt_metric_id metrics[] = {GT_CGROUP_RAM, GT_CGROUP_RAM_PEAK};

static int open_group(void **ret, const struct gt_collect_options *options, struct gt_frame *frame,
                      struct gt_availability *availability, struct gt_error *error)
{
    (void)frame;
    (void)error;
    *ret = NULL;
    *availability = (struct gt_availability){.state = GT_READY, .source = "control group of the job"};
    if (!options->cgroup)
        return gt_unavailable(availability, GT_ABSENT, NULL, "%s",
                              options->pid ? "the job has no control group of its own"
                                           : "a job that is started gets a group of its own where it may have one");
    const char *memory = gt_cgroup_source(options->cgroup, GT_CGROUP_FIGURE_MEMORY);
    const char *peak = gt_cgroup_source(options->cgroup, GT_CGROUP_FIGURE_MEMORY_PEAK);
    if (!memory)
        return gt_unavailable(availability, GT_DENIED, gt_remedy_delegate,
                              "the memory controller is not enabled for groups below the tracker's own");
    snprintf(availability->source, sizeof availability->source, "control group of the job: %s%s%s", memory,
             peak ? ", " : "", peak ? peak : "");
    *ret = (void *)options->cgroup; /* lent by the tracker, for as long as the collector is open */
    return 0;
}

static int collect(void *state, struct gt_frame *frame, struct gt_error *error)
{
    (void)error;
    frame->job[GT_CGROUP_RAM] = gt_cgroup_read_one(state, GT_CGROUP_FIGURE_MEMORY);
    frame->job[GT_CGROUP_RAM_PEAK] = gt_cgroup_read_one(state, GT_CGROUP_FIGURE_MEMORY_PEAK);
    return 0;
}

static void close_group(void *state)
{
    (void)state;
}

static const struct gt_origin origins[] = {
    {GT_CGROUP_RAM, GT_SAMPLED, "control group", "page cache included"},
    {GT_CGROUP_RAM_PEAK, GT_EXACT, "control group", "page cache included"},
};

const struct gt_collector_type gt_collector_cgroup = {
    .name = "cgroup",
    .help = "Memory charged to the job's own control group",
    .metrics = metrics,
    .metric_count = sizeof metrics / sizeof *metrics,
    .origins = origins,
    .origin_count = sizeof origins / sizeof *origins,
    .open = open_group,
    .collect = collect,
    .close = close_group,
};
