/* Which fetches of a data loader found nothing more: the epoch ended. Tools do not write it down. */
#ifndef GT_ANALYSE_TRACE_EPOCHS_H
#define GT_ANALYSE_TRACE_EPOCHS_H

#include "analyse/gpu/lists.h"

/* The fetches are sorted by keys 0 and 1, node and process, and by start. Returns 0 or -ENOMEM. */
int gt_epoch_ends(const struct gt_analysis_input *input, const struct gt_spans *fetches, bool *is_end);

#endif
