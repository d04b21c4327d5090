/* The CPU time of a block: what the job used for it while its calls were open.
 *
 * The processes that call it have a clock of their own, which is exact. What others did meanwhile, those that these processes
 * started, the recording tells: where its list of processes accounts for all CPU time of the job, each of them is known from its
 * beginning to its end, and one that lived inside the calls is exact, too. Of one that was there before or went on after them only a
 * share is known, from samples; so is all of it where the list is not complete. What samples tell is split first, by the clocks of all
 * blocks and by the list (cpu_split.h): what is known to have been used at other times, or by another process that
 * calls blocks, is none of it. Of what nobody's clock tells, processes that call blocks at the same time have equal parts. */
#ifndef GT_ANALYSE_BLOCKS_BLOCK_CPU_H
#define GT_ANALYSE_BLOCKS_BLOCK_CPU_H

#include "analyse/blocks/block_analysis.h"

/* Fills in analysis->cpu of an analysis that was opened, which frees it, and adds the energy of others to that of blocks. 0 or -ENOMEM. */
int gt_block_cpu_count(struct gt_block_analysis *analysis);
/* Returns a counter of the block by its place: of CPU time in agreement with the above, any other as the samples tell. */
double gt_block_cpu_counter(const struct gt_block_analysis *analysis, size_t block, size_t counter);

#endif
