/* A sample: one moment of one recording, as rows. And the facts about the machine that do not change. */
#ifndef GT_SAMPLE_SAMPLE_H
#define GT_SAMPLE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "collect/cgroup/limits.h"
#include "collect/collector.h"
#include "sample/energy_reading.h"
#include "sample/life.h"
#include "schema/metric.h"

struct gt_row {
    enum gt_scope scope;
    pid_t pid; /* PROCESS rows: its pid, parent and start; else 0 */
    pid_t parent;
    uint64_t start;
    int device; /* GPU rows: index into gt_machine.gpu; else -1 */
    double value[GT_METRIC_COUNT];
};

/* row[0..3] are the scopes SYSTEM, MAIN, DESCENDANTS, COMBINED in that order; then one GPU row for each device; then,
 * when detail was asked for, one PROCESS row for each process. */
struct gt_sample {
    int64_t real_ns; /* since 1970-01-01 UTC: the moment of the readings */
    int64_t monotonic_ns;
    size_t row_count;
    struct gt_row *row;
    struct gt_energy_reading energy;
    size_t life_count;
    const struct gt_life
        *life; /* of a list: the processes that came, got another name or ended since the last sample */
};

enum { GT_FIXED_ROWS = 4 };

struct gt_gpu {
    char uuid[96];
    char name[96];
    char brand[16];
    double memory; /* bytes */
    bool selected;
};

/* What counts a device's energy. */
struct gt_energy_source {
    char name[96];  /* "RAPL by powercap"; "" none */
    double refresh; /* seconds between new values at the source; 0: not known */
};

/* What a job was given. */
enum gt_limit_kind {
    GT_LIMIT_MEMORY,       /* bytes asked for; where nobody says so, the limit of its control groups */
    GT_LIMIT_GROUP_MEMORY, /* bytes at which the kernel kills */
    GT_LIMIT_CORES,
    GT_LIMIT_GPUS,
    GT_LIMIT_TIME, /* seconds after the begin of the recording */
    GT_LIMITS
};

/* What is constant during a recording: the "static data". */
struct gt_machine {
    char ram_unit[16], gpu_ram_unit[16], time_unit[16]; /* the units of the tracking file */
    double ram_capacity;                                /* bytes; the control group's limit when that is smaller */
    double gpu_ram_capacity;                            /* bytes; 0 with no GPU */
    int core_count, expected_cores;
    int gpu_count, expected_gpus;
    size_t gpu_length;
    struct gt_gpu *gpu;
    char host[128];
    char command[512];
    pid_t pid;     /* the main process */
    double period; /* seconds between samples asked for */
    int64_t start_real_ns;
    char ram_method[64];  /* how memory shared inside the tree was counted once: "unique page frames", "pss", ... */
    char idle_policy[16]; /* what became of idle energy: "share", ...; "" in recordings that do not tell */
    struct gt_energy_source energy_source[GT_ENERGY_DEVICES];
    int cpu_packages;                 /* that share CPU energy each on its own; 0: the machine as one */
    char cpu_packages_missing[80];    /* why not, where there seem to be several: one clause */
    double carbon_intensity;          /* grams of CO2 equivalent for each kWh; 0: not given */
    char carbon_source[160];          /* "Sweden, 2023, Ember"; "" when a number was given */
    double price;                     /* for each kWh; 0: not given */
    char scheduler[16];               /* that the job runs under: "slurm", "pbs", "lsf", "k8s"; "" none is known */
    struct gt_limit limit[GT_LIMITS]; /* 0: none is known */
    int tasks;                        /* of Slurm, that the job holds on this node; 0: not known */
    bool asks_by_core; /* Slurm gives the job memory for each core: one of an array, or of several tasks */
    char currency[16]; /* "EUR"; "" not told */
};

const char *gt_exactness_name(enum gt_exactness exactness);

struct gt_provenance {
    enum gt_scope scope;
    enum gt_metric_id metric;
    enum gt_exactness exactness;
    char source[128]; /* "/proc/PID/status VmHWM" */
    char note[400];   /* method, limits, or why it is missing */
};

/* Of one processor package, over the whole run: joules, then CPU seconds. */
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

/* What is known of a scope's peak of memory beside the peak and its upper bound, which are metrics; bytes, NaN not known. */
struct gt_peak_fields {
    double least;         /* it was certainly not less */
    double private_bytes; /* the part that one process had alone */
    double counted;       /* the part that a walk over the pages saw; the rest follows from resident sets */
};

/* When a device's counter was away, in seconds after the start. */
struct gt_gap {
    double began; /* the first time; NaN: it never was */
    double ended; /* the last time; NaN: it still is, or that was not recorded */
    double times; /* it was away */
    double cause; /* of the first time, enum gt_gap_cause */
};

/* What is known of a device's counter beside what it counted. */
struct gt_counter_fields {
    double most_watts, job_most_watts; /* the greatest power between two readings, and of the job; 0: not known */
    double doubt;                      /* joules that it may have counted unseen */
    struct gt_gap gap;                 /* in which it is not known what was drawn */
};

/* What the kernel did to a job for using more than it was given. NaN: not known. */
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

/* What is known only at the end. Values are those of the whole run: the final counters and peaks. */
struct gt_outcome {
    bool complete;   /* the tracker ended in order: false in a recording whose tracker was killed */
    double elapsed;  /* seconds: the time of the command, NaN while unknown */
    int exit_status; /* 0..255, 128 + n for a signal; -1 unknown (attached) */
    double value[GT_FIXED_ROWS][GT_METRIC_COUNT]; /* [scope][metric] */
    struct gt_peak_fields peak[GT_FIXED_ROWS];    /* [scope], of DESCENDANTS and COMBINED */
    struct gt_counter_fields counter[GT_ENERGY_DEVICES];
    double peak_untold;       /* processes whose high-water marks are missing in the upper bounds */
    double own_cpu_time;      /* the tracker's own cost, seconds */
    double slowest_sample;    /* seconds */
    uint64_t samples, missed; /* taken; ticks of the schedule that were missed */
    struct gt_kernel_events events;
    uint64_t dropped;     /* samples that the recording lost because the disk was too slow */
    size_t package_count; /* of several that have counters of their own; recordings in CSV do not tell */
    struct gt_package_figures package[GT_PACKAGES];
    size_t provenance_count;
    struct gt_provenance *provenance;
    struct gt_lives lives;         /* by name */
    uint64_t processes_not_listed; /* which were too many */
    bool has_detail;               /* the list was asked for */
};

#endif
