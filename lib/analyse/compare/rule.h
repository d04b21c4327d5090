/* Rules are for a gate: FIGURE > LIMIT or FIGURE < LIMIT says when a session fails.
 *
 *   figure   COLUMN.STATISTIC of the whole session, as in "overall" of the results; counters.COLUMN;
 *            combined_ram_peak and other peaks, exact where the kernel keeps high-water marks; duration
 *            energy.cpu, energy.dram, energy.gpu, energy.total: of the job
 *            block:NAME. before it: of a code block, also compute_time.total, self_time.p95, cpu_time.total, num_calls, ...
 *   limit    5GB, 30s, 200: absolute, in the unit given or the figure's own
 *            +5%: as much more than the baseline; +100MB: likewise, in units; -5%: less
 *
 * Absolute limits hold for every session but the baseline, or for the only one. A session that lacks the figure breaks the
 * rule: what is not measured is not known to be good. */
#ifndef GT_ANALYSE_RULE_H
#define GT_ANALYSE_RULE_H

#include "analyse/compare/session.h"

/* Judges options->rules and adds a table of them; returns how many are broken. */
int gt_compare_judge(const struct gt_comparison *comparison, struct gt_node *root, struct gt_error *error);

#endif
