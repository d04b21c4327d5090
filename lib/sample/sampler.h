/* A sampler takes one reading of everything: the tree, its counters, the collectors, the memory of the job. */
#ifndef GT_SAMPLE_SAMPLER_H
#define GT_SAMPLE_SAMPLER_H

#include "collect/collector.h"
#include "collect/host/host.h"
#include "sample/account.h"
#include "sample/driver.h"
#include "sample/job_finder.h"
#include "sample/rank_finder.h"
#include "sample/process_history.h"
#include "sample/sample.h"
#include "sample/job_memory.h"
#include "sample/tree.h"

struct gt_sampler_source {
    const struct gt_collector_type *type;
    void *state;              /* NULL: not ready */
    struct gt_driver *driver; /* NULL: it is asked directly */
    bool is_settled;          /* its opening has ended, well or not */
    struct gt_availability availability;
};

struct gt_sampler {
    struct gt_root root;
    struct gt_clock clock;
    double platform_doubt; /* joules that the platform's counter may have counted unseen, in all readings */
    int64_t epoch_ns; /* the time of day minus the monotonic clock, as of the open: setting the clock moves no sample */
    struct gt_snapshot snapshot;
    struct gt_topology topology;
    struct gt_tree tree;
    uint64_t settled; /* tree.started when all processes were last read */
    struct gt_job_finder finder;
    struct gt_process_history *history; /* NULL without names */
    struct gt_account account;
    struct gt_rank_finder ranks;
    struct gt_sampler_source *source;
    size_t source_count;
    uint8_t ready[64]; /* numbers of those that have something to read */
    size_t ready_count;
    struct gt_collect_options collect;   /* for gt_sampler_open_late */
    bool is_opening;                     /* a driver is being opened: its GPUs, and others, are not known yet */
    const struct gt_cgroup *cgroup;      /* the job's own; NULL: none */
    struct gt_group_memory group_memory; /* of the group in which the job runs */
    bool is_elsewhere, has_left_group;   /* a process of the job is in another one; or was */
    double unmapped;                     /* largest GT_RAM_UNMAPPED of all readings of the group; 0: none is known */
    struct gt_job_memory *memory;        /* NULL: the machine without a job */
    struct gt_error trouble; /* what a collector could not read; the others go on. Whoever tells of it clears it */
};

struct gt_sampler_options {
    pid_t pid;
    bool launched;
    pid_t aside;  /* a child of the tracker that is no part of the job, or 0 */
    size_t names; /* how many processes are listed by name */
    const char *machine_root;
    const struct gt_clock *clock; /* NULL: the system's */
    const char *gpu_brand;
    const char *memory;
    const char *const *libraries;
    const struct gt_cgroup *cgroup; /* the job's own; NULL: none */
    double period;
    const char *power_meter, *power_model; /* see collect/collector.h */
    double cpu_tdp;
    bool
        starts_early; /* half a second is enough to wait for drivers: gt_sampler_open_late takes them in; what the options point to stays */
    const char *slurm_job, *mark; /* see collect/cgroup/slurm.h; NULL: no job of Slurm */
};

/* Follow a process and open the collectors. -ESRCH: there is no such process; -EACCES, -EPERM: it may not be read; -ENOTSUP: it is
 * of another PID namespace; -ENOMEM; -EINVAL names an option. Collectors that fail are no error: source[].availability tells. */
int gt_sampler_open(struct gt_sampler *sampler, const struct gt_sampler_options *options, struct gt_error *error);
/* While `is_opening`: take in drivers that were opened meanwhile; with snapshot.is_last those that are not are left behind. Returns 1 where
 * devices or sources may have changed, else 0, or a negative errno as of opening. */
int gt_sampler_open_late(struct gt_sampler *sampler, struct gt_error *error);
/* Read everything into sampler->snapshot, waiting up to `patience_ns` for the kernel's sums over the processes' memory. Vanished processes
 * are settled and dropped. Returns 0, -ENOMEM, or the error with which the processes cannot be listed; what a collector cannot read goes to
 * sampler->trouble. */
int gt_sampler_read(struct gt_sampler *sampler, int64_t patience_ns, struct gt_error *error);
/* Read only which processes live and their memory, for peaks. Results as of gt_sampler_read. */
int gt_sampler_look(struct gt_sampler *sampler, struct gt_error *error);
/* Read only the memory of the job's own control group, for peaks. Returns false where the job has none. */
bool gt_sampler_poll(struct gt_sampler *sampler);
/* Bring up to date, after the last reading, the counters that rows read less often. */
void gt_sampler_read_last(struct gt_sampler *sampler);
void gt_sampler_close(struct gt_sampler *sampler);

/* The machine without a job: `pid`, `memory` and `cgroup` of the options say nothing. */
int gt_sampler_open_machine(struct gt_sampler *sampler, const struct gt_sampler_options *options,
                            struct gt_error *error);
/* Read the machine, and into `processes` (NULL: without) all its processes. Those that vanished stay in the tree, with is_gone, until
 * gt_sampler_settle_machine. */
int gt_sampler_read_machine(struct gt_sampler *sampler, struct gt_all_processes *processes, struct gt_error *error);
void gt_sampler_settle_machine(struct gt_sampler *sampler);

/* Write a warning about source `number`, which may not be read or does not work while no other gives its figures. False:
 * nothing. */
bool gt_sampler_complaint(const struct gt_sampler *sampler, size_t number, char *sentence, size_t size);

/* Open the collectors alone, for `doctor`. */
int gt_sampler_probe(struct gt_sampler *sampler, const struct gt_sampler_options *options, struct gt_error *error);

/* ---- The times of readings --------------------------------------------------------------------------------------- */

/* Arithmetic only. Times are CLOCK_MONOTONIC, ns.
 *
 * A sample is taken at the period asked for; between samples that are far apart everything is read once a second. While a job has several
 * processes, which share memory, only their memory is read every 50 ms, or less often where that would take more than 0.5 % of a core over
 * 10 s; then the job's own control group alone is read every 50 ms. */

enum gt_due {
    GT_DUE_NOTHING,
    GT_DUE_POLL,    /* of the memory of the job's own control group */
    GT_DUE_LOOK,    /* at the processes and their memory */
    GT_DUE_READING, /* of everything, not recorded */
    GT_DUE_SAMPLE,  /* recorded */
};

struct gt_schedule {
    int64_t period_ns;
    int64_t sample_ns, reading_ns; /* when they are due next */
    int64_t looked_ns, polled_ns;  /* the last times; any reading is a look, and any look a poll */
    int64_t allowed_ns;            /* the next look, by the CPU time that looks used */
    int64_t quiet_until_ns;        /* no look before */
    bool hears;                    /* births are heard of as they happen; else they have to be looked for */
    bool has_birth, has_several, has_group;
    uint64_t born;   /* processes of the job so far */
    uint64_t missed; /* samples whose time was past when they could be taken */
};

void gt_schedule_start(struct gt_schedule *schedule, int64_t now_ns, int64_t period_ns, bool hears);
/* The job has had `born` processes so far. */
void gt_schedule_births(struct gt_schedule *schedule, uint64_t born);
/* A look or a reading found that the job has several processes, and whether it has a control group of its own. */
void gt_schedule_processes(struct gt_schedule *schedule, bool has_several, bool has_group);
int64_t gt_schedule_next(const struct gt_schedule *schedule);
/* Take what is due now, the larger thing where several are; it counts as done. */
enum gt_due gt_schedule_take(struct gt_schedule *schedule, int64_t now_ns);
/* A look has used so much CPU time. */
void gt_schedule_looked(struct gt_schedule *schedule, int64_t now_ns, int64_t used_ns);

#endif
