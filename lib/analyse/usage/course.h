/* Pictures of a recording: what was used over time, for pages. */
#ifndef GT_ANALYSE_COURSE_H
#define GT_ANALYSE_COURSE_H

#include "aggregate/history.h"
#include "report/report.h"

struct gt_course {
    const struct gt_history *history;
    const struct gt_machine *machine;
    const struct gt_band *band; /* stretches to be marked, in seconds from the first sample */
    size_t bands;
};

/* One picture for each resource that was measured at least twice. */
void gt_course_add(const struct gt_course *course, struct gt_node *root);

#endif
