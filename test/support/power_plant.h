/* A machine of known power: a script says what 200 processes and 8 GPUs do in each tenth of a second, and from that come, at
 * each second, the files of /proc and powercap, the driver's answers, and the truth about whose joules they were.
 *
 * CPU: packages whose counters wrap every few seconds. Where /sys does not tell which CPU is on which, two that draw 40 W
 * while idle and 3 W more for each busy core; else each has its own watts, and a layout says where the processes are. DRAM: 12 W.
 * GPUs: 50 W while idle and 250 W more at full use. The first two seconds nothing runs. */
#ifndef TEST_SUPPORT_POWER_PLANT_H
#define TEST_SUPPORT_POWER_PLANT_H

#include "aggregate/attribute.h"
#include "support/gpu_machine.h"

enum {
    PLANT_SECONDS = 60,
    PLANT_SLOTS = PLANT_SECONDS * 10,
    PLANT_JOB = 120,
    PLANT_OTHER = 80,
    PLANT_PROCESSES = PLANT_JOB + PLANT_OTHER,
    PLANT_GPUS = 8,
    PLANT_CORES = 64,
    PLANT_FIRST = 1000 /* pid of the job's main process; the others follow */
};

/* Where the processes run. */
enum plant_layout {
    PLANT_UNTOLD,    /* the machine does not tell its topology */
    PLANT_APART,     /* the job on the first package, the others elsewhere, all bound */
    PLANT_MIXED,     /* job and others on all packages; a third of the processes are bound */
    PLANT_MIGRATING, /* the same, and a third of the others moves to the next package every few seconds */
    PLANT_LAYOUTS
};

struct power_plant {
    struct gpu_machine machine;
    int second; /* up to which files and clock have come */
    unsigned long ticks[PLANT_PROCESSES];
    unsigned long long busy_ticks, package_ticks[4];
};

/* Of the plant that began last: what each device drew by then, and how it is divided under a policy; any moment, seconds. */
struct gt_energy plant_truth(enum gt_energy_device device, enum gt_idle_policy policy, double second);
struct gt_energy plant_package_truth(int package, enum gt_idle_policy policy, double second);
/* The CPU energy of one process of the job by then, under GT_IDLE_SHARE, and the CPU seconds it used. */
double plant_truth_of(int process, double second);
double plant_cpu_seconds(int process, double second);
bool plant_lives(int process, double second);

/* `packages`: 2 or 4. */
void plant_begin_with(struct power_plant *plant, enum plant_layout layout, int packages);
/* The same, with the job's processes below so many main processes, the first PIDs: process i is below main process i modulo `mains`. */
void plant_begin_ranks(struct power_plant *plant, enum plant_layout layout, int packages, int mains);
/* One second later. */
void plant_step(struct power_plant *plant);
void plant_end(struct power_plant *plant);

#endif
