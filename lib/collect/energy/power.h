/* Energy of one device from its power, from a counter, or from the better of both. */
#ifndef GT_COLLECT_ENERGY_POWER_H
#define GT_COLLECT_ENERGY_POWER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct gt_device;

struct gt_power_integral {
    double joules;
    double watts; /* of the last reading; NaN before the first: set it so */
    int64_t last_ns;
    bool is_missing; /* there was no reading since */
    double doubt;    /* INFINITY: there was none for long, and what was drawn then is not in the sum */
};

/* Returns joules since the first reading, by the trapezoidal rule. For watts that are NaN it returns NaN, and the next reading covers a
 * short gap. */
double gt_power_integrate(struct gt_power_integral *integral, int64_t now_ns, double watts);
/* Returns the doubt as a snapshot has it, and clears it. */
double gt_power_doubt(struct gt_power_integral *integral);

/* An energy counter of a driver: joules since the driver was loaded. A drop means that it was loaded again. */
struct gt_energy_counter {
    double last; /* NaN before the first reading: set it so */
    double total;
    uint32_t resets;
    uint32_t reported; /* of them, by gt_energy_counter_doubt */
};

/* Returns joules since the first reading. For NaN it returns NaN, and the counter goes on at the next reading. */
double gt_energy_counter_read(struct gt_energy_counter *counter, double joules);
/* Returns the doubt as a snapshot has it: INFINITY where the counter was set back since the last call, else 0. */
double gt_energy_counter_doubt(struct gt_energy_counter *counter);

/* A counter held against the power of the same device. Some counters stand still, some count in a wrong unit. */
struct gt_energy_check {
    double watts, joules;     /* of the last reading; joules is NaN before the first */
    double counted, expected; /* joules in this window */
    double seconds;
    int64_t last_ns;
    int disagreements; /* windows in a row */
    bool has_agreed;   /* in one window at least */
    bool is_wrong;
    double all_counted, all_expected, all_seconds; /* since the first reading */
    bool is_difference_reported, is_wrong_reported;
    double doubted; /* joules of difference that gt_gpu_meter_doubt returned so far */
};

/* The energy of a GPU. The counter is used, unless it is wrong: once two windows in a row were off by more than a factor of 4 it is
 * for good, and power is added up instead. So it is while the counter is missing or off by that factor before it has ever
 * agreed; the first seconds are right, too. A change from one to the other does not step back. */
struct gt_gpu_meter {
    struct gt_energy_counter counter;
    struct gt_power_integral integral;
    struct gt_energy_check check;
    double summed;    /* the integral at the last reading */
    uint32_t bridged; /* resets of the counter, for which power has stood in */
    double doubt;     /* INFINITY: there was no power to stand in */
    double shown;     /* the most that was ever returned */
    int64_t read_ns;
};

void gt_gpu_meter_init(struct gt_gpu_meter *meter);
/* Takes a reading of the counter and of power, each of which may be NaN. Returns joules since the first. */
double gt_gpu_meter_read(struct gt_gpu_meter *meter, int64_t now_ns, double joules, double watts);
/* The device sleeps and draws nothing; counter and power are compared anew once it is awake. */
void gt_gpu_meter_rest(struct gt_gpu_meter *meter, int64_t now_ns);
/* Returns the doubt as a snapshot has it since the last call: also the joules by which counter and power have come to disagree. */
double gt_gpu_meter_doubt(struct gt_gpu_meter *meter);
/* Returns -EIO with a sentence once the counter is taken as wrong, and again when it is used though it is off by more than a quarter;
 * else 0. */
int gt_gpu_meter_report(struct gt_gpu_meter *meter, const struct gt_device *device, struct gt_error *error);
/* Write how far counter and power agree so far, or nothing before there is enough to compare. */
void gt_gpu_meter_describe(const struct gt_gpu_meter *meter, char *text, size_t size);

#endif
