/* Profiles, for those who see only the public header. */
#include <errno.h>

#include "analyse/analysis.h"
#include "api/request.h"
#include "trace/steps.h"

int gt_analysis_info(size_t index, const char **name, const char **help)
{
    if (index >= gt_analysis_count)
        return -ENOENT;
    *name = gt_analyses[index]->name;
    *help = gt_analyses[index]->help;
    return 0;
}

/* Does a dump overlap the bounds? One that contains them does; one whose step is not known lies in no steps. */
static bool is_inside(const struct gt_trace_profile *profile, const struct gt_trace_options *bounds, int64_t origin)
{
    int64_t start = bounds->start, end = bounds->end;
    if (bounds->by_step)
        return profile->start_step <= bounds->end_step && profile->end_step >= bounds->start_step;
    if (bounds->from_first && start != -GT_TRACE_EVER)
        start += origin;
    if (bounds->from_first && end != GT_TRACE_EVER)
        end += origin;
    return profile->start <= end && profile->end >= start;
}

/* Readers keep the bounds for events and samples; Python profiles are kept to them here. */
static void keep_profiles(struct gt_trace *trace, const struct gt_trace_options *bounds)
{
    int64_t origin = INT64_MAX;
    size_t count = 0;
    for (size_t i = 0; i < trace->file_count; i++)
        if (trace->file[i].clock != GT_CLOCK_UNKNOWN && trace->file[i].first < origin)
            origin = trace->file[i].first;
    for (size_t i = 0; i < trace->profile_count; i++)
        if (is_inside(&trace->profile[i], bounds, origin == INT64_MAX ? 0 : origin))
            trace->profile[count++] = trace->profile[i];
        else
            gt_trace_profile_release(&trace->profile[i]);
    trace->profile_count = count;
}

static int load(struct gt_trace **ret, const char *const *paths, size_t count, const struct gt_analysis *analysis,
                const struct gt_trace_request *request, struct gt_error *error)
{
    struct gt_trace_options wanted;
    int status = gt_trace_request_read(request, &wanted, error);
    if (status < 0)
        return status;
    wanted.arguments = analysis->arguments;
    struct gt_trace_options reading = wanted;
    reading.by_step = wanted.by_step && !analysis->of_profiles; /* their steps need no events */
    status = gt_trace_load(ret, paths, count, &reading, error);
    if (status >= 0)
        keep_profiles(*ret, &wanted);
    return status;
}

int gt_profile_report(const char *name, const char *const *paths, size_t count, const struct gt_trace_request *request,
                      const struct gt_profile_options *options, struct gt_report **ret, struct gt_error *error)
{
    const struct gt_analysis *analysis = gt_analysis_find(name, error);
    struct gt_trace *trace = NULL, *other = NULL;
    if (!analysis)
        return -EINVAL;
    if (!count || (analysis->inputs > 1 && count != (size_t)analysis->inputs))
        return gt_error_set(error, EINVAL, "profile %s takes %s, not %zu", name,
                            analysis->inputs > 1 ? "two paths" : "a path", count);
    int status = load(&trace, paths, analysis->inputs > 1 ? 1 : count, analysis, request, error);
    if (status >= 0 && analysis->inputs > 1)
        status = load(&other, paths + 1, 1, analysis, request, error);
    if (status >= 0)
        status = gt_analysis_run(analysis, trace, other, options, ret, error);
    gt_trace_close(trace);
    gt_trace_close(other);
    return status;
}
