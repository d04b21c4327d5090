/* Timelines, for those who see only the public header. */
#include <errno.h>

#include "analyse/merge/merge.h"
#include "api/own.h"
#include "api/request.h"

int gt_timeline_info(const char *const *paths, size_t count, const struct gt_trace_request *request,
                     struct gt_report **ret, struct gt_error *error)
{
    struct gt_trace_options options;
    int status = gt_trace_request_read(request, &options, error);
    return status < 0 ? status : gt_trace_info(ret, paths, count, &options, error);
}

int gt_timeline_merge(const char *const *paths, size_t count, const struct gt_trace_request *request,
                      const struct gt_merge_request *merge, struct gt_report **ret, struct gt_error *error)
{
    GT_OWN(struct gt_merge_request, own, merge);
    struct gt_merge_options options = {.low_gpu = own.low_gpu,
                                       .metrics = own.metrics,
                                       .align = own.align,
                                       .output = own.output,
                                       .overwrite = own.overwrite};
    if (!(own.low_gpu >= 0 && own.low_gpu <= 100))
        return gt_error_set(error, EINVAL, "low_gpu: %g is no percentage, from 0 to 100", own.low_gpu);
    int status = gt_trace_request_read(request, &options.trace, error);
    return status < 0 ? status : gt_merge(ret, paths, count, &options, error);
}
