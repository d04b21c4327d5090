/* Experiments: power over windows of time, in folders as AIPowerMeter records into, or handed over as JSON.
 *
 * Windows touch: one begins with the very readings the last one ended with, so that nothing is lost between them. They are as long as it
 * was between two readings of the processors' counter. The processes are the tracker's. One that ended in a window keeps its values up to
 * then. What was seen only when its parent waited for it is charged to the tracked process, so that the sum over processes is the job's. */
#ifndef GT_RECORD_AIPOWERMETER_H
#define GT_RECORD_AIPOWERMETER_H

#include "aggregate/combine.h"
#include "sample/machine.h"

/* The tracking file is a folder of records as AIPowerMeter's, for our own programs. */
struct gt_experiment_options {
    double measurement_period; /* smallest length of a window, seconds */
    bool all_gpu_users;        /* all processes on GPUs count as the job's */
    /* May be NULL. Instead of that folder: called with the "metrics" of each record as JSON, on the thread that samples, which
     * holds a lock: it must not call functions of the tracker. Negative errno ends the records. */
    int (*record)(void *context, const char *metrics);
};

/* A log of windows. */
struct gt_power_log;

/* Begin a log after the first reading, in a folder or to hand over, as `options` say. `sampler` and `combiner`, which divides energy among
 * processes, are borrowed. -ENOMEM, or the error of a file. */
int gt_power_log_open(struct gt_power_log **ret, const char *folder, const struct gt_tracker_options *options,
                      const struct gt_machine *machine, const struct gt_sampler *sampler,
                      const struct gt_combiner *combiner, struct gt_error *error);
/* After each reading: write the record of a window that is over. After an error the next record includes its time. */
int gt_power_log_read(struct gt_power_log *log, bool is_end, struct gt_error *error);
/* End the segment, and close. Accepts NULL. */
int gt_power_log_close(struct gt_power_log *log, struct gt_error *error);

/* "2026-03-04 05:06:07.123456+01:00": local time, and its zone. */
void gt_experiment_date_text(char *text, size_t size, int64_t real_ns, bool has_zone);

#endif
