/* The coverage of an energy counter: the time of which its joules are known.
 *
 * They are missing
 *   before its first reading and after its last one: it cannot be read. A reading that failed between two that did not is made
 *   up for by the next, and so is a longer time in which it was not asked;
 *   while it stood still for longer than its patience, though it was read, up to its next move. The joules of that move may or may
 *   not have been drawn in that time;
 *   between two readings of which its source says that the counter lost something: it was set back, or counted anew. */
#ifndef GT_AGGREGATE_COVERAGE_H
#define GT_AGGREGATE_COVERAGE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample/outcome.h"

enum gt_gap_cause { GT_GAP_NONE, GT_GAP_UNREAD, GT_GAP_STILL, GT_GAP_SET_BACK, GT_GAP_ONE_STILL, GT_GAP_SILENT };

struct gt_coverage {
    int64_t start_ns;
    int64_t known_ns; /* up to where it is known */
    int64_t read_ns;  /* of the last reading */
    int64_t began_ns; /* of the first gap */
    int64_t ended_ns; /* of the last gap that has ended */
    unsigned gaps;    /* that have ended */
    double patience;  /* seconds that it may stand still */
    double joules;    /* at the last reading; NaN: there was none */
    double missing;   /* seconds in gaps that have ended */
    double doubt;     /* joules that it may have counted beyond those seen: rounds between two readings */
    double most_watts;
    bool is_silent;          /* its driver does not answer: set by the caller, the next reading ends it */
    unsigned failures;       /* readings without a value, in a row */
    enum gt_gap_cause lost;  /* why something was since `known_ns` */
    enum gt_gap_cause cause; /* of the first gap that has ended */
};

/* `refresh`: seconds between new values at the source, 0: not known. */
void gt_coverage_init(struct gt_coverage *coverage, int64_t start_ns, double refresh);
/* A reading: joules since the start, NaN where there is none; `doubt` as a snapshot has it. `is_resting`: the device is known to draw
 * nothing, and its counter may not be asked, or stands still. */
void gt_coverage_add(struct gt_coverage *coverage, int64_t now_ns, double joules, double doubt, bool is_resting);
/* Seconds that are missing up to now. */
double gt_coverage_missing(const struct gt_coverage *coverage, int64_t now_ns);
/* There is a gap that the next reading will hardly close. */
bool gt_coverage_is_broken(const struct gt_coverage *coverage, int64_t now_ns);
/* It is in a gap that has not ended. */
bool gt_coverage_is_away(const struct gt_coverage *coverage, int64_t now_ns);
/* Returns true while the next value of its source has not come yet: it was not read at `now_ns`, or has not moved. */
bool gt_coverage_is_waiting(const struct gt_coverage *coverage, int64_t now_ns);
void gt_coverage_gap(const struct gt_coverage *coverage, int64_t now_ns, struct gt_gap *ret);
/* "from 12.3 s to 15 s: its counter could not be read", "from 12.3 s on: ...", "in 2 stretches from 12.3 s on: ...";
 * before it "of gpu 3 " or "of gpu 3 and 2 more ", where others were measured; "" without a gap. */
void gt_gap_describe(const struct gt_gap *gap, char *text, size_t size);

/* A driver stopped answering, and did not answer again. */
static inline bool gt_gap_is_silence(const struct gt_gap *gap)
{
    return gap->cause == GT_GAP_SILENT && isnan(gap->ended);
}

#endif
