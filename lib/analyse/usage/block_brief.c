#include "analyse/usage/block_brief.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "blocks/block_event.h"
#include "blocks/interval.h"
#include "schema/human.h"

enum { TOLD = 3 };

/* The largest of the sums that are left, which is then taken out; -1: none is. */
static int take_largest(double *seconds, size_t count)
{
    int largest = -1;
    for (size_t i = 0; i < count; i++)
        if (seconds[i] > (largest < 0 ? 0 : seconds[largest]))
            largest = (int)i;
    return largest;
}

/* Blocks of several threads at once took more time than there was: then seconds say more than shares. */
static void tell_shares(char *text, size_t size, const struct gt_strings *names, double *seconds, double elapsed)
{
    double sum = 0;
    size_t length = 0;
    for (size_t i = 0; i < names->count; i++)
        sum += seconds[i];
    for (int told = 0; told < TOLD && length < size; told++) {
        char amount[GT_HUMAN_SIZE], shown[44];
        int name = take_largest(seconds, names->count);
        if (name < 0 || seconds[name] < 0.005 * elapsed)
            return;
        gt_life_shorten(shown, sizeof shown, gt_strings_text(names, (size_t)name));
        if (sum > 1.02 * elapsed)
            gt_human_seconds(amount, seconds[name]);
        else
            gt_human_percent(amount, seconds[name] / elapsed);
        length += (size_t)snprintf(text + length, size - length, "%s%s %s", told ? "   " : "", shown, amount);
        seconds[name] = 0;
    }
}

static void tell(struct gt_block_brief *ret, const struct gt_intervals *intervals, const struct gt_strings *names,
                 double elapsed)
{
    const struct gt_interval *last = NULL;
    double *seconds = calloc(names->count + 1, sizeof *seconds);
    for (size_t i = 0; seconds && i < intervals->count; i++) {
        const struct gt_interval *interval = &intervals->interval[i];
        seconds[interval->name] += isfinite(interval->self) ? interval->self : 0;
        if (interval->unfinished && (!last || interval->start > last->start))
            last = interval;
    }
    if (seconds)
        tell_shares(ret->shares, sizeof ret->shares, names, seconds, elapsed);
    if (last)
        gt_life_shorten(ret->unfinished, sizeof ret->unfinished, gt_strings_text(names, last->name));
    free(seconds);
}

void gt_block_brief(struct gt_block_brief *ret, const struct gt_usage *usage)
{
    char path[PATH_MAX];
    struct gt_block_event_list list = {.skip_bad = true, .skip_foreign = true};
    struct gt_intervals intervals = {0};
    double elapsed = usage->outcome->elapsed, end = (double)usage->machine->start_real_ns / 1e9 + elapsed;
    *ret = (struct gt_block_brief){.shares = ""};
    if (!usage->recording || !(elapsed > 0) || gt_block_event_collected(path, sizeof path, usage->recording) < 0)
        return;
    if (gt_block_event_list_add(&list, path, NULL) == 0 && gt_block_event_list_pair(&list, &intervals) == 0 &&
        gt_intervals_close(&intervals, end, NAN) == 0)
        tell(ret, &intervals, &list.names, elapsed);
    gt_intervals_release(&intervals);
    gt_block_event_list_release(&list);
}
