/* Experiments: power over windows of time, in folders as AIPowerMeter records into, or handed over as JSON.
 *
 * Watts are joules over the time in which a counter counted them: from the reading of its last move before the window to that of its
 * last move in it. That may come long after it was asked for, and a slow driver does not renew it at each reading.
 *
 * Windows touch: one begins with the very readings the last one ended with, so that nothing is lost between them. The processes
 * are the tracker's. One that ended in a window keeps its values up to then. CPU time that was seen only when its parent waited for it
 * is charged to the tracked process, so that the sum over processes is the job's. */
#ifndef GT_RECORD_AIPOWERMETER_H
#define GT_RECORD_AIPOWERMETER_H

#include "aggregate/attribute.h"
#include "collect/host/host.h"
#include "sample/machine.h"
#include "sample/sampler.h"

/* The tracking file is a folder of records as AIPowerMeter's, for our own programs. */
struct gt_experiment_options {
    double measurement_period; /* smallest length of a window, seconds */
    bool all_gpu_users;        /* all processes on GPUs count as the job's */
    /* May be NULL. Instead of that folder: called with the "metrics" of each record as JSON, on the thread that samples, which
     * holds a lock: it must not call functions of the tracker. Negative errno ends the records. */
    int (*record)(void *context, const char *metrics);
};

struct gt_experiment_process {
    pid_t pid;
    uint64_t start;
    double cpu_time;             /* its own, seconds, at the last reading */
    double at_begin;             /* the same when the window began */
    double cpu_used;             /* in the window */
    double used_on[GT_PACKAGES]; /* the same by package, where there are several */
    double pss, uss; /* bytes at the end of the window; NaN: it has no memory any more, or may not be read */
    double rss_sum;  /* bytes, over the readings of the window */
    bool is_here;    /* at the last reading */
};

/* The mean over the readings of a window that had a value. */
struct gt_experiment_mean {
    double sum;
    unsigned count;
};

/* A process on a GPU. */
struct gt_experiment_user {
    int device;
    pid_t pid;
    bool is_ours;
    struct gt_experiment_mean memory, use; /* bytes, ratio of SM time */
};

/* An energy counter: when it was read with its latest figure. */
struct gt_experiment_counter {
    double joules;
    int64_t moved_ns, begin_ns; /* the latest, and as of when the window began */
};

struct gt_experiment_gpu {
    struct gt_experiment_counter counter;
    double joules_at_begin, job_at_begin; /* NaN: not measured then */
    struct gt_experiment_mean watts, use, memory;
};

enum { GT_EXPERIMENT_TEMPERATURES = 128 };

struct gt_experiment_window {
    const struct gt_sampler *sampler;
    const struct gt_attribution *attribution;
    bool all_gpu_users;
    pid_t late_pid; /* is charged with CPU time that was seen late: the tracked process, or the oldest that is left */
    int64_t begin_ns, begin_real_ns, end_real_ns;
    int64_t now_ns, now_real_ns; /* of the last reading: where the processors' counter had news, when that was read */
    double seconds;              /* length of the window */
    double at_begin[GT_METRIC_COUNT];                      /* counters of the machine, */
    double package_at_begin[GT_PACKAGES][GT_METRIC_COUNT]; /* and of its packages, where there are several */
    struct gt_experiment_counter counter[GT_METRIC_COUNT];
    double job_at_begin, job_cpu, late; /* CPU seconds: before the window; in it; the part that was seen late */
    struct gt_experiment_process *process;
    size_t process_count, process_capacity;
    unsigned memory_count;         /* readings of the window at which any process had memory */
    struct gt_experiment_gpu *gpu; /* one for each device of the snapshot */
    struct gt_experiment_user *user;
    size_t user_count, user_capacity;
    struct gt_temperature temperature[GT_EXPERIMENT_TEMPERATURES]; /* when the window ended */
    size_t temperature_count;
};

/* After a reading, which the first window begins with. `sampler` and `attribution` are borrowed; `all_gpu_users`: all processes on GPUs
 * count as the tracker's. -ENOMEM. */
int gt_experiment_window_begin(struct gt_experiment_window *window, const struct gt_sampler *sampler,
                               const struct gt_attribution *attribution, bool all_gpu_users);
/* After each further reading. -ENOMEM. */
int gt_experiment_window_read(struct gt_experiment_window *window);
/* Work out the window that ends with the last reading. */
void gt_experiment_window_conclude(struct gt_experiment_window *window);
/* The next window begins with the last reading. */
void gt_experiment_window_next(struct gt_experiment_window *window);
void gt_experiment_window_release(struct gt_experiment_window *window);
/* Watts in the window; NaN: not measured. */
double gt_experiment_watts(const struct gt_experiment_window *window, enum gt_metric_id energy);
/* Watts of the processors in the window (CPU_ENERGY, CORE_ENERGY) that go to a process for `seconds` of CPU time: by the busy time of
 * the machine, and with several packages by that of each package that the process was on. */
double gt_experiment_process_watts(const struct gt_experiment_window *window,
                                   const struct gt_experiment_process *process, double seconds,
                                   enum gt_metric_id energy);

/* A log of windows. */
struct gt_power_log {
    struct gt_experiment_window window;
    const struct gt_experiment_options *options;
    void *context;   /* for what is handed over */
    int fd;          /* of power_metrics.json; -1: records are handed over */
    char path[4200]; /* of it */
    bool has_records;
    int64_t read_ns; /* the latest reading that was taken into the window */
    int64_t least_ns;
};

/* Begin a log in a folder, or to hand over. `period`: seconds between readings. -ENOMEM, or the error of a file. */
int gt_power_log_begin(struct gt_power_log *log, const char *folder, const struct gt_machine *machine,
                       struct gt_error *error);
/* After each reading: write the record of a window that is over. After an error the next record includes its time. */
int gt_power_log_read(struct gt_power_log *log, bool is_end, struct gt_error *error);
/* End the segment, and close. */
int gt_power_log_end(struct gt_power_log *log, struct gt_error *error);

/* "2026-03-04 05:06:07.123456+01:00": local time, and its zone. */
void gt_experiment_date_text(char *text, size_t size, int64_t real_ns, bool has_zone);

#endif
