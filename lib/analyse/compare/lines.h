/* The lines of the summary put figures of the sessions side by side, and tell which of them differ. */
#ifndef GT_ANALYSE_LINES_H
#define GT_ANALYSE_LINES_H

#include "analyse/compare/session.h"

/* The runs of a session against those of the baseline. */
struct gt_judgement {
    double low, high;       /* of the difference, see gt_compare_interval */
    double p;               /* see gt_permutation_test; NaN with too few runs */
    size_t baselines, runs; /* that have the figure */
};

/* A line of the summary: a figure of the job or of a block, in base units. */
struct gt_compare_line {
    const struct gt_slot *slot; /* NULL: the whole job */
    const char *title;          /* "Peak RAM" */
    const char *name;           /* as rules have it: "combined_ram_peak" */
    struct gt_figure figure;
    const char *unit, *display_unit; /* of the figure, and what people see it in */
    double display_factor;           /* from the one to the other */
    struct gt_judgement *judgement;  /* [sessions], the baseline's is empty */
};

struct gt_compare_lines {
    struct gt_compare_line *line;
    size_t count;
};

/* Makes lines of time, CPU, memory, GPUs and energy, of the whole and of each block, where they are not nothing in every session; and which
 * of them differ. 0 or -ENOMEM. */
int gt_compare_lines(struct gt_compare_lines *ret, const struct gt_comparison *comparison);
void gt_compare_lines_release(struct gt_compare_lines *lines);
/* Returns "yes", "no" or "too few runs"; NULL where a side has no value at all. */
const char *gt_compare_verdict(const struct gt_judgement *judgement);

#endif
