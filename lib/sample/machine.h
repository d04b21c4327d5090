/* The machine is all that is constant during a recording: its GPUs, what the job was given, the units of the tracking file. */
#ifndef GT_SAMPLE_MACHINE_H
#define GT_SAMPLE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/cgroup/control_group.h"
#include "sample/sample.h"

struct gt_gpu {
    char uuid[96];
    char name[96];
    char brand[16];
    double memory; /* bytes */
    bool selected;
};

/* This counts a device's energy. */
struct gt_energy_source {
    char name[96];  /* "RAPL by powercap"; "" none */
    double refresh; /* seconds between new values at the source; 0: not known */
};

/* A job was given these. */
enum gt_limit_kind {
    GT_LIMIT_MEMORY,       /* bytes asked for; where nobody says so, the limit of its control groups */
    GT_LIMIT_GROUP_MEMORY, /* bytes at which the kernel kills */
    GT_LIMIT_CORES,
    GT_LIMIT_GPUS,
    GT_LIMIT_TIME, /* seconds after the begin of the recording */
    GT_LIMITS
};

/* Formats call it "static data". */
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
    /* Recordings of one job are joined by these. */
    char job[160];            /* "alps:4242.0", the same for all of its trackers; "" not known */
    char launcher[24];        /* that numbered the ranks: "OpenMPI"; "" none did */
    int rank, local_rank;     /* counted from 1; 0: not told */
    int world;                /* ranks of the job; 0: not told */
    char node[48];            /* the machine's boot id, the same in all containers of it; "" not known */
    char node_name[128];      /* what the scheduler calls it; "" not told */
    double network;           /* number of the network namespace; 0: not known */
    char control_group[1024]; /* "/system.slice/job"; "" not known */
    double clock_error;       /* seconds by which the clock may be off at most, as the kernel has it; 0: not known */
};

/* After so many seconds without a sample its tracker is taken to be gone. */
static inline double gt_machine_overdue(double period)
{
    return period > 5. / 3 ? 3 * period : 5;
}

/* The cost is what energy comes to in carbon and money. Nothing is looked up on a network. */

#define GT_CARBON_FILE "carbon-intensity.csv"

struct gt_cost {
    const char *carbon_intensity; /* grams of CO2 equivalent for each kWh, or a region of the file; NULL: as it is */
    const char *carbon_file;      /* CSV with columns region, name, year, grams_per_kwh, source; NULL: the installed */
    const char *price;            /* for each kWh, with or without a currency: "0.30 EUR"; NULL: as it is */
};

/* Set the machine's values. -EINVAL names what is neither a number nor a region; -ENOENT: no such file. */
int gt_cost_read(struct gt_machine *machine, const struct gt_cost *cost, struct gt_error *error);

#endif
