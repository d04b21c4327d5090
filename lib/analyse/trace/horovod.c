#include "analyse/trace/horovod.h"

#include <ctype.h>
#include <string.h>

#include "base/number.h"

/* What an event is, in the order in which those that begin at one moment follow one another. */
enum { NEGOTIATION, TICK, OPERATION };

static bool is_number(const char *name)
{
    while (isdigit((unsigned char)*name))
        name++;
    return !*name;
}

static bool is_negotiation(const char *name)
{
    return strncmp(name, "NEGOTIATE_", strlen("NEGOTIATE_")) == 0;
}

static bool has_negotiations(const struct gt_trace *trace)
{
    for (uint32_t i = 0; i < trace->strings.count; i++)
        if (is_negotiation(gt_trace_text(trace, i)))
            return true;
    return false;
}

/* Keys: track, and what it is; by track and time. A tick's own duration means nothing. */
static int collect(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    const struct gt_trace_events *events = &input->trace->events;
    int status = 0;
    for (size_t i = 0; i < events->count && status >= 0; i++) {
        const char *name = gt_trace_text(input->trace, events->name[i]);
        bool is_tick = *name && is_number(name);
        uint32_t what = is_negotiation(name) ? NEGOTIATION : is_tick ? TICK : OPERATION;
        if (events->phase[i] == 'X' && events->category[i] == GT_TRACE_NONE)
            status = gt_spans_add_event(spans, input->trace, i, GT_SPAN_KEY(events->track[i], 0, 0, what));
    }
    return status;
}

static int by_time(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->key[0], y->key[0]), GT_ORDER(x->start, y->start), GT_ORDER(x->key[3], y->key[3]),
                       GT_ORDER(y->end, x->end), GT_ORDER(x->event, y->event));
}

/* The operation that follows the negotiation before the next one does; SIZE_MAX: none does. */
static size_t operation_of(const struct gt_spans *spans, size_t negotiation, size_t to)
{
    for (size_t i = negotiation + 1; i < to && spans->span[i].key[3] != NEGOTIATION; i++)
        if (spans->span[i].key[3] == OPERATION && spans->span[i].start >= spans->span[negotiation].end)
            return i;
    return SIZE_MAX;
}

static int take_ticks(const struct gt_analysis_input *input, const struct gt_spans *spans, size_t at, size_t to,
                      struct gt_horovod_arrival arrival,
                      int (*take)(void *context, const struct gt_horovod_arrival *arrival), void *context)
{
    const uint32_t *name = input->trace->events.name;
    int64_t until = spans->span[at].end;
    int status = 0;
    arrival.name = name[spans->span[at].event];
    for (size_t i = at + 1; i < to && spans->span[i].start <= until && status >= 0; i++) {
        if (spans->span[i].key[3] != TICK)
            continue;
        arrival.rank = name[spans->span[i].event];
        arrival.start = spans->span[i].start;
        status = take(context, &arrival);
    }
    return status;
}

int gt_horovod_arrivals(const struct gt_analysis_input *input,
                        int (*take)(void *context, const struct gt_horovod_arrival *arrival), void *context)
{
    struct gt_spans spans = {0};
    int status = has_negotiations(input->trace) ? collect(input, &spans) : 0;
    gt_spans_sort_by(&spans, by_time);
    for (size_t from = 0, to = 0; status >= 0 && gt_spans_next(&spans, 1, &from, &to);) {
        int64_t number = 0;
        for (size_t i = from; i < to && status >= 0; i++) {
            size_t operation = spans.span[i].key[3] == NEGOTIATION ? operation_of(&spans, i, to) : SIZE_MAX;
            if (operation == SIZE_MAX)
                continue;
            struct gt_horovod_arrival arrival = {
                .track = spans.span[i].key[0], .number = number, .end = spans.span[operation].end};
            number++;
            status = take_ticks(input, &spans, i, to, arrival, take, context);
        }
    }
    gt_spans_release(&spans);
    return status;
}
