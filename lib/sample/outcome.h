/* The outcome of a run is known only at its end: final figures, what kernel and counters did meanwhile, and where figures come from. */
#ifndef GT_SAMPLE_OUTCOME_H
#define GT_SAMPLE_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/collector.h"
#include "sample/sample.h"

const char *gt_exactness_name(enum gt_exactness exactness);

struct gt_provenance {
    enum gt_scope scope;
    enum gt_metric_id metric;
    enum gt_exactness exactness;
    char source[128]; /* "/proc/PID/status VmHWM" */
    char note[400];   /* method, limits, or why it is missing */
};

/* These are figures of one processor package, over the whole run: joules, then CPU seconds. */
enum gt_package_figure {
    GT_PACKAGE_TOTAL, /* what it drew, and its parts */
    GT_PACKAGE_JOB,
    GT_PACKAGE_OTHER,
    GT_PACKAGE_IDLE,
    GT_PACKAGE_UNATTRIBUTED,
    GT_PACKAGE_CORE,
    GT_PACKAGE_UNCORE,
    GT_PACKAGE_DRAM,
    GT_PACKAGE_BUSY_TIME,  /* of its CPUs */
    GT_PACKAGE_JOB_TIME,   /* of the job on them */
    GT_PACKAGE_BOUND_TIME, /* of that, what could not have been elsewhere */
    GT_PACKAGE_FIGURES
};
extern const char *const gt_package_figure_names[GT_PACKAGE_FIGURES];

struct gt_package_figures {
    int number; /* physical_package_id */
    double value[GT_PACKAGE_FIGURES];
};

/* Of a scope's peak of memory, beside the peak and its upper bound, which are metrics. Bytes; NaN: not known. */
struct gt_peak_fields {
    double private_bytes; /* the part that one process had alone */
};

/* When a device's counter was away, in seconds after the start. */
struct gt_gap {
    double began; /* the first time; NaN: it never was */
    double ended; /* the last time; NaN: it still is, or that was not recorded */
    double times; /* it was away */
    double cause; /* of the first time, enum gt_gap_cause */
    double gpu;   /* 1 more than the number of the GPU with most time missing; 0 or NaN: all GPUs, or not a GPU */
    double gpus;  /* that have time missing */
};

/* This is known of a device's counter beside what it counted. */
struct gt_counter_fields {
    double most_watts, job_most_watts; /* the greatest power between two readings, and of the job; 0: not known */
    double doubt;                      /* joules that it may have counted unseen */
    struct gt_gap gap;                 /* in which it is not known what was drawn */
};

/* The kernel did this to a job for using more than it was given. NaN: not known. */
struct gt_kernel_events {
    double oom_kills;         /* processes of its control group that were killed for memory */
    double oom_kills_above;   /* the same of groups above and of the whole machine, perhaps others' */
    double throttled;         /* seconds for which threads waited for a new period of a quota */
    double throttled_periods; /* the share of periods in which some did */
    /* The process that had the most memory; of the group that the job made, where the kernel killed one there. */
    pid_t largest_pid;
    double largest_ram;
    char largest_name[32];
    bool largest_is_gone; /* it ended before the job, or with it */
    double limit_met; /* bytes: where the job made a control group and the kernel killed the process there: its limit */
};

/* This was used by the processes of one rank of those below the tracker. NaN: not measured. */
struct gt_local_rank {
    int rank;
    int local, size;    /* local: 1 more than its number on the machine; 0 and less: not told */
    char launcher[24];  /* who numbered it */
    pid_t pid;          /* its first process */
    uint64_t processes; /* that were met */
    double cpu_time;    /* seconds */
    double
        ram_peak; /* bytes: the largest sum of resident sets at one reading, or the mark of one process where that is more */
    double gpu_ram_peak, gpu_utilization; /* the largest sum at one reading; the mean of sums over GPUs */
    double energy[GT_ENERGY_DEVICES];     /* joules */
    char gpus[512];                       /* their UUIDs, by commas: its processes had memory there, */
    bool gpus_are_told;                   /* or it was only told to use them */
};

/* Joules of those devices that were measured. */
static inline double gt_local_rank_energy(const struct gt_local_rank *rank)
{
    double sum = NAN;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        if (!isnan(rank->energy[i]))
            sum = isnan(sum) ? rank->energy[i] : sum + rank->energy[i];
    return sum;
}

/* Recordings of before this was told do not know it. */
enum gt_ending { GT_ENDING_UNKNOWN, GT_ENDED_BY_ITSELF, GT_ENDED_BY_SIGNAL };

/* Values are those of the whole run: the final counters and peaks. */
struct gt_outcome {
    bool complete;   /* the tracker ended in order: false in a recording whose tracker was killed */
    double elapsed;  /* seconds: the time of the command, NaN while unknown */
    int exit_status; /* 0..255, 128 + n for a signal; -1 unknown (attached) */
    enum gt_ending ending;
    double value[GT_FIXED_ROWS][GT_METRIC_COUNT]; /* [scope][metric] */
    struct gt_peak_fields peak[GT_FIXED_ROWS];    /* [scope], of DESCENDANTS and COMBINED */
    struct gt_counter_fields counter[GT_ENERGY_DEVICES];
    double platform_error;    /* joules by which GT_PLATFORM_ENERGY may be off; NaN: not known */
    double peak_missing_hwm;  /* processes whose high-water marks are unknown, so that there is no upper bound */
    double own_cpu_time;      /* the tracker's own cost, seconds */
    double slowest_sample;    /* seconds */
    uint64_t samples, missed; /* taken; ticks of the schedule that were missed */
    struct gt_kernel_events events;
    uint64_t dropped;     /* samples that the recording lost because the disk was too slow */
    size_t package_count; /* of several that have counters of their own; recordings in CSV do not tell */
    struct gt_package_figures package[GT_PACKAGES];
    size_t provenance_count;
    struct gt_provenance *provenance;
    struct gt_process_records records; /* by name */
    size_t rank_count;                 /* below the tracker; recordings in CSV do not tell */
    struct gt_local_rank *rank;
    uint64_t processes_not_listed; /* which were too many */
    bool has_detail;               /* the list was asked for */
};

/* Nothing is known of it. */
void gt_outcome_init(struct gt_outcome *outcome);
void gt_outcome_release(struct gt_outcome *outcome);

#endif
