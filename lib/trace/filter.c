#include "trace/filter.h"

#include <errno.h>
#include <stdlib.h>

bool gt_filter_needs_survey(const struct gt_trace_options *options)
{
    return options->by_step || options->from_first;
}

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}

/* Bounds that count from the first moment of all files. */
static void count_from_first(struct gt_filter *filter, const struct gt_trace *survey)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < survey->file_count; i++)
        first = survey->file[i].first < first ? survey->file[i].first : first;
    if (first == INT64_MAX)
        return;
    if (filter->start > -GT_TRACE_EVER)
        filter->start = add(filter->start, first);
    if (filter->end < GT_TRACE_EVER)
        filter->end = add(filter->end, first);
}

static int keep_windows(struct gt_filter *filter, const struct gt_trace *survey)
{
    filter->window = calloc(survey->step_count + 1, sizeof *filter->window);
    if (!filter->window)
        return -ENOMEM;
    filter->start = INT64_MAX;
    filter->end = INT64_MIN;
    for (size_t i = 0; i < survey->step_count; i++) {
        const struct gt_trace_step *step = &survey->step[i];
        if (step->step < filter->options->start_step || step->step > filter->options->end_step)
            continue;
        filter->window[filter->windows++] = (struct gt_window){step->node, step->start, step->end};
        filter->start = step->start < filter->start ? step->start : filter->start;
        filter->end = step->end > filter->end ? step->end : filter->end;
    }
    return 0;
}

int gt_filter_open(struct gt_filter *ret, const struct gt_trace_options *options, const struct gt_trace *survey,
                   struct gt_error *error)
{
    *ret = (struct gt_filter){.options = options, .start = options->start, .end = options->end};
    if (options->from_first && survey)
        count_from_first(ret, survey);
    if (options->by_step && survey && keep_windows(ret, survey) < 0)
        return gt_error_system(error, ENOMEM, "reading traces");
    if (!options->select)
        return 0;
    char why[160];
    int status = regcomp(&ret->select, options->select, REG_EXTENDED | REG_NOSUB);
    if (status) {
        regerror(status, &ret->select, why, sizeof why);
        return gt_error_set(error, EINVAL, "select: \"%s\" is no regular expression: %s", options->select, why);
    }
    ret->has_select = true;
    ret->verdict = calloc(GT_FILTER_VERDICTS, sizeof *ret->verdict);
    return ret->verdict ? 0 : gt_error_system(error, ENOMEM, "reading traces");
}

static bool overlaps_window(const struct gt_filter *filter, uint32_t node, int64_t start, int64_t end)
{
    bool any_of_node = false;
    for (int pass = 0; pass < 2 && !any_of_node; pass++) /* a node without steps of its own: those of all */
        for (size_t i = 0; i < filter->windows; i++) {
            const struct gt_window *window = &filter->window[i];
            if (pass == 0 && window->node != node)
                continue;
            any_of_node = true;
            if (window->start <= end && window->end >= start)
                return true;
        }
    return false;
}

bool gt_filter_event(const struct gt_filter *filter, uint32_t node, int32_t step, int64_t start, int64_t end)
{
    const struct gt_trace_options *options = filter->options;
    if (options->by_step && step != GT_TRACE_NO_STEP)
        return step >= options->start_step && step <= options->end_step;
    if (start > filter->end || end < filter->start)
        return false;
    return !options->by_step || overlaps_window(filter, node, start, end);
}

bool gt_filter_sample(const struct gt_filter *filter, int64_t time)
{
    return time >= filter->start && time <= filter->end;
}

bool gt_filter_name(struct gt_filter *filter, struct gt_span name)
{
    if (!filter->has_select)
        return true;
    uint64_t hash = gt_strings_hash(name.text, name.length);
    struct gt_verdict *verdict = &filter->verdict[hash % GT_FILTER_VERDICTS];
    if (!verdict->known || verdict->hash != hash || verdict->length != (uint32_t)name.length) {
        regmatch_t range = {.rm_so = 0, .rm_eo = (regoff_t)name.length};
        *verdict = (struct gt_verdict){hash, (uint32_t)name.length, true,
                                       regexec(&filter->select, name.text ? name.text : "", 1, &range, REG_STARTEND) ==
                                           0};
    }
    return verdict->passes;
}

void gt_filter_release(struct gt_filter *filter)
{
    if (filter->has_select)
        regfree(&filter->select);
    free(filter->verdict);
    free(filter->window);
    *filter = (struct gt_filter){0};
}
