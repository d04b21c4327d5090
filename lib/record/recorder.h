/* One job, measured and recorded: readings become samples, samples a summary, a recording and at the end the outcome.
 *
 * A recorder has no thread, no lock and no schedule: it reads when it is told to, in the calling thread. A reading is of everything, a
 * look of the processes and their memory alone. */
#ifndef GT_RECORD_RECORDER_H
#define GT_RECORD_RECORDER_H

#include <stdbool.h>

#include "aggregate/combine.h"
#include "aggregate/energy_curve.h"
#include "aggregate/summary.h"
#include "record/aipowermeter.h"
#include "record/kernel_watch.h"
#include "store/store.h"

/* Reports while a job runs that an energy counter is away, and that it has come back. */
struct gt_gap_watch {
    bool is_told; /* that it was away */
    bool is_away; /* as was told last */
    double began; /* of the time away that was told first */
    double times; /* away, as was told last */
};

/* Poll the coverage of the device `name`, and its gap. Returns true if there is something to report: its counter is away or back, or at
 * the end it was away once more. */
bool gt_gap_watch_look(struct gt_gap_watch *watch, const char *name, const struct gt_coverage *coverage,
                       const struct gt_gap *gap, int64_t now_ns, bool is_end, char *sentence, size_t size);

struct gt_recorder_options {
    const struct gt_tracker_options *tracker; /* checked, with defaults; borrowed until the recorder is closed */
    const struct gt_cgroup *cgroup;           /* the control group of the job alone; NULL: none */
    const struct gt_clock *clock;             /* NULL: the clock of the system */
    void (*warn)(void *context, const char *sentence); /* may be NULL */
    void *context;
};

struct gt_recorder {
    struct gt_recorder_options options;
    char path[4096]; /* of the tracking file */
    struct gt_sampler sampler;
    struct gt_combiner combiner;
    struct gt_summary summary;
    struct gt_sample_batch
        batch; /* samples that the recording does not have yet; those behind `taken` are not in the summary */
    struct gt_sample_copy summed;
    struct gt_machine machine;
    struct gt_store *store;         /* NULL: none, or an experiment's */
    struct gt_power_log *power_log; /* of an experiment */
    struct gt_energy_curve energy;  /* since gt_recorder_take_energy was called */
    struct gt_sample sample;        /* the latest; its rows belong to the combiner */
    struct gt_outcome outcome;      /* once finished */
    bool is_finished;
    uint64_t told_sources;         /* bits of the sampler's sources about which the caller was warned */
    struct gt_error store_failure; /* why there is no store */
    struct gt_gap_watch gap_watch[GT_ENERGY_DEVICES];
    struct gt_kernel_watch kernel;
    int own_window; /* of collect/process/memory.h, when the process tracks itself; else 0 */

    int64_t start_ns;    /* CLOCK_MONOTONIC */
    int64_t end_ns;      /* when the main process was seen to have ended; 0: it lives */
    int64_t patience_ns; /* longest wait of a reading for the kernel's sums over the memory */
    uint64_t missed;     /* samples whose time passed untaken; the schedule's to say */

    bool is_dedicated; /* this process does nothing but track: all its CPU time is the cost of tracking */
    double own_cpu_spent, slowest_sample; /* seconds */
    int exit_status;                      /* -1: unknown */
    enum gt_ending ending;
};

/* The source that fills a metric, a ready one before others; NULL without. */
const struct gt_sampler_source *gt_provenance_source(const struct gt_recorder *recorder, enum gt_metric_id metric);

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
