/* Traces: timelines and profiles. */
#include <errno.h>
#include <string.h>

#include "analyse/export/export.h"
#include "analyse/merge/merge.h"
#include "analyse/trace/analysis.h"
#include "api/caller_struct.h"
#include "api/python.h"
#include "trace/input/walk.h"
#include "base/number.h"

/* ---- a caller's request as the readers' options ---- */

static int read_step(const char *name, const char *text, int32_t *ret, struct gt_error *error)
{
    int64_t number;
    if (gt_number_i64(text, &number) < 0 || number < -1 || number > INT32_MAX)
        return gt_error_set(error, EINVAL, "%s: \"%s\" is not a step number", name, text);
    *ret = (int32_t)number;
    return 0;
}

static int read_time(const char *name, const char *text, bool *from_first, int64_t *ret, struct gt_error *error)
{
    *from_first = *text == '+';
    const char *digits = text + *from_first;
    if (*digits == '+' || *digits == '"' ||
        gt_span_decimal((struct gt_span){digits, strlen(digits)}, *from_first ? 9 : 3, ret) < 0)
        return gt_error_set(error, EINVAL,
                            "%s: \"%s\" is neither microseconds since the epoch nor +SECONDS after the begin", name,
                            text);
    return 0;
}

static int read_times(const struct gt_trace_request *request, struct gt_trace_options *ret, struct gt_error *error)
{
    bool start_from_first = false, end_from_first = false;
    int status = 0;
    if (request->start)
        status = read_time("start", request->start, &start_from_first, &ret->start, error);
    if (status >= 0 && request->end)
        status = read_time("end", request->end, &end_from_first, &ret->end, error);
    if (status >= 0 && request->start && request->end && start_from_first != end_from_first)
        return gt_error_set(error, EINVAL,
                            "start and end: both count from the epoch, or both from the begin (+SECONDS)");
    if (status >= 0 && ret->start > ret->end)
        return gt_error_set(error, EINVAL, "start and end: %s is behind %s", request->start, request->end);
    ret->from_first = start_from_first || end_from_first;
    return status;
}

static int read_steps(const struct gt_trace_request *request, struct gt_trace_options *ret, struct gt_error *error)
{
    ret->by_step = request->start || request->end;
    ret->start_step = -1;
    ret->end_step = INT32_MAX;
    int status = request->start ? read_step("start", request->start, &ret->start_step, error) : 0;
    if (status >= 0 && request->end)
        status = read_step("end", request->end, &ret->end_step, error);
    if (status >= 0 && ret->start_step > ret->end_step)
        return gt_error_set(error, EINVAL, "start and end: step %s is behind step %s", request->start, request->end);
    return status;
}

int gt_trace_request_read(const struct gt_trace_request *request, struct gt_trace_options *ret, struct gt_error *error)
{
    GT_OWN(struct gt_trace_request, own, request);
    *ret = GT_TRACE_OPTIONS;
    ret->select = own.select;
    ret->node = own.node;
    ret->suffixes = own.suffixes;
    ret->threads = own.threads;
    return own.by_step ? read_steps(&own, ret, error) : read_times(&own, ret, error);
}

/* ---- timelines ---- */

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
    struct gt_merge_options options = {0};
    gt_own(&options.request, sizeof options.request, merge);
    double low_gpu = options.request.low_gpu;
    if (!(low_gpu >= 0 && low_gpu <= 100))
        return gt_error_set(error, EINVAL, "low_gpu: %g is not a percentage from 0 to 100", low_gpu);
    int status = gt_trace_request_read(request, &options.trace, error);
    return status < 0 ? status : gt_merge(ret, paths, count, &options, error);
}

int gt_timeline_export(const char *const *paths, size_t count, const struct gt_trace_request *request,
                       const struct gt_export_request *what, struct gt_report **ret, struct gt_error *error)
{
    struct gt_export_options options = {0};
    gt_own(&options.request, sizeof options.request, what);
    int status = gt_trace_request_read(request, &options.trace, error);
    return status < 0 ? status : gt_export(ret, paths, count, &options, error);
}

/* ---- profiles ---- */

int gt_analysis_info(size_t index, const char **name, const char **help)
{
    if (index >= gt_analysis_count)
        return -ENOENT;
    *name = gt_analyses[index]->name;
    *help = gt_analyses[index]->help;
    return 0;
}

int gt_profile_report(const char *name, const char *const *paths, size_t count, const struct gt_trace_request *request,
                      const struct gt_profile_options *options, struct gt_report **ret, struct gt_error *error)
{
    GT_OWN(struct gt_profile_options, own, options);
    struct gt_trace_options reading;
    int status = gt_trace_request_read(request, &reading, error);
    return status < 0 ? status : gt_analysis_of_files(name, paths, count, &reading, &own, ret, error);
}
