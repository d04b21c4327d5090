/* The sink that fills the columns of a trace. */
#include <errno.h>
#include <math.h>

#include "base/grow.h"
#include "trace/source.h"
#include "trace/trace.h"
#include "trace/input/walk.h"

static int64_t intern(struct gt_trace *trace, struct gt_span value)
{
    struct gt_span text = gt_span_unquoted(value);
    if (*value.text != '"' || !gt_span_has_escape(text))
        return gt_strings_add(&trace->strings, text.text, text.length);
    struct gt_buffer plain = {0};
    int64_t number = gt_span_unescape(text, &plain);
    if (number >= 0)
        number = gt_strings_add(&trace->strings, plain.data, plain.length);
    gt_buffer_release(&plain);
    return number;
}

static int keep_argument(struct gt_trace *trace, uint32_t key, struct gt_span value)
{
    double number = NAN;
    int64_t text = GT_TRACE_NONE;
    if (*value.text == 't' || *value.text == 'f')
        number = *value.text == 't';
    else if (*value.text == '"' || *value.text == '{' || *value.text == '[')
        text = intern(trace, value);
    else
        gt_span_double(value, &number);
    if (text < 0)
        return (int)text;
    struct gt_trace_argument *argument = NULL;
    if (gt_trace_argument_room(&trace->events) == 0)
        argument = GT_GROW(trace, argument);
    if (!argument)
        return -ENOMEM;
    *argument = (struct gt_trace_argument){key, (uint32_t)text, number};
    return 0;
}

static int keep_arguments(struct gt_columns_sink *columns, struct gt_span args)
{
    const char *const *wanted = columns->options->arguments;
    struct gt_walk walk;
    struct gt_span key, value;
    if (!wanted || !args.text || *args.text != '{')
        return 0;
    gt_walk_open(&walk, args);
    while (gt_walk_member(&walk, &key, &value) > 0)
        for (uint32_t i = 0; wanted[i]; i++)
            if (gt_span_is(key, wanted[i])) {
                int status = keep_argument(columns->trace, i, value);
                if (status < 0)
                    return status;
            }
    return 0;
}

static int take_event(void *context, const struct gt_trace_event *event, struct gt_error *error)
{
    struct gt_columns_sink *columns = context;
    struct gt_trace_events *events = &columns->trace->events;
    if (event->phase == 'M' || columns->options->no_events)
        return 0;
    int status = gt_trace_event_room(events);
    if (status >= 0 && columns->trace->argument_count >= GT_TRACE_NONE)
        status = -EOVERFLOW;
    size_t at = events->count;
    if (status >= 0 && events->argument)
        events->argument[at] = (uint32_t)columns->trace->argument_count;
    if (status >= 0)
        status = keep_arguments(columns, event->item->args);
    if (status >= 0)
        status = gt_trace_set_duration(events, at, event->duration);
    if (status >= 0)
        status = gt_trace_set_ids(events, at, event->id, event->item->external);
    if (status >= 0 && event->item->bytes != -1)
        status = gt_trace_set_bytes(events, at, event->item->bytes);
    if (status < 0)
        return gt_error_system(error, -status, "keeping events");
    events->start[at] = event->start;
    events->name[at] = event->name;
    events->category[at] = event->category;
    events->track[at] = event->track;
    events->step[at] = event->step;
    events->phase[at] = event->phase;
    events->flag[at] = event->flag;
    events->count++;
    return 0;
}

static int take_sample(void *context, uint32_t series, int64_t time, double value, struct gt_error *error)
{
    struct gt_columns_sink *columns = context;
    if (columns->options->no_samples)
        return 0;
    int status = gt_trace_add_sample(&columns->trace->samples, series, time, value);
    return status < 0 ? gt_error_system(error, -status, "keeping samples") : 0;
}

static int begin_columns(void *context, uint32_t file, struct gt_error *error)
{
    (void)error;
    struct gt_columns_sink *columns = context;
    struct gt_trace *trace = columns->trace;
    if (columns->has_begun && columns->file == file) {
        gt_trace_events_cut(&trace->events, columns->events);
        trace->samples.count = columns->samples;
        trace->argument_count = columns->arguments;
    }
    columns->has_begun = true;
    columns->file = file;
    columns->events = trace->events.count;
    columns->samples = trace->samples.count;
    columns->arguments = trace->argument_count;
    return 0;
}

struct gt_trace_sink gt_columns_sink(struct gt_columns_sink *columns)
{
    return (struct gt_trace_sink){columns, begin_columns, take_event, take_sample, false};
}
