/* The rows of tables that a caller wants. */
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "trace/rows.h"

enum { UNKNOWN, WANTED, UNWANTED };

int32_t gt_trace_row_step(const struct gt_trace *trace, size_t event)
{
    if (trace->events.flag[event] & GT_TRACE_IN_STEP && strcmp(gt_trace_file_of(trace, event)->format, "smdebug") == 0)
        return GT_TRACE_NO_STEP;
    return trace->events.step[event];
}

static unsigned char *verdicts(const struct gt_row_filter *filter, size_t request)
{
    return filter->verdict + request * (filter->trace->strings.count + (size_t)1);
}

static void judge(struct gt_row_filter *filter, size_t request, const regex_t *expression)
{
    const struct gt_trace *trace = filter->trace;
    unsigned char *verdict = verdicts(filter, request);
    for (uint32_t i = 0; i < trace->strings.count; i++)
        if (verdict[i] != WANTED)
            verdict[i] = regexec(expression, gt_trace_text(trace, i), 0, NULL, 0) == 0 ? WANTED : UNWANTED;
}

static int take_names(struct gt_row_filter *filter, size_t request, struct gt_error *error)
{
    const struct gt_trace_rows *rows = &filter->rows[request];
    const struct gt_trace *trace = filter->trace;
    unsigned char *verdict = verdicts(filter, request);
    memset(verdict, rows->names ? UNWANTED : WANTED, trace->strings.count + (size_t)1);
    for (const char *const *name = rows->names; name && *name; name++) {
        regex_t expression;
        if (!rows->are_patterns) {
            uint32_t string = gt_trace_find(trace, *name);
            if (string != GT_TRACE_NONE)
                verdict[string] = WANTED;
        } else if (regcomp(&expression, *name, REG_EXTENDED | REG_NOSUB)) {
            return gt_error_set(error, EINVAL, "\"%s\" is no regular expression", *name);
        } else {
            judge(filter, request, &expression);
            regfree(&expression);
        }
    }
    return 0;
}

/* The time that the events of a request take. */
static struct gt_row_span hull_of(const struct gt_trace *trace, const struct gt_trace_rows *rows)
{
    const struct gt_trace_events *events = &trace->events;
    struct gt_row_span hull = {INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < events->count; i++) {
        int32_t step = gt_trace_row_step(trace, i);
        if (step < rows->start || step > rows->end || !gt_trace_is_slice(trace, i))
            continue;
        int64_t end = events->start[i] + events->duration[i];
        hull.start = events->start[i] < hull.start ? events->start[i] : hull.start;
        hull.end = end > hull.end ? end : hull.end;
    }
    return hull;
}

int gt_row_filter_open(struct gt_row_filter *ret, const struct gt_trace *trace, const struct gt_trace_rows *rows,
                       size_t count, struct gt_error *error)
{
    *ret = (struct gt_row_filter){.trace = trace, .rows = rows, .count = count};
    ret->verdict = calloc(count + 1, trace->strings.count + (size_t)1);
    ret->hull = calloc(count + 1, sizeof *ret->hull);
    int status = ret->verdict && ret->hull ? 0 : gt_error_system(error, ENOMEM, "choosing rows");
    for (size_t i = 0; i < count && status >= 0; i++) {
        status = take_names(ret, i, error);
        ret->hull[i] = rows[i].by_step ? hull_of(trace, &rows[i]) : (struct gt_row_span){rows[i].start, rows[i].end};
    }
    if (status < 0)
        gt_row_filter_release(ret);
    return status;
}

void gt_row_filter_release(struct gt_row_filter *filter)
{
    free(filter->verdict);
    free(filter->hull);
    *filter = (struct gt_row_filter){0};
}

static bool is_wanted(const struct gt_row_filter *filter, size_t request, uint32_t name, uint32_t other)
{
    const unsigned char *verdict = verdicts(filter, request);
    return !filter->rows[request].names || (name != GT_TRACE_NONE && verdict[name] == WANTED) ||
           (other != GT_TRACE_NONE && verdict[other] == WANTED);
}

bool gt_row_filter_event(const struct gt_row_filter *filter, size_t event)
{
    const struct gt_trace *trace = filter->trace;
    const struct gt_trace_events *events = &trace->events;
    if (!gt_trace_is_slice(trace, event))
        return false;
    for (size_t i = 0; i < filter->count; i++) {
        const struct gt_trace_rows *rows = &filter->rows[i];
        int32_t step = gt_trace_row_step(trace, event);
        bool inside = rows->by_step ? rows->start <= step && step <= rows->end
                                    : events->start[event] <= rows->end &&
                                          events->start[event] + events->duration[event] >= rows->start;
        if (inside && is_wanted(filter, i, events->name[event], gt_trace_process_of(trace, event)->name))
            return true;
    }
    return !filter->count;
}

bool gt_row_filter_sample(const struct gt_row_filter *filter, size_t sample)
{
    const struct gt_trace *trace = filter->trace;
    const struct gt_trace_series *series = &trace->series[trace->samples.series[sample]];
    int64_t time = trace->samples.time[sample];
    for (size_t i = 0; i < filter->count; i++)
        if (filter->hull[i].start <= time && time <= filter->hull[i].end &&
            is_wanted(filter, i, series->name, series->dimension))
            return true;
    return !filter->count;
}
