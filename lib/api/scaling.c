#include "analyse/usage/scaling_report.h"

#include "api/recorded.h"

struct run {
    struct gt_scaling_report *report;
    const char *path;
};

static int add_run(const struct gt_usage_sources *sources, void *context, struct gt_error *error)
{
    const struct run *run = context;
    return gt_scaling_report_add(run->report, run->path, sources, error);
}

int gt_recording_scaling(const char *const paths[], size_t count, const char *variable, double size,
                         struct gt_report **ret, struct gt_error *error)
{
    struct gt_scaling_report *report;
    int status = gt_scaling_report_open(&report, variable, count, error);
    if (status < 0)
        return status;
    for (size_t i = 0; i < count && status >= 0; i++)
        status = gt_recorded_use(paths[i], NULL, &(struct gt_recorded_use){add_run, &(struct run){report, paths[i]}},
                                 error);
    if (status >= 0)
        status = gt_scaling_report_finish(report, size, ret, error);
    gt_scaling_report_close(report);
    return status;
}
