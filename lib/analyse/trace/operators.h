/* Operators of frameworks on the CPU. */
#ifndef GT_ANALYSE_OPERATORS_H
#define GT_ANALYSE_OPERATORS_H

#include "analyse/trace/analysis.h"
#include "analyse/trace/spans.h"

/* All of them, track by track, outer ones before those inside them. Key: track. 0 or -ENOMEM. */
int gt_operator_spans(const struct gt_analysis_input *input, struct gt_spans *spans);

#endif
