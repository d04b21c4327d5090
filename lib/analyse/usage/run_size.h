/* The size of what a run was given, by which its figures are compared with those of others:
 *
 *   name          the last number in the name of its recording: 1000 of "run-1000.sqlite"
 *   name:TEXT     the number behind TEXT there: "name:n=" finds 200 in "n=200,p=3.sqlite"
 *   command:WORD  the number behind WORD in its command: "command:--rows" in "sort --rows 1000" or "--rows=1000"
 *   size          the bytes of all files that its command names, as they are now
 *   anything else a static field of the recording that is a number: "n_expected_cores" */
#ifndef GT_ANALYSE_RUN_SIZE_H
#define GT_ANALYSE_RUN_SIZE_H

#include "analyse/usage/usage_sources.h"

/* 0; the error of -EINVAL says why there is none. */
int gt_run_size(double *ret, const char *variable, const char *path, const struct gt_machine *machine,
                struct gt_error *error);

#endif
