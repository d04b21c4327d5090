/* A reading of energy: the joules that devices drew since tracking began, and whose they were. Each sample carries one. Rows have the
 * same figures as columns, which are written from it and read back into it here alone. */
#ifndef GT_SAMPLE_ENERGY_READING_H
#define GT_SAMPLE_ENERGY_READING_H

#include <stdbool.h>

#include "schema/metric.h"

/* The devices whose energy is divided. */
enum gt_energy_device { GT_ENERGY_CPU, GT_ENERGY_DRAM, GT_ENERGY_GPU, GT_ENERGY_DEVICES };
extern const enum gt_metric_id gt_energy_metrics[GT_ENERGY_DEVICES]; /* GT_CPU_ENERGY, ... */
extern const enum gt_metric_id gt_energy_missing_metrics[GT_ENERGY_DEVICES];

/* The last four add up to the first. */
enum gt_energy_part {
    GT_ENERGY_TOTAL,
    GT_ENERGY_JOB,
    GT_ENERGY_OTHER,
    GT_ENERGY_IDLE,
    GT_ENERGY_UNATTRIBUTED,
    GT_ENERGY_PARTS
};

/* The joules of one device. NaN: not known. */
struct gt_energy {
    bool is_measured;
    double total; /* as its counter has it */
    double job, other, idle, unattributed;
    double idle_job; /* of the job's part, idle energy where all is charged to the job; NaN: unknown */
};
double gt_energy_part(const struct gt_energy *energy, enum gt_energy_part part);
/* Returns true where all parts are known. Recordings of other tools may have a total alone. */
bool gt_energy_is_divided(const struct gt_energy *energy);

/* NaN: not known. */
struct gt_energy_reading {
    struct gt_energy device[GT_ENERGY_DEVICES];
    double missing[GT_ENERGY_DEVICES];   /* seconds in which it is not known what the device drew */
    double cpu_time;                     /* seconds that the job used */
    double share_error, placement_error; /* joules by which the job's part of CPU energy may be off */
    double platform, wall;               /* joules of what the devices are a part of */
};

/* Make it one of which nothing is known. */
void gt_energy_reading_clear(struct gt_energy_reading *reading);
/* Read it from the columns of the machine's row and of the job's. */
void gt_energy_reading_take(struct gt_energy_reading *ret, const double *system, const double *job);
/* Write the devices that are measured into those columns. */
void gt_energy_reading_show(const struct gt_energy_reading *reading, double *system, double *job);
/* Returns true where gt_energy_reading_take reads the columns of this metric. */
bool gt_energy_reading_uses(enum gt_metric_id metric);
/* Replace in `last` what is known in `now`. */
void gt_energy_reading_update(struct gt_energy_reading *last, const struct gt_energy_reading *now);
/* Returns the device that a metric has joules of, GT_ENERGY_DEVICES for another metric and that of all devices. */
enum gt_energy_device gt_energy_device_of(enum gt_metric_id metric);
/* Find the device and the part that a column of a scope has. Returns false for other columns. The column of all devices
 * (GT_ENERGY) tells of GT_ENERGY_DEVICES. */
bool gt_energy_column(enum gt_scope scope, enum gt_metric_id metric, enum gt_energy_device *device,
                      enum gt_energy_part *part);

#endif
