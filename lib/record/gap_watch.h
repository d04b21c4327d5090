/* A gap watch tells users while a job runs that an energy counter is away, and that it has come back. */
#ifndef GT_RECORD_GAP_WATCH_H
#define GT_RECORD_GAP_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_coverage;
struct gt_gap;

struct gt_gap_watch {
    bool is_told; /* that it was away */
    bool is_away; /* as was told last */
    double began; /* of the time away that was told first */
    double times; /* away, as was told last */
};

/* Poll the coverage of the device `name`, and its gap. Returns true if there is something to report: its counter is away or back, or at
 * the end it was away once more. */
bool gt_gap_watch_look(struct gt_gap_watch *watch, const char *name, const struct gt_coverage *coverage,
                       const struct gt_gap *gap, int64_t now_ns, bool is_end, char *sentence, size_t size);

#endif
