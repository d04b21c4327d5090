#include "analyse/usage/process_lanes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"

enum { SHOWN = 40 };

struct bar {
    const struct gt_life *life;
    double begin, end; /* seconds from the first sample */
};

static int by_length(const void *a, const void *b)
{
    const struct bar *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(y->end - y->begin, x->end - x->begin), GT_ORDER(x->life->number, y->life->number));
}

static int by_begin(const void *a, const void *b)
{
    const struct bar *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->begin, y->begin), GT_ORDER(x->life->number, y->life->number));
}

/* Times of lives count from the beginning of the tracking, those of charts from the first sample. */
static size_t find_bars(const struct gt_usage *usage, struct bar *bars)
{
    const struct gt_lives *lives = &usage->outcome->lives;
    int64_t start = usage->machine->start_real_ns, first = usage->summary->first_real_ns;
    double shift = start > 0 && first > start ? (double)(first - start) / 1e9 : 0;
    double last = (double)(usage->summary->last_real_ns - first) / 1e9;
    size_t count = 0;
    for (size_t i = 0; i < lives->count; i++) {
        const struct gt_life *life = &lives->life[i];
        double begin = isnan(life->begin) ? 0 : fmax(life->begin - shift, 0);
        double end = isnan(life->end) ? last : life->end - shift;
        if (end > begin)
            bars[count++] = (struct bar){life, begin, end};
    }
    return count;
}

static void add_bars(struct gt_node *page, const struct bar *bars, size_t count, bool is_all)
{
    struct gt_node *series = gt_report_series(
        page, "processes_over_time", is_all ? "Processes" : "Processes, the 40 that lived longest", "seconds", "");
    gt_node_flags(series, GT_ONLY_PEOPLE | GT_LANES);
    for (size_t i = 0; i < count; i++) {
        char key[24], name[80];
        snprintf(key, sizeof key, "%lld", (long long)bars[i].life->pid);
        snprintf(name, sizeof name, "%s", *bars[i].life->name ? bars[i].life->name : key);
        int lane = gt_series_line(series, key, name);
        gt_series_lane_band(series, lane, name, bars[i].begin, bars[i].end);
    }
}

void gt_process_lanes_add(const struct gt_usage *usage, struct gt_node *page)
{
    size_t lives = usage->outcome->lives.count;
    struct bar *bars = lives > 1 ? malloc(lives * sizeof *bars) : NULL;
    size_t count = bars ? find_bars(usage, bars) : 0, shown = count < SHOWN ? count : SHOWN;
    if (count > 1) {
        qsort(bars, count, sizeof *bars, by_length);
        qsort(bars, shown, sizeof *bars, by_begin);
        add_bars(page, bars, shown, shown == count);
    }
    free(bars);
}
