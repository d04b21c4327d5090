#include "trace/raw_event.h"

#include <errno.h>

/* ---- one event ---- */

static uint64_t read_id(struct gt_span value)
{
    int64_t number;
    return gt_span_decimal(value, 0, &number) < 0 || number < 0 ? GT_TRACE_NO_ID : (uint64_t)number;
}

static int32_t read_step(struct gt_span value)
{
    int64_t number;
    return gt_span_decimal(value, 0, &number) < 0 || number < 0 || number > INT32_MAX ? GT_TRACE_NO_STEP
                                                                                      : (int32_t)number;
}

static int64_t read_bytes(struct gt_span value)
{
    int64_t number;
    return gt_span_decimal(value, 0, &number) < 0 ? -1 : number;
}

/* The arguments that have a column. A plain table, by length. */
void gt_raw_event_take_argument(struct gt_raw_event *item, struct gt_span key, struct gt_span value)
{
    switch (key.length) {
    case 3:
        if (gt_span_is(key, "pid"))
            item->real_pid = gt_span_unquoted(value);
        break;
    case 4:
        if (gt_span_is(key, "name") && !item->label.text && *value.text == '"')
            item->label = gt_span_unquoted(value);
        break;
    case 5:
        if (gt_span_is(key, "bytes") || gt_span_is(key, "Bytes"))
            item->bytes = read_bytes(value);
        break;
    case 8:
        if (gt_span_is(key, "step_num"))
            item->step = read_step(value);
        break;
    case 9:
        if (gt_span_is(key, "thread_id"))
            item->real_tid = gt_span_unquoted(value);
        break;
    case 10:
        if (gt_span_is(key, "layer_name") && *value.text == '"')
            item->label = gt_span_unquoted(value);
        break;
    case 11:
        if (gt_span_is(key, "correlation"))
            item->correlation = read_id(value);
        else if (gt_span_is(key, "External id") || gt_span_is(key, "external id")) /* the latter in 2021 */
            item->external = read_id(value);
        break;
    case 13:
        if (gt_span_is(key, "bytes_fetched"))
            item->bytes = read_bytes(value);
        break;
    default: break;
    }
}

void gt_raw_event_forget_arguments(struct gt_raw_event *item)
{
    item->real_pid = item->real_tid = item->label = (struct gt_span){0};
    item->bytes = -1;
    item->correlation = item->external = GT_TRACE_NO_ID;
    item->step = GT_TRACE_NO_STEP;
}

/* All members, one by one: the instruction that clears a whole structure takes longer. */
void gt_raw_event_begin(struct gt_raw_event *item, struct gt_span text)
{
    const struct gt_span none = {0};
    item->text = text;
    item->name = item->category = item->pid = item->tid = item->id = item->args = none;
    item->start = item->duration = 0;
    item->phase = 0;
    item->has = 0;
    item->has_others = false;
    gt_raw_event_forget_arguments(item);
}

/* `walk` stands on '{', and afterwards behind its '}'. */
static int walk_arguments(struct gt_raw_event *item, struct gt_walk *walk)
{
    struct gt_walk inner = {.at = walk->at + 1, .end = walk->end};
    struct gt_span key, value;
    int status;
    gt_raw_event_forget_arguments(item); /* of several members of one name the last counts */
    while ((status = gt_walk_member(&inner, &key, &value)) > 0)
        gt_raw_event_take_argument(item, key, value);
    item->args = (struct gt_span){walk->at, (size_t)(inner.at - walk->at)};
    walk->at = inner.at;
    walk->mended |= inner.mended;
    return status;
}

int gt_raw_event_arguments(struct gt_raw_event *item)
{
    if (!item->args.text || *item->args.text != '{')
        return 0;
    struct gt_walk walk = {.at = item->args.text, .end = item->args.text + item->args.length};
    int status = walk_arguments(item, &walk);
    if (walk.mended)
        item->has |= GT_RAW_EVENT_MENDED;
    return status;
}

static int take_time(struct gt_raw_event *item, struct gt_span value, int64_t *ret, uint8_t bit)
{
    int status = gt_span_decimal(value, 3, ret); /* microseconds */
    if (status >= 0)
        item->has |= bit;
    return status < 0 ? -EBADMSG : 0;
}

static void take_other(struct gt_raw_event *item, struct gt_span key, struct gt_span value)
{
    item->has_others = true;
    if (gt_span_is(key, "cat"))
        item->category = gt_span_unquoted(value);
    else if (gt_span_is(key, "id2"))
        item->id = value;
}

/* A plain switch. */
int gt_raw_event_take_member(struct gt_raw_event *item, struct gt_span key, struct gt_span value)
{
    switch (key.length) {
    case 2:
        if (gt_span_is(key, "ph")) {
            struct gt_span phase = gt_span_unquoted(value);
            if (phase.length != 1 || *value.text != '"')
                return -EBADMSG;
            item->phase = *phase.text;
        } else if (gt_span_is(key, "ts")) {
            return take_time(item, value, &item->start, GT_RAW_EVENT_TIME);
        } else if (gt_span_is(key, "id")) {
            item->id = value;
        } else {
            break;
        }
        return 0;
    case 3:
        if (gt_span_is(key, "pid"))
            item->pid = gt_span_unquoted(value);
        else if (gt_span_is(key, "tid"))
            item->tid = gt_span_unquoted(value);
        else if (gt_span_is(key, "cat") && !item->category.text)
            item->category = gt_span_unquoted(value);
        else if (gt_span_is(key, "dur"))
            return take_time(item, value, &item->duration, GT_RAW_EVENT_DURATION);
        else
            break;
        return 0;
    case 4:
        if (gt_span_is(key, "name"))
            item->name = gt_span_unquoted(value);
        else if (gt_span_is(key, "args"))
            item->args = value; /* no object: nothing to be read in it */
        else
            break;
        return 0;
    default: break;
    }
    take_other(item, key, value);
    return 0;
}

static int take_next(struct gt_raw_event *item, struct gt_walk *walk, struct gt_span key)
{
    struct gt_span value;
    if (*walk->at == '{' && gt_span_is(key, "args"))
        return walk_arguments(item, walk);
    return gt_walk_value(walk, &value) < 0 ? -EBADMSG : gt_raw_event_take_member(item, key, value);
}

struct gt_raw_event gt_raw_event_of(struct gt_span name, int64_t start, int64_t duration)
{
    return (struct gt_raw_event){.name = name,
                                 .start = start,
                                 .duration = duration,
                                 .bytes = -1,
                                 .correlation = GT_TRACE_NO_ID,
                                 .external = GT_TRACE_NO_ID,
                                 .step = GT_TRACE_NO_STEP,
                                 .phase = 'X',
                                 .has = GT_RAW_EVENT_TIME | GT_RAW_EVENT_DURATION};
}

int gt_raw_event_parse(struct gt_raw_event *item, struct gt_span text)
{
    struct gt_walk walk;
    struct gt_span key;
    int status = gt_walk_open(&walk, text);
    if (status < 0 || *text.text != '{')
        return -EBADMSG;
    gt_raw_event_begin(item, text);
    while ((status = gt_walk_key(&walk, &key)) > 0)
        if (take_next(item, &walk, key) < 0)
            return -EBADMSG;
    if (status < 0 || !gt_walk_at_end(&walk))
        return -EBADMSG;
    if (!walk.begun)
        return 1;
    if (walk.mended)
        item->has |= GT_RAW_EVENT_MENDED;
    return item->phase ? 0 : -EBADMSG;
}
