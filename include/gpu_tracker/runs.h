/* The list of a user's runs. Part of gpu_tracker.h.
 *
 * It is one SQLite file of the user's ($XDG_STATE_HOME/gpu-tracker/runs.sqlite, else below ~/.local/state), which nobody else may read,
 * of 10,000 rows at most. Only gt_run_keep writes to it; the command line calls it, and trackers never do. */
#ifndef GPU_TRACKER_RUNS_H
#define GPU_TRACKER_RUNS_H

#ifndef GPU_TRACKER_H
#error "include gpu_tracker.h"
#endif

/* Keep a finished run: its words without what looks like a secret, the folder of the calling process, and its headline figures. Not NULL,
 * `*change` gets one clause about what is different from earlier runs of the same words in the same folder ("peak memory +12 % against
 * your last 5 runs"), free with free(), or NULL where there is nothing to tell. Call it after gt_tracker_finish. */
int gt_run_keep(const struct gt_tracker *tracker, char *const words[], char **change, struct gt_error *error);

/* A table of the latest `most` runs (0: all) whose command or folder holds all of the words, the latest first. */
int gt_runs_report(const char *const *words, size_t count, size_t most, struct gt_report **ret, struct gt_error *error);

/* The recording of run `back`: 1 is the latest. Free with free(). -ENOENT: there is no such run, or it kept no recording, or that is gone, or its
 * file holds another run by now. */
int gt_run_recording(long long back, char **ret, struct gt_error *error);

#endif
