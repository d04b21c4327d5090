#include "aggregate/coverage.h"

#include <math.h>
#include <stdio.h>

/* A counter may stand still for this number of refreshes, and for at least this time. */
static const double PATIENT_REFRESHES = 20, LEAST_PATIENCE = 0.5;
static const double SAME_MOMENT = 0.1; /* a reading is that of a sample so soon after it */
/* Power over shorter times would mostly be errors of clocks. */
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
    coverage->gaps += !coverage->gaps || coverage->ended_ns != coverage->known_ns;
    coverage->known_ns = coverage->ended_ns = until_ns;
}

static bool has_stood_still(const struct gt_coverage *coverage)
{
    return seconds_between(coverage->known_ns, coverage->read_ns) > coverage->patience;
}

/* From this reading on it counts anew, though it has nothing yet. */
static void end_loss(struct gt_coverage *coverage, int64_t now_ns)
{
    miss(coverage, now_ns, coverage->lost);
    coverage->lost = GT_GAP_NONE;
}

static void note_move(struct gt_coverage *coverage, int64_t now_ns, double growth)
{
    double seconds = seconds_between(coverage->known_ns, now_ns);
    if (coverage->lost)
        end_loss(coverage, now_ns);
    else if (has_stood_still(coverage))
        miss(coverage, now_ns, GT_GAP_STILL);
    if (seconds >= LEAST_SECONDS)
        coverage->most_watts = fmax(coverage->most_watts, growth / seconds);
    coverage->known_ns = now_ns;
}

/* A counter that has counted since it was opened covers the time before its first reading; one that begins with it does not. */
static void note_first(struct gt_coverage *coverage, int64_t now_ns, double joules)
{
    double seconds = seconds_between(coverage->known_ns, now_ns);
    bool is_late = (coverage->failures > 1 && seconds > coverage->patience) || (joules == 0 && seconds > SAME_MOMENT);
    if (is_late || coverage->lost)
        miss(coverage, now_ns, GT_GAP_UNREAD);
    coverage->lost = GT_GAP_NONE;
}

void gt_coverage_add(struct gt_coverage *coverage, int64_t now_ns, double joules, double doubt, bool is_resting)
{
    if (isfinite(doubt))
        coverage->doubt += fmax(0, doubt);
    else if (!coverage->lost) /* it may go on from the same value, as a relay does that was started again */
        coverage->lost = coverage->failures ? GT_GAP_UNREAD : doubt < 0 ? GT_GAP_ONE_STILL : GT_GAP_SET_BACK;
    if (is_resting && !coverage->lost) {
        coverage->known_ns = coverage->read_ns = now_ns;
        coverage->failures = 0;
    }
    bool is_first = isnan(coverage->joules);
    if (isnan(joules)) {
        coverage->failures += !is_resting;
        return;
    }
    if (is_first)
        note_first(coverage, now_ns, joules);
    if (joules > fmax(0, coverage->joules))
        note_move(coverage, now_ns, joules - fmax(0, coverage->joules));
    else if (coverage->lost)
        end_loss(coverage, now_ns);
    coverage->failures = 0;
    coverage->is_silent = false;
    coverage->joules = fmax(joules, coverage->joules);
    coverage->read_ns = now_ns;
}

/* A slow driver is asked less often than there are samples. */
static bool is_unread(const struct gt_coverage *coverage, int64_t now_ns)
{
    return coverage->failures || seconds_between(coverage->read_ns, now_ns) > SAME_MOMENT;
}

bool gt_coverage_is_away(const struct gt_coverage *coverage, int64_t now_ns)
{
    return is_unread(coverage, now_ns) || coverage->lost || has_stood_still(coverage);
}

bool gt_coverage_is_waiting(const struct gt_coverage *coverage, int64_t now_ns)
{
    return coverage->known_ns < now_ns && !has_stood_still(coverage);
}

double gt_coverage_missing(const struct gt_coverage *coverage, int64_t now_ns)
{
    bool is_away = gt_coverage_is_away(coverage, now_ns);
    return coverage->missing + (is_away ? fmax(0, seconds_between(coverage->known_ns, now_ns)) : 0);
}

bool gt_coverage_is_broken(const struct gt_coverage *coverage, int64_t now_ns)
{
    bool is_silent = coverage->failures > 1 && seconds_between(coverage->known_ns, now_ns) > LEAST_PATIENCE;
    return coverage->cause || coverage->lost || is_silent || has_stood_still(coverage);
}

void gt_coverage_gap(const struct gt_coverage *coverage, int64_t now_ns, struct gt_gap *ret)
{
    enum gt_gap_cause cause = coverage->cause;
    bool is_away = gt_coverage_is_away(coverage, now_ns),
         is_new = !coverage->gaps || coverage->ended_ns != coverage->known_ns;
    *ret = (struct gt_gap){.began = NAN, .ended = NAN};
    if (!(gt_coverage_missing(coverage, now_ns) > 0))
        return;
    if (!cause)
        cause = coverage->lost                 ? coverage->lost
                : !is_unread(coverage, now_ns) ? GT_GAP_STILL
                : coverage->is_silent          ? GT_GAP_SILENT
                                               : GT_GAP_UNREAD;
    ret->began = seconds_between(coverage->start_ns, coverage->cause ? coverage->began_ns : coverage->known_ns);
    ret->ended = is_away ? NAN : seconds_between(coverage->start_ns, coverage->ended_ns);
    ret->times = coverage->gaps + (is_away && is_new);
    ret->cause = cause;
}

/* A tenth of a second is enough for a long job; a short one gets more digits. */
static void put_moment(char *text, size_t size, const char *before, double seconds)
{
    snprintf(text, size, seconds < 100 ? "%s%.3g s" : "%s%.1f s", before, seconds);
}

void gt_gap_describe(const struct gt_gap *gap, char *text, size_t size)
{
    static const char *const causes[] = {[GT_GAP_UNREAD] = ": its counter could not be read",
                                         [GT_GAP_STILL] = ": its counter stood still",
                                         [GT_GAP_SET_BACK] = ": its counter was set back",
                                         [GT_GAP_ONE_STILL] = ": one of its counters stood still",
                                         [GT_GAP_SILENT] = ": its driver did not answer"};
    bool is_known = gap->cause >= GT_GAP_UNREAD && gap->cause <= GT_GAP_SILENT;
    char gpus[40] = "", stretches[40] = "", began[40], ended[40] = " on";
    *text = '\0';
    if (isnan(gap->began))
        return;
    if (gap->times > 1)
        snprintf(stretches, sizeof stretches, "in %.0f stretches ", gap->times);
    put_moment(began, sizeof began, "from ", gap->began);
    if (!isnan(gap->ended))
        put_moment(ended, sizeof ended, " to ", gap->ended);
    if (gap->gpu > 0 && gap->gpus > 1)
        snprintf(gpus, sizeof gpus, "of gpu %.0f and %.0f more ", gap->gpu - 1, gap->gpus - 1);
    else if (gap->gpu > 0)
        snprintf(gpus, sizeof gpus, "of gpu %.0f ", gap->gpu - 1);
    snprintf(text, size, "%s%s%s%s%s", gpus, stretches, began, ended, is_known ? causes[(int)gap->cause] : "");
}
