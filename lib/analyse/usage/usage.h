/* The tracking report says how much a run used, in the layout of gpu_tracker's report and with further sections after it.
 *
 *   Max RAM          the kernel's high-water mark of one process, the best estimate for several; private and shared are its
 *                    parts, so that the three belong to one moment
 *   CPU utilisation  max: the largest sampled interval, at least the mean. mean: CPU time of the run over its time; the
 *                    mean of the samples in recordings without CPU time. The system's only where the run was long
 *                    enough for the clock ticks of /proc/stat. At most all cores. Hardware percentages are divided by
 *                    the expected cores, the system's by all cores, and at most 100
 *   GPU utilisation  largest and mean sample, summed over the selected GPUs
 *   Compute time     the time of the command */
#ifndef GT_ANALYSE_USAGE_USAGE_H
#define GT_ANALYSE_USAGE_USAGE_H

#include "analyse/usage/figures.h"
#include "report/report.h"

/* Adds the brief of a run: its end, a line for each resource, warnings, and a request for next time. Runs shorter than
 * GT_BRIEF_SHORTEST get one line without utilisation, because the kernel counts in ticks of 10 ms. */
#define GT_BRIEF_SHORTEST 0.05
void gt_usage_brief(const struct gt_usage *usage, struct gt_node *root);

/* Builds the report in the units of the machine; the error of -EINVAL names a wrong one. */
int gt_usage_report(struct gt_report **ret, const struct gt_usage *usage, struct gt_error *error);
/* The same with its summary alone. */
int gt_usage_summary(struct gt_report **ret, const struct gt_usage *usage, struct gt_error *error);

#endif
