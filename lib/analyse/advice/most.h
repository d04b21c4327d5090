/* The report of a job says what takes the most time of the host, and who holds the most memory, as far as operators and profiles tell. */
#ifndef GT_ANALYSE_ADVICE_MOST_H
#define GT_ANALYSE_ADVICE_MOST_H

#include "analyse/advice/job_brief.h"

/* Adds the tables "most_time", unless GPUs are at work, and "most_memory"; what nothing tells has none. Returns 0 or a negative errno. */
int gt_job_most(const struct gt_job_brief *job);

#endif
