#include "trace/pair.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

enum { MOST_OPEN = 1000000 };
#define NOTHING UINT32_MAX

struct open {
    char *text; /* of the B; NULL when it was closed */
    size_t length;
    int64_t start;
    uint32_t track, below; /* the one it lies in on its track */
};

struct lane {
    int64_t last;
    uint32_t top; /* its innermost open B */
};

struct gt_pairing {
    struct gt_reading *reading;
    const struct gt_pair_receiver *receiver;
    struct open *open; /* in file order; those at the end that were closed are taken away */
    size_t open_count, open_capacity;
    struct lane *lane;
    size_t lane_count, lane_capacity;
    struct gt_buffer args;
};

int gt_pairing_open(struct gt_pairing **ret, struct gt_reading *reading, const struct gt_pair_receiver *receiver)
{
    *ret = calloc(1, sizeof **ret);
    if (!*ret)
        return -ENOMEM;
    (*ret)->reading = reading;
    (*ret)->receiver = receiver;
    return 0;
}

static struct lane *lane_of(struct gt_pairing *pairing, uint32_t track)
{
    size_t number = track - gt_reading_file(pairing->reading)->track;
    while (pairing->lane_count <= number) {
        struct lane *lane = GT_GROW(pairing, lane);
        if (!lane)
            return NULL;
        *lane = (struct lane){INT64_MIN, NOTHING};
    }
    return &pairing->lane[number];
}

int gt_pairing_time(struct gt_pairing *pairing, uint32_t track, int64_t time)
{
    struct lane *lane = lane_of(pairing, track);
    if (lane && time > lane->last)
        lane->last = time;
    return lane ? 0 : -ENOMEM;
}

static bool is_member(struct gt_span object, struct gt_span wanted)
{
    struct gt_walk walk;
    struct gt_span key, value;
    if (gt_walk_open(&walk, object) < 0)
        return false;
    while (gt_walk_member(&walk, &key, &value) > 0)
        if (gt_span_same(key, wanted))
            return true;
    return false;
}

/* The arguments of both; where both have one, that of E. */
static int unite(struct gt_pairing *pairing, struct gt_raw_event *begin, struct gt_span end)
{
    struct gt_walk walk;
    struct gt_span key, value;
    if (!end.text || *end.text != '{')
        return 0;
    if (!begin->args.text || *begin->args.text != '{') {
        begin->args = end;
        return 0;
    }
    gt_buffer_clear(&pairing->args);
    gt_buffer_char(&pairing->args, '{');
    for (int side = 0; side < 2; side++) {
        gt_walk_open(&walk, side ? end : begin->args);
        while (gt_walk_member(&walk, &key, &value) > 0) {
            if (side == 0 && is_member(end, key))
                continue;
            if (pairing->args.length > 1)
                gt_buffer_char(&pairing->args, ',');
            gt_buffer_char(&pairing->args, '"');
            gt_buffer_append(&pairing->args, key.text, key.length);
            gt_buffer_append(&pairing->args, "\":", 2);
            gt_buffer_append(&pairing->args, value.text, value.length);
        }
    }
    gt_buffer_char(&pairing->args, '}');
    begin->args = (struct gt_span){pairing->args.data, pairing->args.length};
    return pairing->args.failed;
}

/* `args` of what closes it, or none. */
static int close_one(struct gt_pairing *pairing, struct open *open, int64_t end, struct gt_span args, uint8_t flag)
{
    struct gt_raw_event item;
    int status = gt_raw_event_parse(&item, (struct gt_span){open->text, open->length});
    if (status == 0)
        status = unite(pairing, &item, args);
    if (status == 0) {
        gt_raw_event_arguments(&item);
        item.phase = 'X';
        item.duration = end > item.start ? end - item.start : 0;
        status = pairing->receiver->event(pairing->receiver->context, &item, flag);
    }
    free(open->text);
    open->text = NULL;
    return status;
}

int gt_pairing_begin(struct gt_pairing *pairing, const struct gt_raw_event *item, uint32_t track)
{
    struct lane *lane = lane_of(pairing, track);
    if (!lane)
        return -ENOMEM;
    if (pairing->open_count >= MOST_OPEN) {
        gt_reading_file(pairing->reading)->damage.unclosed++;
        return 0;
    }
    char *text = malloc(item->text.length + 1);
    struct open *open = text ? GT_GROW(pairing, open) : NULL;
    if (!open) {
        free(text);
        return -ENOMEM;
    }
    memcpy(text, item->text.text, item->text.length);
    text[item->text.length] = '\0';
    *open = (struct open){text, item->text.length, item->start, track, lane->top};
    lane->top = (uint32_t)pairing->open_count - 1;
    return 0;
}

static struct open *latest_of_process(struct gt_pairing *pairing, uint32_t track)
{
    const struct gt_trace_track *tracks = pairing->reading->trace->track;
    for (size_t i = pairing->open_count; i-- > 0;)
        if (pairing->open[i].text && tracks[pairing->open[i].track].process == tracks[track].process)
            return &pairing->open[i];
    return NULL;
}

int gt_pairing_end(struct gt_pairing *pairing, const struct gt_raw_event *item, uint32_t track)
{
    struct lane *lane = lane_of(pairing, track);
    if (!lane)
        return -ENOMEM;
    struct open *open = lane->top == NOTHING ? NULL : &pairing->open[lane->top];
    if (!open && !item->tid.text)
        open = latest_of_process(pairing, track);
    if (!open || item->start < open->start) {
        gt_reading_file(pairing->reading)->damage.unopened++;
        return 0;
    }
    pairing->lane[open->track - gt_reading_file(pairing->reading)->track].top = open->below;
    int status = close_one(pairing, open, item->start, item->args, GT_TRACE_PAIRED);
    while (pairing->open_count && !pairing->open[pairing->open_count - 1].text)
        pairing->open_count--;
    return status;
}

int gt_pairing_finish(struct gt_pairing *pairing)
{
    int status = 0;
    for (size_t i = 0; i < pairing->open_count && status >= 0; i++) {
        struct open *open = &pairing->open[i];
        if (!open->text)
            continue;
        struct lane *lane = lane_of(pairing, open->track);
        gt_reading_file(pairing->reading)->damage.unclosed++;
        status = lane ? close_one(pairing, open, lane->last, (struct gt_span){0}, GT_TRACE_PAIRED | GT_TRACE_UNCLOSED)
                      : -ENOMEM;
    }
    return status;
}

void gt_pairing_close(struct gt_pairing *pairing)
{
    if (!pairing)
        return;
    for (size_t i = 0; i < pairing->open_count; i++)
        free(pairing->open[i].text);
    free(pairing->open);
    free(pairing->lane);
    gt_buffer_release(&pairing->args);
    free(pairing);
}
