/* Profiles, for those who see only the public header. */
#include <errno.h>

#include "analyse/analysis.h"
#include "api/request.h"

int gt_analysis_info(size_t index, const char **name, const char **help)
{
    if (index >= gt_analysis_count)
        return -ENOENT;
    *name = gt_analyses[index]->name;
    *help = gt_analyses[index]->help;
    return 0;
}

static int load(struct gt_trace **ret, const char *const *paths, size_t count, const struct gt_analysis *analysis,
                const struct gt_trace_request *request, struct gt_error *error)
{
    struct gt_trace_options wanted;
    int status = gt_trace_request_read(request, &wanted, error);
    if (status < 0)
        return status;
    wanted.arguments = analysis->arguments;
    return gt_trace_load(ret, paths, count, &wanted, error);
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
