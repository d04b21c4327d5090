/* Every source of figures is a collector, which writes them into a snapshot.
 *
 * A collector is opened once, asked to collect at each sample, and closed. It writes states and counters as the kernel or the driver
 * gives them; rates are computed later (aggregate/combine.h). It leaves NaN for a figure that it could not read this time. It never prints,
 * and a process that vanished is no error. */
#ifndef GT_COLLECT_COLLECTOR_H
#define GT_COLLECT_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/os/clock.h"
#include "base/error.h"
#include "base/os/root.h"
#include "schema/metric.h"

/* So many counters are added up over processes that come and go; see sample/account.h. */
enum { GT_ACCOUNTED = 9 };
struct gt_usage_baseline {
    double base[GT_ACCOUNTED];     /* used before tracking began, and by then-living children it waited for since */
    double absorbed[GT_ACCOUNTED]; /* what it had taken over from waited-for children when it was admitted */
    double own_base;               /* CPU seconds, its own alone, before tracking began */
    double left[GT_ACCOUNTED];     /* all that its children have left it when they vanished */
    double excess; /* CPU seconds it had taken over that `left` does not explain, when it was last read after an end */
    double used[GT_ACCOUNTED]; /* by it and its ended descendants since tracking began, as of `version` */
    uint32_t version;
};

/* When its control group was last asked for, and what that told; kept by record/made_groups.c. */
struct gt_group_membership {
    bool was_asked, was_forked; /* at all; it had not executed a program then */
    double ram;                 /* its resident set then */
    int group;                  /* number + 1; 0: none that the job made */
    bool is_elsewhere;          /* it is in another group than the main process */
};

/* One process of the job. (pid, start) is its identity: a number used again has another start. */
struct gt_process {
    pid_t pid;
    pid_t parent;
    uint64_t start; /* clock ticks after boot, field 22 of /proc/PID/stat */
    pid_t session;
    size_t
        slot; /* of those that live no two have the same: who keeps something of each has it in an array; see sample/tree.h */
    char name[16]; /* of the program, as the kernel shortens it */
    bool is_main;
    bool is_exiting; /* as of the last reading of stat: its memory goes by and by */
    bool is_zombie;  /* ended and not yet waited for: its counters can still be read, its memory is gone */
    /* Its first thread has ended, others live: what shows memory by the process's number shows none. */
    bool leader_exited;
    bool is_gone;      /* vanished during this snapshot; its values are the last that were read */
    bool is_admitted;  /* its account is open */
    bool is_fresh;     /* all of its files were read in this snapshot */
    bool is_counted;   /* it was there when collect/process/process.c last read all files */
    bool is_denied;    /* some of its files may not be read by this user */
    bool is_forked;    /* it has not executed a program since it was forked: it began with its parent's memory */
    bool is_worker;    /* it was so at two looks some time apart: it is not about to execute another program */
    bool is_sampler;   /* it has the name of one */
    bool is_ours;      /* it executes a program of this name; */
    bool comm_checked; /* whether it is a sampler has been found out */
    double file_bytes; /* the part of RSS that is pages of files, tmpfs and shared anonymous memory */
    double hwm,
        hwm_before; /* VmHWM, bytes: as last read (NaN: not read), and when tracking began (0: it began later) */
    int64_t met_ns; /* monotonic: when it was first read */
    /* Monotonic: since when it has been seen to be forked and with memory of its own; 0: it was not. */
    int64_t alone_ns;
    uint64_t memory; /* see sample/job_memory.h; 0: not met yet */
    uint32_t peak;   /* see sample/job_peak.h */
    struct gt_group_membership made;
    uint32_t version;                  /* another whenever something that is accounted for has changed, from 1 on */
    double value[GT_PROCESS_METRICS];  /* of the process itself; READ_BYTES and the like include waited-for children */
    double reaped[GT_PROCESS_METRICS]; /* what its waited-for children had used: CPU_TIME and faults, else 0 */
    struct gt_usage_baseline baseline; /* kept by sample/account.c */
    struct gt_process_files *files;    /* private to collect/process/process.c */
    struct gt_placement *placement;    /* see collect/process/placement.h; NULL: not asked */
    struct gt_rank_group *rank;        /* see sample/rank_finder.h; NULL: it is of none */
    char rank_name[16];                /* its name when it was asked for that, */
    bool rank_was_forked;              /* and whether it had executed its program */
};

/* One GPU. The first part is constant while the collector is open. */
struct gt_device {
    char uuid[96]; /* stable identity: NVML's "GPU-...", "MIG-...", or "pci-0000:03:00.0" where there is none */
    char name[96];
    char brand[16];                     /* "nvidia", "amd", "intel", ... */
    char pci[16];                       /* "0000:03:00.0", empty when it has no such address */
    int index;                          /* the driver's own index within its brand */
    int parent;                         /* index in the snapshot of the board a MIG slice belongs to, else -1 */
    int gpu_instance, compute_instance; /* of a MIG slice, else -1 */
    double memory;                      /* bytes, NaN when it has none of its own */
    bool selected;                      /* counts towards utilisation (--guuids) */
    bool is_resting;                    /* it sleeps: it draws nothing, and is not asked */
    bool is_old;                        /* its driver is slow: values are those of an earlier reading */
    bool is_silent;                     /* its driver does not answer */
    double doubt;                       /* of its energy counter, as that of a snapshot */
    int64_t read_ns;                    /* monotonic: when its values were read */
    double value[GT_METRIC_COUNT];
};

/* One process uses this much of one GPU in this snapshot. There is at most one entry for each (device, pid). */
struct gt_share {
    int device;                    /* index into the snapshot's devices */
    pid_t pid;                     /* in the tracker's own PID namespace */
    double value[GT_METRIC_COUNT]; /* GPU_RAM, GPU_UTILIZATION, ... of this process on this device */
};

/* The driver's high-water mark of what a process of the job has used of one GPU; of one that has ended it is told once. */
struct gt_gpu_hwm {
    int device;
    pid_t pid;
    double bytes; /* NaN while it may be of the time before tracking, */
    double bound; /* of which this one may be */
    bool is_past; /* no look met the process: it may have lived beside any other */
};

/* A process of the job that has ended, with its life as the kernel's events tell it. */
struct gt_past_process {
    pid_t pid;
    int64_t begin_ns, end_ns; /* monotonic */
};

/* One processor package of several, each with energy counters of its own; see collect/host/host.h. */
enum { GT_PACKAGES = 32 };
struct gt_package {
    int number;                    /* physical_package_id */
    int cpus;                      /* online */
    double value[GT_METRIC_COUNT]; /* CPU_TIME, used on its CPUs since opening; CPU_ENERGY, DRAM_ENERGY, ... */
};

struct gt_collector_type;

struct gt_snapshot {
    bool is_last;    /* nothing will be read after this: what is read only now and then, too */
    int64_t real_ns; /* the moment of the readings */
    int64_t monotonic_ns;
    double read_seconds; /* that reading took from then on */
    int main_fd;         /* pidfd of the main process; 0: its end is not watched */
    int64_t main_end_ns; /* monotonic: when the main process was seen to have ended; 0: it lives */
    int64_t end_ns;      /* monotonic: up to when any process of the job lived, once the main process has ended */
    bool is_over;        /* no process of the job lives: `end_ns` stays */
    double system[GT_METRIC_COUNT];
    /* Joules that an energy counter in `system` may have missed since its last reading because it went round; INFINITY when it was
     * set back, -INFINITY when one of several counters in it stands still. */
    double doubt[GT_METRIC_COUNT];
    int64_t read_ns[GT_METRIC_COUNT]; /* monotonic: when the figures of `system` were read */
    double job[GT_METRIC_COUNT];      /* figures that exist only for the whole job: control group */
    struct gt_process **process;      /* the live tree, the main process first while it lives */
    size_t process_count;
    struct gt_device *device;
    size_t device_count;
    struct gt_share *share;
    size_t share_count, share_capacity;
    struct gt_gpu_hwm *hwm;
    size_t hwm_count, hwm_capacity;
    struct gt_past_process *past; /* in the last snapshot, where processes are listed by name */
    size_t past_count, past_capacity;
    struct gt_package *package; /* none: the processors count as one */
    size_t package_count;
    /* A figure of the machine comes from this collector, where several could give it: set while opening. */
    const struct gt_collector_type *owner[GT_METRIC_COUNT];
};

/* Find or add the entry of (device, pid). Returns NULL without memory. A new entry is all NaN. */
struct gt_share *gt_snapshot_share(struct gt_snapshot *snapshot, int device, pid_t pid);
/* Add the entry without a search, for a caller that knows that it is not there yet. */
struct gt_share *gt_snapshot_add_share(struct gt_snapshot *snapshot, int device, pid_t pid);
/* Claim a figure of the machine while opening. Returns false where a collector that was opened before has it. */
bool gt_snapshot_claim(struct gt_snapshot *snapshot, enum gt_metric_id metric, const struct gt_collector_type *type);
/* Append a device while opening. Returns NULL without memory. A new entry is all NaN and selected, and its parent is -1. */
struct gt_device *gt_snapshot_device(struct gt_snapshot *snapshot);

enum gt_source_state {
    GT_READY,
    GT_ABSENT, /* the hardware or interface is not here: quiet */
    GT_DENIED, /* it is here and this user may not read it: `remedy` says what would change that */
    GT_BROKEN, /* it is here and does not work: `reason` says how */
};

/* The sources of energy that is not measured begin with this: a recording keeps of them only the name. */
#define GT_ESTIMATED_SOURCE "estimated"

/* The reasons of drivers that keep silent begin with this, for a warning about GPUs that were never measured. */
#define GT_SILENT_DRIVER "the driver did not answer"

struct gt_availability {
    enum gt_source_state state;
    char source[128]; /* "NVML 12.580.159 (libnvidia-ml.so.1)", "/proc/PID/statm" */
    char reason[200]; /* why not ready, one clause; empty when ready */
    char remedy[200]; /* one command that would enable it, or empty */
    double refresh;   /* seconds between new values at the source, 0 when each read is fresh, NaN when unknown */
};

/* A figure came about in one of these ways. */
enum gt_exactness { GT_MISSING, GT_SAMPLED, GT_EXACT, GT_DERIVED, GT_ESTIMATED, GT_AT_LEAST };

/* The origin of a figure, for the provenance of reports. */
struct gt_origin {
    enum gt_metric_id metric;
    enum gt_exactness exactness;
    const char *source; /* "/proc/PID/status VmHWM" */
    const char *note;   /* method and limits; "" none */
};

struct gt_topology;

struct gt_collect_options {
    const struct gt_root *root;
    const struct gt_clock *clock;
    struct gt_topology *topology;   /* lives as long as the snapshot */
    pid_t pid;                      /* the main process; 0 in `doctor`, which follows none */
    const char *gpu_brand;          /* only this brand; NULL any */
    const char *const *library;     /* "nvml=PATH" overrides, NULL-terminated; may be NULL */
    double period;                  /* seconds between samples asked for */
    const struct gt_cgroup *cgroup; /* the job's own control group, made by the tracker; NULL: it has none */
    const char *power_meter;        /* FILE or FILE:COLUMN,... of an external meter; NULL: none */
    const char *power_model;        /* a file, see collect/energy/model.h; NULL: none */
    double cpu_tdp;                 /* watts; 0: none */
};

/* Returns the path that the user gave for library `name`, or NULL. */
const char *gt_collect_library(const struct gt_collect_options *options, const char *name);
/* Checks what the user gave: -EINVAL unless each is "NAME=PATH" with the name of a library. `library` may be NULL. */
int gt_collect_library_check(const char *const *library, struct gt_error *error);

/* Counters of the whole machine that no sample needs at its moment are read once in so many nanoseconds. A sample once a second may
 * come a little early. */
#define GT_COLLECT_SLOW_NS (GT_SECOND - GT_SECOND / 20)

struct gt_collector_type {
    const char *name;
    const char *help;
    const char *brand; /* of GPUs that it alone reads, or reads at last, for --gpu-brand; NULL: it has none */
    const char *const *libraries; /* names by which users replace what it loads, NULL at the end; NULL: it loads none */
    /* What it can fill, with the origins of the figures; is_of_machine: those of the machine, not of processes. */
    const struct gt_origin *origins;
    size_t origin_count;
    bool is_of_machine;
    /* What else it can fill: the origin is the source of the availability, and counters are exact. */
    const enum gt_metric_id *metrics;
    size_t metric_count;
    size_t state_size;
    /* These are in the availability when it is opened. */
    const char *source;
    double refresh;
    /* Opens the state, which is all zero, and says in the availability whether it is ready (it is at first). May append devices to the
     * snapshot. Negative only for ENOMEM and the like. */
    int (*open)(void *state, const struct gt_collect_options *options, struct gt_snapshot *snapshot,
                struct gt_availability *availability, struct gt_error *error);
    /* A negative result is worth one warning; what was filled in all the same is good. */
    int (*collect)(void *state, struct gt_snapshot *snapshot, struct gt_error *error);
    /* Releases what the state holds, also where it was opened in part; NULL: nothing. */
    void (*close)(void *state);
    /* Tells how the figures were had, as known by now ("host PIDs mapped by NSpid"). An empty text: nothing to add. NULL: `method`. */
    void (*describe)(const void *state, char *text, size_t size);
    /* Why it has no figure of `metric`, as known by now. An empty text: not known. NULL: `missing`. */
    void (*explain)(const void *state, enum gt_metric_id metric, char *text, size_t size);
    const char *method, *missing; /* NULL: nothing to say */
    bool is_estimate;             /* its figures are no measurements */
    bool claims;                  /* it gives only those of its metrics that it claimed */
    bool calls_driver;            /* a call of it may never return: see sample/driver.h */
    bool lags;                    /* its counters are read less often than samples: it is asked once more at the end */
};

/* Open a collector: *ret is its state, or NULL unless the availability is GT_READY. Negative only for ENOMEM and the like. */
int gt_collector_open(const struct gt_collector_type *type, void **ret, const struct gt_collect_options *options,
                      struct gt_snapshot *snapshot, struct gt_availability *availability, struct gt_error *error);
/* Accepts NULL. */
void gt_collector_close(const struct gt_collector_type *type, void *state);
/* Returns true for a collector that reads energy counters of this machine and nothing else. */
bool gt_collector_is_of_energy(const struct gt_collector_type *type);
/* Returns true where it fills the metric. */
bool gt_collector_fills(const struct gt_collector_type *type, enum gt_metric_id metric);

extern const struct gt_collector_type *const gt_collector_types[];
extern const size_t gt_collector_type_count;

/* The remedy for everything that takes CAP_NET_ADMIN. */
extern const char gt_remedy_net_admin[];
/* The remedy for energy counters that may not be read: the least first. */
extern const char gt_remedy_energy[];
/* The remedy for everything that takes a control group of the tracker's own. */
extern const char gt_remedy_delegate[];

/* Set the state, the reason (as printf does; cut off where it does not fit) and the remedy, which may be NULL. Always returns 0. */
int gt_unavailable(struct gt_availability *availability, enum gt_source_state state, const char *remedy,
                   const char *reason, ...) __attribute__((format(printf, 4, 5)));

/* A remedy is a line by which an administrator would let this user read something that is denied. The folder that reads it also knows its
 * remedies. They are only shown, never carried out. */

/* The numbers are those of linux/capability.h; see capabilities(7). */
enum gt_capability {
    GT_NO_CAPABILITY = -1,
    GT_CAPABILITY_NET_ADMIN = 12,
    GT_CAPABILITY_SYS_PTRACE = 19,
    GT_CAPABILITY_SYS_ADMIN = 21,
    GT_CAPABILITY_PERFMON = 38,
};

/* This process has these rights on a machine. */
struct gt_rights {
    const struct gt_root *root;
    unsigned long long capabilities; /* in effect */
    char group[64];                  /* of the device that may not be opened, once that was found */
};

/* Read the capabilities of this process. Returns 0, or -EIO where the system does not tell them. */
int gt_access_read(struct gt_rights *access, const struct gt_root *root, struct gt_error *error);
bool gt_access_has(const struct gt_rights *access, enum gt_capability capability);
bool gt_access_is_denied(const struct gt_rights *access, const char *path, int mode);
bool gt_access_exists(const struct gt_rights *access, const char *path);

/* "%s" in a command stands for the group of the device. A remedy without a command becomes a part of the one setcap line. */
struct gt_remedy {
    bool (*is_denied)(struct gt_rights *access);
    const char *what, *command, *opens, *risk;
    enum gt_capability capability;
};

/* Each table ends with an entry without is_denied. */
extern const struct gt_remedy gt_energy_remedies[], gt_process_remedies[], gt_gpu_remedies[];

#endif
