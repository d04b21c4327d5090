#include "record/gap_watch.h"

#include <math.h>
#include <stdio.h>

#include "aggregate/coverage.h"

/* 0 to 100. */
static double covered_percent(const struct gt_coverage *coverage, int64_t now_ns)
{
    double seconds = (double)(now_ns - coverage->start_ns) / 1e9;
    return 100 * (1 - gt_coverage_missing(coverage, now_ns) / seconds);
}

static void say_away(const char *name, const struct gt_gap *gap, char *sentence, size_t size)
{
    char text[140];
    gt_gap_describe(gap, text, sizeof text);
    snprintf(sentence, size, "Energy of the %s is known for a part of the run only, not %s", name, text);
}

/* What counted on unread is made up for by the next reading. */
static void say_back(const char *name, double began, int64_t now_ns, const struct gt_coverage *coverage,
                     const struct gt_gap *gap, char *sentence, size_t size)
{
    char text[140];
    struct gt_gap away = {.began = began, .ended = (double)(now_ns - coverage->start_ns) / 1e9, .times = 1};
    gt_gap_describe(isnan(gap->began) ? &away : gap, text, sizeof text);
    if (isnan(gap->began))
        snprintf(sentence, size,
                 "Energy of the %s is known for the whole run again: its counter went on while it was away %s", name,
                 text);
    else
        snprintf(sentence, size, "Energy of the %s is known again, for %.3g %% of the time up to now: not %s", name,
                 covered_percent(coverage, now_ns), text);
}

bool gt_gap_watch_look(struct gt_gap_watch *watch, const char *name, const struct gt_coverage *coverage,
                       const struct gt_gap *gap, int64_t now_ns, bool is_end, char *sentence, size_t size)
{
    bool is_first = !watch->is_told && (gt_coverage_is_broken(coverage, now_ns) || (is_end && gap->times > 0));
    bool is_back = watch->is_away && !gt_coverage_is_away(coverage, now_ns);
    bool is_more = is_end && watch->is_told && gap->times > watch->times;
    if (is_back)
        say_back(name, watch->began, now_ns, coverage, gap, sentence, size);
    else if (is_first || is_more)
        say_away(name, gap, sentence, size);
    else
        return false;
    watch->began = is_first ? gap->began : watch->began;
    watch->is_told = true;
    watch->is_away = gt_coverage_is_away(coverage, now_ns);
    watch->times = gap->times;
    return true;
}
