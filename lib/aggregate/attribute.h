/* Energy is divided into the job's share, that of other processes, idle energy, and the rest, which is unattributed. The four add up to
 * the device's counter at every moment.
 *
 * CPUs: the job gets active energy x CPU time of the job / busy CPU time of the machine, both between two readings that are a tenth of
 * a second apart at least, for the machine counts in clock ticks. Processes that ended count, as the job's CPU time has them. Where the
 * snapshot has packages, each is divided on its own, by the CPU time that was used on it; see collect/process/placement.h.
 * DRAM: the job gets energy x memory of the job / memory in use on the machine, shared pages counted once.
 * GPUs, each on its own: the job gets all when no process outside it is on the GPU, else by the processes' shares of SM time. When
 * a user came or went between two readings, the window is divided by the mean of both readings' shares.
 *
 * Idle energy is time x the lowest power that was seen while the device was idle, see struct gt_idle_power. Until it was seen
 * only time without any user counts as idle. enum gt_idle_policy chooses who is charged with it. */
#ifndef GT_AGGREGATE_ATTRIBUTE_H
#define GT_AGGREGATE_ATTRIBUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregate/coverage.h"
#include "sample/sample.h"
#include "sample/outcome.h"
#include "sample/tree.h"

enum gt_idle_policy {
    GT_IDLE_SHARE, /* whoever uses the device is charged with its idle energy in proportion; only time without a user is idle */
    GT_IDLE_EXCLUDE, /* idle energy is not charged */
    GT_IDLE_ALL,     /* the job is charged with all of it, as on a device reserved for it */
    GT_IDLE_POLICIES
};
extern const char *const gt_idle_policy_names[GT_IDLE_POLICIES];
int gt_idle_policy_find(const char *name); /* -EINVAL */

/* The rule by which the job gets its share of a device's energy, one clause. */
const char *gt_energy_method(enum gt_energy_device device, bool by_package);

/* Returns the least seconds that the job's share is a mean of; 0: the time between two readings, however short. */
double gt_energy_share_seconds(enum gt_energy_device device);

struct gt_gpu_use; /* of one GPU; private */

/* The idle power of a device: the least that it was seen to draw while idle, from one move of its counter to a later one. Readings
 * in which it did not move tell nothing. */
struct gt_idle_power {
    double watts;        /* NaN: not seen yet */
    int64_t since_ns;    /* where the present stretch began, with a move */
    double joules, busy; /* then */
    double shown;        /* joules that the counter had at the last reading */
    double untaken;      /* seconds of which the counter has not shown yet what was drawn */
    bool is_begun;
};

/* Counters up to one moment, since tracking began; NaN: not known. */
struct gt_cpu_use {
    int64_t at_ns;
    double busy, job; /* CPU seconds of the machine, or of a package, and of the job on it */
    double uncertain; /* of the job's, those that may have been used on another package */
    double late;      /* seconds after the counter that all of this was read */
    /* Set when a window begins: joules of the counter, and CPU seconds of the job before that became known late. */
    double joules, surplus;
};

/* Joules for each busy CPU second in a window, and the job's part of these seconds. */
struct gt_cpu_window {
    double rate, ratio, busy;
};

/* CPUs that share a counter: a package, or the machine. */
struct gt_cpu_share {
    struct gt_energy energy;
    struct gt_cpu_use window_start[2]; /* of the present and of the next window for the ratio of CPU times */
    int64_t at_ns;                     /* of the last energy reading */
    struct gt_idle_power idle;
    double joules;                /* the job's, since the reading before */
    double joules_per_cpu_second; /* of the job, since then */
    /* The error of the job's joules: a variance for errors to either side, joules for those to one side. */
    double variance, bias;
    struct gt_cpu_window before[2]; /* the latest windows, the last first */
};

/* One package of several. CPU seconds of the job on it are bound where threads cannot run elsewhere. */
struct gt_package_share {
    int number; /* physical_package_id */
    struct gt_cpu_share cpu;
    double job, bound, uncertain; /* since tracking began */
    double recent, recent_bound;  /* since the last reading */
};

struct gt_attribution {
    enum gt_idle_policy policy;
    int core_count;
    struct gt_energy energy[GT_ENERGY_DEVICES];
    struct gt_job_power {
        int64_t at_ns; /* when the job's joules last grew */
        double joules, most_watts;
    } job_power[GT_ENERGY_DEVICES];
    struct gt_coverage coverage[GT_ENERGY_DEVICES]; /* of GPUs: how it begins, for each of them */
    double idle_seconds[GT_ENERGY_DEVICES];         /* over which idle power is taken at least */
    int64_t start_ns, now_ns;
    struct gt_cpu_share cpu;          /* of the machine; not used where there are packages */
    struct gt_package_share *package; /* none: the processors count as one */
    size_t package_count;
    int64_t placed_ns;                                    /* of the last reading that was placed */
    double left_on[GT_PACKAGES], left_bound[GT_PACKAGES]; /* of the tree, at the last reading */
    /* CPU seconds of threads that may run on several packages, and the part in which one was seen to move. As often as that
     * happens the rest is taken to have moved unseen, there and back. */
    double unbound, moved;
    /* Joules: off by so much if all uncertain CPU time was used where it costs most or least. NaN: no packages. */
    double placement_error;
    double cpu_joules, memory_joules; /* the job's, in the last window */
    double joules_per_cpu_second;     /* of the job, in the last window */
    double memory_ratio;              /* at the last reading, NaN before */
    struct gt_gpu_use *gpu;
    size_t gpu_count;
    double *share_joules; /* of each of the snapshot's shares, in the last window */
    size_t share_capacity;
};

void gt_attribution_init(struct gt_attribution *attribution, enum gt_idle_policy policy, int core_count,
                         int64_t now_ns);
/* Set the seconds between new values of the devices' counters; 0: not known. Devices that were read already keep theirs. */
void gt_attribution_refresh(struct gt_attribution *attribution, const double refresh[GT_ENERGY_DEVICES]);
void gt_attribution_release(struct gt_attribution *attribution);

/* One reading each. A counter that is NaN has no reading: the next covers the gap. */
void gt_attribute_cpu(struct gt_attribution *attribution, double joules, struct gt_cpu_use use);
/* The same by packages, where the snapshot has them. `job`: CPU seconds of the job since tracking began. -ENOMEM. */
int gt_attribute_packages(struct gt_attribution *attribution, const struct gt_snapshot *snapshot,
                          const struct gt_tree *tree, double job);
void gt_attribute_memory(struct gt_attribution *attribution, double joules, double job_bytes, double used_bytes);
/* -ENOMEM. */
int gt_attribute_gpus(struct gt_attribution *attribution, const struct gt_snapshot *snapshot,
                      const struct gt_tree *tree);

/* Note which counters could be read since the last snapshot; called before the devices' own. */
void gt_attribution_cover(struct gt_attribution *attribution, const struct gt_snapshot *snapshot);
/* The coverage of the device, of several GPUs that of the one with most time missing. */
const struct gt_coverage *gt_attribution_coverage(const struct gt_attribution *attribution,
                                                  enum gt_energy_device device);
/* Its gap, with the GPUs that it is of. */
void gt_attribution_gap(const struct gt_attribution *attribution, enum gt_energy_device device, struct gt_gap *ret);
void gt_attribution_show_counter(const struct gt_attribution *attribution, enum gt_energy_device device,
                                 struct gt_counter_fields *ret);

/* One GPU of the snapshot; NULL before its first reading. */
const struct gt_energy *gt_attribution_gpu(const struct gt_attribution *attribution, size_t device);

/* Returns the seconds of a tick, in which busy time is counted. */
double gt_tick_seconds(void);

/* Fills in the values of one package, with those of the snapshot. */
void gt_attribution_show_package(const struct gt_attribution *attribution, const struct gt_snapshot *snapshot,
                                 size_t package, struct gt_package_figures *ret);

/* Fills in the values up to now. CPU time, platform and wall stay as they are. */
void gt_attribution_read(const struct gt_attribution *attribution, struct gt_energy_reading *ret);

#endif
