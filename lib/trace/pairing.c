#include "trace/pairing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

enum { MOST_OPEN = 1000000 };

struct gt_lane *gt_pairing_lane(struct gt_pairing *pairing, uint32_t lane)
{
    while (pairing->lane_count <= lane) {
        struct gt_lane *added = GT_GROW(pairing, lane);
        if (!added)
            return NULL;
        *added = (struct gt_lane){INT64_MIN, GT_TRACE_NONE};
    }
    return &pairing->lane[lane];
}

int gt_pairing_see(struct gt_pairing *pairing, uint32_t lane, int64_t time)
{
    struct gt_lane *seen = gt_pairing_lane(pairing, lane);
    if (seen && time > seen->last)
        seen->last = time;
    return seen ? 0 : -ENOMEM;
}

int gt_pairing_begin(struct gt_pairing *pairing, const struct gt_open_event *event)
{
    struct gt_lane *lane = gt_pairing_lane(pairing, event->lane);
    if (pairing->open_count >= MOST_OPEN)
        return 1;
    char *text = event->text ? malloc(event->length + 1) : NULL;
    struct gt_open_event *open = lane && (text || !event->text) ? GT_GROW(pairing, open) : NULL;
    if (!open) {
        free(text);
        return -ENOMEM;
    }
    if (text)
        *(char *)mempcpy(text, event->text, event->length) = '\0';
    *open = *event;
    open->text = text;
    open->below = lane->top;
    lane->top = (uint32_t)pairing->open_count - 1;
    return 0;
}

struct gt_open_event gt_pairing_end(struct gt_pairing *pairing, size_t open)
{
    struct gt_open_event ended = pairing->open[open];
    pairing->lane[ended.lane].top = ended.below;
    pairing->open[open] = (struct gt_open_event){.lane = GT_TRACE_NONE};
    while (pairing->open_count && pairing->open[pairing->open_count - 1].lane == GT_TRACE_NONE)
        pairing->open_count--;
    return ended;
}

void gt_pairing_release(struct gt_pairing *pairing)
{
    for (size_t i = 0; i < pairing->open_count; i++)
        free(pairing->open[i].text);
    free(pairing->open);
    free(pairing->lane);
}
