/* Files and folders read as one trace, kept to what was asked for, and analysed. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "analyse/trace/analysis.h"

/* The bounds in time, from the begin of all files where they count from there. */
struct window {
    const struct gt_trace_options *bounds;
    int64_t start, end;
};

static struct window window_of(const struct gt_trace *trace, const struct gt_trace_options *bounds)
{
    struct window window = {bounds, bounds->start, bounds->end};
    int64_t origin = INT64_MAX;
    for (size_t i = 0; i < trace->file_count; i++)
        if (trace->file[i].clock != GT_CLOCK_UNKNOWN && trace->file[i].first < origin)
            origin = trace->file[i].first;
    if (!bounds->from_first || origin == INT64_MAX)
        return window;
    window.start += bounds->start != -GT_TRACE_EVER ? origin : 0;
    window.end += bounds->end != GT_TRACE_EVER ? origin : 0;
    return window;
}

/* Does a dump overlap the bounds? One that contains them does; one whose step is not known lies in no steps. */
static bool has_profile(const struct window *window, const struct gt_trace_profile *profile)
{
    if (window->bounds->by_step)
        return profile->start_step <= window->bounds->end_step && profile->end_step >= window->bounds->start_step;
    return profile->start <= window->end && profile->end >= window->start;
}

static bool is_node(const struct gt_trace *trace, uint32_t node, const char *wanted)
{
    char rank[16];
    for (uint32_t i = 0; i < trace->file_count; i++) {
        snprintf(rank, sizeof rank, "%d", (int)trace->file[i].rank);
        if (gt_trace_node_of(trace, i) == node && (strcmp(wanted, gt_trace_text(trace, node)) == 0 ||
                                                   (trace->file[i].rank >= 0 && strcmp(wanted, rank) == 0)))
            return true;
    }
    return false;
}

static bool has_step(const struct gt_trace *trace, const struct window *window, const struct gt_trace_step *step)
{
    const struct gt_trace_options *bounds = window->bounds;
    if (bounds->node && !is_node(trace, step->node, bounds->node))
        return false;
    if (bounds->by_step)
        return step->step >= bounds->start_step && step->step <= bounds->end_step;
    return step->start <= window->end && step->end >= window->start;
}

/* Readers keep the bounds for events and samples; Python profiles and steps are kept to them here. */
static void keep_bounds(struct gt_trace *trace, const struct gt_trace_options *bounds)
{
    struct window window = window_of(trace, bounds);
    size_t profiles = 0, steps = 0;
    trace->is_bounded = !bounds->by_step;
    trace->bound_first = window.start;
    trace->bound_last = window.end;
    for (size_t i = 0; i < trace->profile_count; i++)
        if (has_profile(&window, &trace->profile[i]))
            trace->profile[profiles++] = trace->profile[i];
        else
            gt_trace_profile_release(&trace->profile[i]);
    for (size_t i = 0; i < trace->step_count; i++)
        if (has_step(trace, &window, &trace->step[i]))
            trace->step[steps++] = trace->step[i];
    trace->profile_count = profiles;
    trace->step_count = steps;
}

/* Functions whose names do not match are left as callers of others. */
static int select_functions(struct gt_trace *trace, const char *select, struct gt_error *error)
{
    regex_t names;
    if (!select)
        return 0;
    if (regcomp(&names, select, REG_EXTENDED | REG_NOSUB))
        return gt_error_set(error, EINVAL, "select: \"%s\" is no regular expression", select);
    for (size_t i = 0; i < trace->profile_count; i++)
        for (size_t j = 0; j < trace->profile[i].function_count; j++) {
            struct gt_trace_function *function = &trace->profile[i].function[j];
            if (regexec(&names, gt_trace_text(trace, function->function), 0, NULL, 0) == 0)
                continue;
            function->total_calls = function->primitive_calls = -1;
            function->total_time = function->cumulative_time = NAN;
        }
    regfree(&names);
    return 0;
}

static int load(struct gt_trace **ret, const char *const *paths, size_t count, const struct gt_analysis *analysis,
                const struct gt_trace_options *options, struct gt_error *error)
{
    struct gt_trace_options reading = *options;
    reading.arguments = analysis->arguments;
    reading.by_step = options->by_step && !analysis->of_profiles; /* their steps need no events */
    int status = gt_trace_load(ret, paths, count, &reading, error);
    if (status < 0)
        return status;
    keep_bounds(*ret, options);
    return select_functions(*ret, options->select, error);
}

/* An option that an analysis does not take is a mistake, not to be passed over. */
static int check_options(const struct gt_analysis *analysis, const struct gt_profile_options *options,
                         struct gt_error *error)
{
    if (!options)
        return 0;
    const struct {
        const char *name;
        unsigned bit;
        bool given;
    } checks[] = {
        {"by", GT_TAKES_BY, options->by},
        {"phase", GT_TAKES_PHASES, options->phases && *options->phases},
        {"device", GT_TAKES_DEVICE, options->device},
        {"ranges", GT_TAKES_RANGES, options->ranges},
        {"key", GT_TAKES_KEY, options->key},
        {"top", GT_TAKES_TOP, options->top > 0}, /* all rows is what the others show anyway */
        {"carbon-intensity", GT_TAKES_COST, options->carbon_intensity},
        {"carbon-file", GT_TAKES_COST, options->carbon_file},
        {"price", GT_TAKES_COST, options->price},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (!checks[i].given || (analysis->takes & checks[i].bit))
            continue;
        struct gt_buffer taken = {0};
        for (size_t j = 0; j < sizeof checks / sizeof *checks; j++)
            if (analysis->takes & checks[j].bit)
                gt_buffer_printf(&taken, "%s%s", taken.length ? ", " : "", checks[j].name);
        gt_error_set(error, EINVAL, "profile %s does not take '%s'%s%s", analysis->name, checks[i].name,
                     taken.length ? ", only " : "", taken.length ? taken.data : "");
        gt_buffer_release(&taken);
        return -EINVAL;
    }
    return 0;
}

/* Was the file found beside one of the paths, not named by them? */
static bool is_beside(const char *file, const char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(paths[i]);
        while (length > 1 && paths[i][length - 1] == '/')
            length--;
        if (strncmp(file, paths[i], length) == 0 &&
            (!file[length] || file[length] == '/' || paths[i][length - 1] == '/'))
            return false;
    }
    return true;
}

static void add_damage(struct gt_buffer *out, const struct gt_trace_file *file)
{
    const struct gt_trace_damage *damage = &file->damage;
    uint64_t lost = damage->bad_events + damage->bad_samples + damage->unopened;
    if (!lost && !damage->lost_bytes && !damage->cut_off)
        return;
    gt_buffer_printf(out, "%s%s: %" PRIu64 " events or samples lost%s", out->length ? "; " : "", file->path, lost,
                     damage->cut_off ? ", cut off" : "");
    if (*damage->first)
        gt_buffer_printf(out, " (%s)", damage->first);
}

/* The report names files that were read beside those asked for, and data that were lost. */
static int tell_sources(struct gt_report *report, const struct gt_trace *trace, const char *const *paths, size_t count,
                        const char *beside_key, const char *damaged_key)
{
    struct gt_node *root = gt_report_root(report);
    struct gt_buffer beside = {0}, damaged = {0};
    for (size_t i = 0; i < trace->file_count; i++) {
        if (is_beside(trace->file[i].path, paths, count))
            gt_buffer_printf(&beside, "%s%s", beside.length ? ", " : "", trace->file[i].path);
        add_damage(&damaged, &trace->file[i]);
    }
    if (beside.length)
        gt_report_text(root, beside_key, "Read with it", beside.data);
    if (damaged.length)
        gt_report_text(root, damaged_key, "Damaged", damaged.data);
    int failed = beside.failed ? beside.failed : damaged.failed;
    gt_buffer_release(&beside);
    gt_buffer_release(&damaged);
    return gt_report_failed(report) ? -ENOMEM : failed;
}

int gt_analysis_of_files(const char *name, const char *const *paths, size_t count,
                         const struct gt_trace_options *reading, const struct gt_profile_options *options,
                         struct gt_report **ret, struct gt_error *error)
{
    const struct gt_analysis *analysis = gt_analysis_find(name, error);
    struct gt_trace *trace = NULL, *other = NULL;
    struct gt_report *report = NULL;
    if (!analysis)
        return -EINVAL;
    if (!count || (analysis->inputs > 1 && count != (size_t)analysis->inputs))
        return gt_error_set(error, EINVAL, "profile %s takes %s, not %zu", name,
                            analysis->inputs > 1 ? "two paths" : "a path", count);
    int status = check_options(analysis, options, error);
    if (status >= 0)
        status = load(&trace, paths, analysis->inputs > 1 ? 1 : count, analysis, reading, error);
    if (status >= 0 && analysis->inputs > 1)
        status = load(&other, paths + 1, 1, analysis, reading, error);
    if (status >= 0)
        status = gt_analysis_run(analysis, trace, other, options, &report, error);
    if (status >= 0)
        status = tell_sources(report, trace, paths, analysis->inputs > 1 ? 1 : count, "beside", "damaged");
    if (status >= 0 && other)
        status = tell_sources(report, other, paths + 1, 1, "beside_b", "damaged_b");
    if (status >= 0)
        *ret = report;
    else
        gt_report_free(report);
    gt_trace_close(trace);
    gt_trace_close(other);
    return status;
}

int gt_analysis_of_trace(const struct gt_trace *trace, const char *name, const struct gt_profile_options *options,
                         struct gt_report **ret, struct gt_error *error)
{
    const struct gt_analysis *analysis = gt_analysis_find(name, error);
    if (!analysis)
        return -EINVAL;
    if (analysis->inputs > 1)
        return gt_error_set(error, EINVAL, "profile %s takes two paths, not a trace", name);
    return gt_analysis_run(analysis, trace, NULL, options, ret, error);
}
