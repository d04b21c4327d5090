/* The state of a recorder: what is measured of one job, and what became of it so far. */
#ifndef GT_RECORD_RECORDER_STATE_H
#define GT_RECORD_RECORDER_STATE_H

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

#endif
