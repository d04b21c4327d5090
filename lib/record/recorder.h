/* One job, measured and recorded: readings become samples, samples a summary, a recording and at the end the outcome.
 *
 * A recorder has no thread, no lock and no schedule: it reads when it is told to, in the calling thread. A reading is of everything, a
 * look of the processes and their memory alone. */
#ifndef GT_RECORD_RECORDER_H
#define GT_RECORD_RECORDER_H

#include <stdbool.h>

#include "record/recorder_state.h"

/* Get the path of the tracking file, its placeholders filled in; that of a folder of experiments ends in "/". Returns 0, or
 * gt_store_path's errors. */
int gt_recorder_path(const struct gt_tracker_options *options, pid_t pid, char *ret, size_t size,
                     struct gt_error *error);
/* Follow process `pid` and its descendants from now on; `is_own`: it is the calling process. Returns gt_sampler_open's errors, and those
 * of the tracking file's place; then there is nothing to close. */
int gt_recorder_open(struct gt_recorder *recorder, pid_t pid, bool is_own, const struct gt_recorder_options *options,
                     struct gt_error *error);
/* Free everything; without gt_recorder_finish the recording stays as that of a tracker that was killed. */
void gt_recorder_close(struct gt_recorder *recorder);

/* Take the samples that wait into the summary. Returns 0 or -ENOMEM. */
int gt_recorder_sum_up(struct gt_recorder *recorder);
int64_t gt_recorder_now(const struct gt_recorder *recorder);
/* Read everything, and with `is_sample` write it down as a sample. 1: done; 0: no process of the job lives. */
int gt_recorder_read(struct gt_recorder *recorder, bool is_sample, struct gt_error *error);
/* Read the processes and their memory, for peaks; *cpu_ns is the CPU time that it took. Results as of gt_recorder_read. */
int gt_recorder_look(struct gt_recorder *recorder, int64_t *cpu_ns, struct gt_error *error);
/* Read the memory of the job's own control group, for peaks. */
void gt_recorder_poll(struct gt_recorder *recorder);
/* Take in what wait4 told of a child of the calling process. */
void gt_recorder_reaped(struct gt_recorder *recorder, pid_t pid, int wait_status, const struct rusage *usage);
/* Take in the largest resident memory of the main process, bytes, as it knows itself. */
void gt_recorder_main_peak(struct gt_recorder *recorder, double bytes);

/* Returns the latest value of a metric; once finished the final one. */
double gt_recorder_value(const struct gt_recorder *recorder, enum gt_scope scope, enum gt_metric_id metric);
/* Take the energy from the sample of the last call to the latest one. */
void gt_recorder_take_energy(struct gt_recorder *recorder, struct gt_energy_drawn *ret);
/* List the pids of the job that live now, the main process first while it lives. Returns how many there are. */
size_t gt_recorder_processes(const struct gt_recorder *recorder, pid_t *pids, size_t capacity);
/* Returns true for a process of the job, also for one that no reading has met yet. */
bool gt_recorder_contains(const struct gt_recorder *recorder, pid_t pid);

/* Fill *ret, which is zeroed or an earlier outcome, with the figures so far, as a finished run has them. Returns 0 or -ENOMEM. */
int gt_recorder_outcome(struct gt_recorder *recorder, struct gt_outcome *ret, struct gt_error *error);
/* Fill in where each figure comes from, unless that is done: few ask for it, and it is most of an outcome. */
int gt_recorder_explain(const struct gt_recorder *recorder, struct gt_outcome *outcome, struct gt_error *error);
/* Returns false where none was asked for, or its file could not be made. */
bool gt_recorder_has_recording(const struct gt_recorder *recorder);
/* Take the final reading, and close the recording with the final figures. Returns 0, or the error with which the recording could not be
 * begun or completed; where the figures themselves could be made the recorder is finished all the same. */
int gt_recorder_finish(struct gt_recorder *recorder, struct gt_error *error);

#endif
