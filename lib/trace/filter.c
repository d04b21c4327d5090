#include "trace/filter.h"

#include <errno.h>
#include <stdlib.h>

#include "base/number.h"

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

static int by_node(const void *a, const void *b)
{
    const struct gt_window *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return GT_ORDER(x->start, y->start);
}

/* Sorted and without overlaps, so that ends are sorted as well. */
static void unite(struct gt_filter *filter)
{
    size_t count = 0;
    qsort(filter->window, filter->windows, sizeof *filter->window, by_node);
    for (size_t i = 0; i < filter->windows; i++) {
        const struct gt_window *window = &filter->window[i];
        struct gt_window *last = count ? &filter->window[count - 1] : NULL;
        if (!last || last->node != window->node || last->end < window->start)
            filter->window[count++] = *window;
        else if (window->end > last->end)
            last->end = window->end;
    }
    filter->windows = count;
}

/* Each window twice: for its node, and for nodes without steps of their own, to which those of all apply. */
static int keep_windows(struct gt_filter *filter, const struct gt_trace *survey)
{
    filter->window = calloc(survey->step_count * 2 + 1, sizeof *filter->window);
    if (!filter->window)
        return -ENOMEM;
    filter->start = INT64_MAX;
    filter->end = INT64_MIN;
    for (size_t i = 0; i < survey->step_count; i++) {
        const struct gt_trace_step *step = &survey->step[i];
        if (step->step < filter->options->start_step || step->step > filter->options->end_step)
            continue;
        filter->window[filter->windows++] = (struct gt_window){step->node, step->start, step->end};
        filter->window[filter->windows++] = (struct gt_window){GT_TRACE_NONE, step->start, step->end};
        filter->start = step->start < filter->start ? step->start : filter->start;
        filter->end = step->end > filter->end ? step->end : filter->end;
    }
    unite(filter);
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

/* The first window of the node that ends at `start` or later; NULL when the node has none at all, or none so late. */
static const struct gt_window *find_window(const struct gt_filter *filter, uint32_t node, int64_t start, bool *has_any)
{
    size_t low = 0, high = filter->windows;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct gt_window *window = &filter->window[middle];
        if (window->node < node || (window->node == node && window->end < start))
            low = middle + 1;
        else
            high = middle;
    }
    *has_any = (low < filter->windows && filter->window[low].node == node) ||
               (low && filter->window[low - 1].node == node);
    return low < filter->windows && filter->window[low].node == node ? &filter->window[low] : NULL;
}

static bool overlaps_window(const struct gt_filter *filter, uint32_t node, int64_t start, int64_t end)
{
    bool has_any;
    const struct gt_window *window = find_window(filter, node, start, &has_any);
    if (!has_any)
        window = find_window(filter, GT_TRACE_NONE, start, &has_any);
    return window && window->start <= end;
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
    uint64_t hash = gt_hash(name.text, name.length);
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
