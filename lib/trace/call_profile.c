#include "trace/call_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/number.h"
#include "trace/profile_maker.h"

/* Categories of calls of Python functions: viztracer's, py-spy's, PyTorch's. */
static const char *const python[] = {"fee", "FEE", "py-spy", "python_function"};
/* Of what does not run on a thread, or says nothing of it. */
static const char *const others[] = {"kernel",     "Kernel",   "gpu_memcpy", "Memcpy",
                                     "gpu_memset", "Memset",   "gpu",        "gpu_user_annotation",
                                     "Trace",      "overhead", "ac2g",       "fwdbwd"};

static bool is_one_of(const struct gt_trace *trace, uint32_t category, const char *const *names, size_t count)
{
    const char *text = gt_trace_text(trace, category);
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0)
            return true;
    return false;
}

/* For each category, by its number, whether its events are calls. */
static unsigned char *find_categories(const struct gt_trace *trace, enum gt_calls calls)
{
    enum { PYTHON = sizeof python / sizeof *python, OTHERS = sizeof others / sizeof *others };
    unsigned char *is_call = calloc(trace->strings.count + (size_t)1, 1);
    for (uint32_t i = 0; is_call && i < trace->strings.count; i++)
        is_call[i] = calls == GT_CALLS_PYTHON ? is_one_of(trace, i, python, PYTHON)
                                              : !is_one_of(trace, i, others, OTHERS);
    return is_call;
}

static bool is_call(const struct gt_trace *trace, const unsigned char *categories, enum gt_calls calls, size_t event)
{
    uint32_t category = trace->events.category[event];
    if (!gt_trace_is_slice(trace, event))
        return false;
    return category == GT_TRACE_NONE ? calls == GT_CALLS_CPU : categories[category];
}

/* Of one interval, what was made of B and E ends innermost first; whole events stand outermost first. */
static int64_t place_in_interval(const struct gt_trace_events *events, uint32_t event)
{
    return events->flag[event] & GT_TRACE_PAIRED ? -(int64_t)event - 1 : (int64_t)event;
}

static int longer_first(const void *a, const void *b, void *context)
{
    const struct gt_trace_events *events = &((const struct gt_trace *)context)->events;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return GT_ORDER_BY(GT_ORDER(events->track[x], events->track[y]), GT_ORDER(events->start[x], events->start[y]),
                       GT_ORDER(gt_trace_duration(events, y), gt_trace_duration(events, x)),
                       GT_ORDER(place_in_interval(events, x), place_in_interval(events, y)));
}

struct opened {
    uint32_t frame;
    int64_t end, left; /* ns of it that no callee took */
};

static void close_until(struct gt_profile_maker *maker, struct opened *opened, size_t *depth, int64_t time)
{
    while (*depth && opened[*depth - 1].end <= time) {
        const struct opened *top = &opened[--*depth];
        maker->own[top->frame].weight += top->left > 0 ? (double)top->left / 1e9 : 0;
        maker->own[top->frame].calls++;
    }
}

/* One that ends behind the one it began in is cut to that. */
static int nest(struct gt_profile_maker *maker, const uint32_t *event, size_t count)
{
    const struct gt_trace_events *events = &maker->trace->events;
    struct opened *opened = calloc(GT_PROFILE_DEEPEST, sizeof *opened);
    size_t depth = 0;
    int64_t status = opened ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && status >= 0; i++) {
        int64_t start = events->start[event[i]], end = start + gt_trace_duration(events, event[i]);
        close_until(maker, opened, &depth, start);
        if (depth == GT_PROFILE_DEEPEST)
            continue;
        struct opened *around = depth ? &opened[depth - 1] : NULL;
        end = around && end > around->end ? around->end : end;
        const char *name = gt_trace_text(maker->trace, events->name[event[i]]);
        char *copy = strdup(name); /* the texts may move */
        status = copy ? gt_profile_function_of(maker, gt_span_of(copy)) : -ENOMEM;
        free(copy);
        if (status >= 0)
            status = gt_profile_frame(maker, around ? around->frame : GT_TRACE_NONE, (uint32_t)status);
        if (status < 0)
            break;
        if (around)
            around->left -= end - start;
        opened[depth++] = (struct opened){(uint32_t)status, end, end - start};
    }
    if (status >= 0)
        close_until(maker, opened, &depth, INT64_MAX);
    free(opened);
    return status < 0 ? (int)status : 0;
}

static int add_profile(struct gt_trace *trace, const uint32_t *event, size_t count)
{
    struct gt_profile_maker maker = {.trace = trace};
    const struct gt_trace_track *track = &trace->track[trace->events.track[*event]];
    uint32_t file = trace->process[track->process].file;
    maker.lines_ran = strcmp(gt_trace_text(trace, trace->events.category[*event]), "py-spy") == 0;
    int status = nest(&maker, event, count);
    if (status >= 0)
        status = gt_profile_sum(&maker, !maker.lines_ran); /* its events are samples, not calls */
    struct gt_trace_profile *profile = status < 0 ? NULL : GT_GROW(trace, profile);
    if (profile) {
        gt_trace_profile_init(profile, file, trace->file[file].node);
        profile->profiler = GT_PROFILER_EVENTS;
        profile->thread = track->name != GT_TRACE_NONE ? track->name : track->tid;
        profile->start = trace->events.start[*event];
        profile->end = profile->start;
        for (size_t i = 0; i < count; i++) {
            int64_t end = trace->events.start[event[i]] + gt_trace_duration(&trace->events, event[i]);
            profile->end = end > profile->end ? end : profile->end;
        }
        status = gt_profile_finish(&maker, profile);
    } else if (status >= 0) {
        status = -ENOMEM;
    }
    gt_profile_maker_release(&maker);
    return status;
}

int gt_call_profiles(struct gt_trace *trace, enum gt_calls calls)
{
    unsigned char *categories = find_categories(trace, calls);
    uint32_t *event = malloc((trace->events.count + 1) * sizeof *event);
    size_t count = 0;
    int status = categories && event ? 0 : -ENOMEM;
    for (size_t i = 0; status >= 0 && i < trace->events.count; i++)
        if (is_call(trace, categories, calls, i))
            event[count++] = (uint32_t)i;
    free(categories);
    if (count)
        qsort_r(event, count, sizeof *event, longer_first, trace);
    for (size_t from = 0, to; from < count && status >= 0; from = to) {
        for (to = from; to < count && trace->events.track[event[to]] == trace->events.track[event[from]];)
            to++;
        status = add_profile(trace, event + from, to - from);
    }
    free(event);
    return status < 0 ? status : gt_profiles_settle_lines(trace);
}

bool gt_calls_alone(const struct gt_trace *trace)
{
    static const char *const tools[] = {"fee", "FEE", "py-spy"};
    bool found = false;
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        found |= gt_trace_find(trace, tools[i]) != GT_TRACE_NONE;
    return found && gt_trace_find(trace, "cpu_op") == GT_TRACE_NONE;
}
