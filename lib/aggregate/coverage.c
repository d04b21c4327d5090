#include "aggregate/coverage.h"

#include <math.h>
#include <stdio.h>

/* A counter may stand still for so many refreshes, and for so long at least. */
static const double PATIENT_REFRESHES = 20, LEAST_PATIENCE = 0.5;
/* Shorter times tell more about clocks than about power. */
static const double LEAST_SECONDS = 0.01;

static double seconds_between(int64_t from_ns, int64_t to_ns)
{
    return (double)(to_ns - from_ns) / 1e9;
}

void gt_coverage_init(struct gt_coverage *coverage, int64_t start_ns, double refresh)
{
    *coverage = (struct gt_coverage){
        .start_ns = start_ns, .known_ns = start_ns, .read_ns = start_ns, .joules = NAN, .patience = LEAST_PATIENCE};
    if (refresh > 0)
        coverage->patience = fmax(LEAST_PATIENCE, PATIENT_REFRESHES * refresh);
}

static void miss(struct gt_coverage *coverage, int64_t until_ns, enum gt_gap_cause cause)
{
    coverage->missing += seconds_between(coverage->known_ns, until_ns);
    if (!coverage->cause) {
        coverage->cause = cause;
        coverage->began_ns = coverage->known_ns;
    }
    coverage->known_ns = until_ns;
}

static bool has_stood_still(const struct gt_coverage *coverage)
{
    return seconds_between(coverage->known_ns, coverage->read_ns) > coverage->patience;
}

static void note_move(struct gt_coverage *coverage, int64_t now_ns, double growth)
{
    double seconds = seconds_between(coverage->known_ns, now_ns);
    if (coverage->is_lost)
        miss(coverage, now_ns, GT_GAP_SET_BACK);
    else if (has_stood_still(coverage))
        miss(coverage, now_ns, GT_GAP_STILL);
    if (seconds >= LEAST_SECONDS)
        coverage->most_watts = fmax(coverage->most_watts, growth / seconds);
    coverage->known_ns = now_ns;
    coverage->is_lost = false;
}

/* A counter that has counted since it was opened covers the time before its first reading. */
static void note_first(struct gt_coverage *coverage, int64_t now_ns)
{
    bool is_late = coverage->failures > 1 && seconds_between(coverage->start_ns, now_ns) > coverage->patience;
    if (is_late || coverage->is_lost)
        miss(coverage, now_ns, GT_GAP_UNREAD);
    coverage->is_lost = false;
}

void gt_coverage_add(struct gt_coverage *coverage, int64_t now_ns, double joules, double doubt, bool is_resting)
{
    if (isinf(doubt)) /* also where it goes on from the same figure */
        coverage->is_lost = true;
    else if (doubt > 0)
        coverage->doubt += doubt;
    if (is_resting && !coverage->is_lost) {
        coverage->known_ns = coverage->read_ns = now_ns;
        coverage->failures = 0;
    }
    bool is_first = isnan(coverage->joules);
    if (isnan(joules)) {
        coverage->failures += !is_resting;
        return;
    }
    if (is_first)
        note_first(coverage, now_ns);
    if (joules > fmax(0, coverage->joules))
        note_move(coverage, now_ns, joules - fmax(0, coverage->joules));
    coverage->failures = 0;
    coverage->joules = fmax(joules, coverage->joules);
    coverage->read_ns = now_ns;
}

double gt_coverage_missing(const struct gt_coverage *coverage, int64_t now_ns)
{
    bool is_open = coverage->failures || coverage->is_lost || has_stood_still(coverage);
    return coverage->missing + (is_open ? fmax(0, seconds_between(coverage->known_ns, now_ns)) : 0);
}

bool gt_coverage_is_broken(const struct gt_coverage *coverage, int64_t now_ns)
{
    bool is_silent = coverage->failures > 1 && seconds_between(coverage->known_ns, now_ns) > LEAST_PATIENCE;
    return coverage->cause || coverage->is_lost || is_silent || has_stood_still(coverage);
}

enum gt_gap_cause gt_coverage_gap(const struct gt_coverage *coverage, int64_t now_ns, double *ret_began)
{
    *ret_began = NAN;
    if (!(gt_coverage_missing(coverage, now_ns) > 0))
        return GT_GAP_NONE;
    *ret_began = seconds_between(coverage->start_ns, coverage->cause ? coverage->began_ns : coverage->known_ns);
    if (coverage->cause)
        return coverage->cause;
    return coverage->is_lost ? GT_GAP_SET_BACK : coverage->failures ? GT_GAP_UNREAD : GT_GAP_STILL;
}

void gt_gap_describe(double began, double cause, char *text, size_t size)
{
    static const char *const causes[] = {[GT_GAP_UNREAD] = "could not be read",
                                         [GT_GAP_STILL] = "stood still",
                                         [GT_GAP_SET_BACK] = "was set back, or one of several stood still"};
    bool is_known = cause >= GT_GAP_UNREAD && cause <= GT_GAP_SET_BACK;
    *text = '\0';
    if (!isnan(began))
        snprintf(text, size, "from %.3g s on%s%s", began, is_known ? ": its counter " : "",
                 is_known ? causes[(int)cause] : "");
}
