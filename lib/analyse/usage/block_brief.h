/* The code blocks of a run in a few words: which took the most of its time, and which one never ended. */
#ifndef GT_ANALYSE_USAGE_BLOCK_BRIEF_H
#define GT_ANALYSE_USAGE_BLOCK_BRIEF_H

#include "analyse/usage/figures.h"

struct gt_block_brief {
    char shares[160];    /* "train 72 %   load 17 %"; "": there are none */
    char unfinished[80]; /* the block that had begun last of those that never ended; "": there is none */
};

/* Reads what the run collected with its recording. What cannot be read is not told: sub-track analyze tells why. */
void gt_block_brief(struct gt_block_brief *ret, const struct gt_usage *usage);

#endif
