/* The public interface of libgputracker, for C and C++: measure memory, CPU, GPUs, energy and time of jobs.
 *
 * Conventions
 *   - Functions return 0 or more on success and a negative errno value on failure. The last parameter, a
 *     struct gt_error *, may be NULL; it receives one sentence with the thing and the cause. Zero it
 *     before the first call: later errors do not replace the first.
 *   - The library never prints, never exits and installs no signal handlers.
 *   - Who opens closes; every *_close and *_free accepts NULL.
 *   - One object is used by one thread at a time; different objects are independent.
 *   - A missing value is NaN, never 0.
 *   - Structs that the caller fills begin with their own size: GT_INIT(struct gt_tracker_options).
 */
#ifndef GPU_TRACKER_H
#define GPU_TRACKER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* GT_INIT: all members after the size are zero. */
#ifdef __cplusplus
template <typename Type> inline Type gt_init()
{
    Type value = Type();
    value.size = sizeof(Type);
    return value;
}
#define GT_INIT(type) gt_init<type>()
extern "C" {
#else
#define GT_INIT(type) ((type){.size = sizeof(type)})
#endif
#pragma GCC visibility push(default)

struct gt_error {
    int code; /* 0, or a positive errno value */
    char text[500];
    int path_length; /* length of the path that the text begins with, in bytes; 0: none */
};

/* The subject of a value. */
enum gt_scope {
    GT_SCOPE_SYSTEM,      /* the whole machine */
    GT_SCOPE_MAIN,        /* the tracked process alone */
    GT_SCOPE_DESCENDANTS, /* its children, their children and so on */
    GT_SCOPE_COMBINED,    /* both: the job */
    GT_SCOPE_PROCESS,     /* one process of the job */
    GT_SCOPE_GPU,         /* one GPU */
    GT_SCOPE_COUNT
};

/* The version, "1.2.3". */
const char *gt_version(void);

/* ---- Metrics ------------------------------------------------------------------------------------------------- */
struct gt_metric_info {
    const char *name; /* "ram", "cpu_time" */
    const char *unit; /* "bytes", "seconds", "ratio", "count", "watts", "joules", "celsius", "hertz", "bits" */
    const char *kind; /* "gauge", "counter", "peak" */
    unsigned scopes;  /* bit 1 << enum gt_scope for each scope that has it */
    const char *help;
};

/* Describe metric number `metric`, from 0. 0, or -ENOENT past the last. */
int gt_metric_info(size_t metric, struct gt_metric_info *ret);
/* Find the number of a metric by its name, or -ENOENT. */
int gt_metric_find(const char *name);

/* ---- Tracking ------------------------------------------------------------------------------------------------ */
struct gt_tracker;
struct gt_report;
struct gt_group;
struct gt_experiment_options;

struct gt_tracker_options {
    size_t size;
    double sleep_time;            /* seconds between samples, from 0.001; 0: 1.0 */
    const char *ram_unit;         /* "bytes" .. "terabytes", "kibibytes" .. "tebibytes"; NULL: "gigabytes" */
    const char *gpu_ram_unit;     /* the same */
    const char *time_unit;        /* "seconds" .. "days"; NULL: "hours" */
    int expected_cores;           /* divisor of hardware percentages; 0: all cores */
    const char *gpu_uuids;        /* GPUs with reported utilization: "UUID,UUID", indices, or MIG names; NULL: all */
    const char *gpu_brand;        /* "nvidia", "amd", "intel"; NULL: any */
    const char *tracking_file;    /* NULL: no recording */
    int overwrite;                /* replace an existing tracking file */
    int detail;                   /* record and report every process and every GPU */
    const char *memory;           /* count of shared memory: "auto", "pss", "rss" (docs/memory.md); NULL: "auto" */
    const char *machine_root;     /* a stored machine to read instead of this one; NULL: this one */
    const char *const *libraries; /* "nvml=PATH", ... NULL-terminated; NULL: the installed drivers */
    /* The caller has just forked the process, is a subreaper (PR_SET_CHILD_SUBREAPER) without other children, and calls
     * gt_tracker_run, which waits for them. */
    int launched;
    /* The control group the process was launched into; NULL: none. Outlives the tracker. */
    const struct gt_group *group;
    const char *command; /* the command line for the report; NULL: read from the process */
    /* May be NULL. Called on the thread of the caller or of gt_tracker_start. It holds no lock and may call any function. If it
     * closes the tracker, the interrupted call returns -ECANCELED. */
    void (*warn)(void *context, const char *sentence);
    void *context;
    /* Charge of the energy of idle devices: "share" (divided among the users of the device), "exclude" (to no job), "all" (to this
     * job); NULL: "share". */
    const char *idle;
    /* The costs of energy, for every report; NULL: none. No network is used. */
    const char *carbon_intensity; /* grams of CO2 equivalent for each kWh, or a region of the file: "300", "FR" */
    const char *carbon_file;      /* CSV: region, name, year, grams_per_kwh, source; NULL: the installed one */
    const char *price;            /* for each kWh, with or without a currency: "0.30 EUR" */
    const char *power_meter;      /* the CSV file of an external power meter, or "FILE:COLUMN,..."; NULL: none */
    /* Estimate of CPU energy by CPU use for machines without a counter: from a file (docs/energy.md), or from the thermal design power
     * in watts. Estimated values are marked. NULL and 0: no estimate. */
    const char *power_model;
    double cpu_tdp;
    /* For Slurm: a word in GPU_TRACKER_RUN of the tracked process alone. srun passes it to its tasks, which are not descendants and
     * are found by it. NULL: such tasks are not tracked. */
    const char *mark;
    /* If the calling process tracks itself, the kernel's high-water mark is reset at the start: the peak is exact, and ru_maxrss of
     * getrusage(2) restarts. 1: no reset; the peak is between the largest sample and the mark. */
    int keep_high_water_mark;
    const struct gt_experiment_options *experiment; /* for internal use: NULL */
    pid_t aside; /* with `launched`: a child of the caller outside the job; 0: none */
};

/* Blank-separated marks of all enclosing trackers, the innermost last. */
#define GT_RUN_ENVIRONMENT "GPU_TRACKER_RUN"

/* Check every option and the folder of the tracking file. Changes nothing. The error names the option.
 * -ENOTSUP: /proc belongs to another PID namespace, or children of this process enter one. */
int gt_tracker_check(const struct gt_tracker_options *options, struct gt_error *error);

/* Create a control group for the job, so that the kernel sums its memory. *ret is NULL if that is not possible, which is not an
 * error. Empty groups of killed trackers are removed. */
int gt_group_create(struct gt_group **ret, struct gt_error *error);
/* Fork with the child in the group, from its first moment if possible (NULL: plain fork). The child calls gt_group_enter before exec
 * and no other function of the library. Handlers of pthread_atfork do not run: the child may only call async-signal-safe functions. */
pid_t gt_group_fork(const struct gt_group *group);
/* In the child. On error the child is outside the group and may continue. */
int gt_group_enter(const struct gt_group *group);
/* Remove it once the job has ended; a group with processes in it stays. Accepts NULL. */
void gt_group_close(struct gt_group *group);

/* Track process `pid` (0: the calling process) and its descendants from now on. The first sample creates the tracking file.
 * -ESRCH: no such process; -EPERM: it cannot be read; -EACCES: /proc hides it. */
int gt_tracker_open(struct gt_tracker **ret, pid_t pid, const struct gt_tracker_options *options,
                    struct gt_error *error);

/* Before the first sample: add another process with its descendants to the job. -ESRCH: no such process; -EACCES: /proc hides it. */
int gt_tracker_add(struct gt_tracker *tracker, pid_t pid, struct gt_error *error);

/* Take and record one sample. 1: taken; 0: the main process has ended and no descendant lives. */
int gt_tracker_sample(struct gt_tracker *tracker, struct gt_error *error);

/* The end of a run. */
enum gt_run_until {
    GT_UNTIL_MAIN_ENDS, /* the main process has ended */
    GT_UNTIL_ALL_END,   /* so have all processes of the job */
    GT_UNTIL_TOLD,      /* a hook requests it */
};

/* The tasks of a run beside sampling. Hooks may be NULL, and may call any function. */
struct gt_run_options {
    size_t size;
    enum gt_run_until until;
    /* The main process, if the caller launched it: every child of the caller is reaped, and wait4 makes totals exact. SIGCHLD must not
     * be ignored. 0: no child is reaped. */
    pid_t child;
    const int *fds; /* descriptors of the caller; negative ones are left out */
    size_t fd_count;
    /* Descriptor `fd` is readable. 1: go on; 0: end the run; negative errno: end it with this result. */
    int (*ready)(void *context, int fd);
    /* Called before each wait, which ends at *wake_ns at the latest (CLOCK_MONOTONIC, ns). Results as for `ready`. */
    int (*turn)(void *context, int64_t *wake_ns);
    /* Called after each reading. `status`: 1; 0: no process of the job lives; or a negative errno with `error`, after which reading
     * stops. NULL: the run ends with such a failure. */
    void (*sampled)(void *context, int status, const struct gt_error *error);
    /* A child was reaped; the status is that of waitpid. */
    void (*reaped)(void *context, pid_t pid, int wait_status);
    void *context;
};
enum { GT_RUN_FDS = 8 };

/* Sample on schedule in the calling thread, like `gpu-tracker run`: a sample each sleep_time, a reading each second between distant
 * samples, and polls of the memory of new processes. Missed samples are counted and not repeated. 1: the run ended as `until` says;
 * 0: a hook ended it. With a tracker of NULL, only children and hooks are served. */
int gt_tracker_run(struct gt_tracker *tracker, const struct gt_run_options *options, struct gt_error *error);

/* Sample in a thread of the library, until gt_tracker_stop or the end of the job. -EINVAL: it already runs, or has finished. */
int gt_tracker_start(struct gt_tracker *tracker, struct gt_error *error);
/* End that thread and wait for it. Returns the error that ended it earlier, if any; 0 if it was not started. */
int gt_tracker_stop(struct gt_tracker *tracker, struct gt_error *error);

/* Get the latest value of a metric in base units, NaN if missing. `scope` is one of the first four. */
double gt_tracker_value(const struct gt_tracker *tracker, enum gt_scope scope, int metric);

/* Energy of processors, memory and GPUs in a time range, in joules, and its division. NaN: unknown. Errors are bounds, see
 * docs/energy.md. */
struct gt_energy_drawn {
    double total, job, other, idle, unattributed; /* the total is the sum of the others */
    double error, job_error;                      /* +-, of the total and of the job's part */
    int is_estimated;                             /* in whole or in part by a power model */
};
/* Get the energy since the last call, or since the start, up to the latest sample. The next call starts there. */
void gt_tracker_take_energy(struct gt_tracker *tracker, struct gt_energy_drawn *ret);
/* List the pids of the job that live now, the main process first while it lives. Returns how many there are. */
size_t gt_tracker_processes(const struct gt_tracker *tracker, pid_t *pids, size_t capacity);

/* Get the path of the tracking file with its placeholders filled in; NULL without one. The first sample creates the file. */
const char *gt_tracker_recording_path(const struct gt_tracker *tracker);

/* 1: `pid` is a process of the job, even if no sample has seen it; 0: it is not, or it has ended. */
int gt_tracker_contains(const struct gt_tracker *tracker, pid_t pid);

/* End the measurement and write the final values to the recording. After it only values, report and close are allowed. */
int gt_tracker_finish(struct gt_tracker *tracker, struct gt_error *error);
/* Make the report of the run so far, or of the finished run. Free with gt_report_free. */
int gt_tracker_report(struct gt_tracker *tracker, struct gt_report **ret, struct gt_error *error);
/* End the thread and free everything. Without gt_tracker_finish the recording lacks final values, as after a kill; reports of it are
 * still possible. */
void gt_tracker_close(struct gt_tracker *tracker);

/* ---- Reports ------------------------------------------------------------------------------------------------- */
struct gt_recording_options {
    size_t size;
    const char *ram_unit, *gpu_ram_unit, *time_unit;    /* NULL: the file's */
    const char *carbon_intensity, *carbon_file, *price; /* as for a tracker; NULL: as recorded */
    const char *power_meter; /* as for a tracker: the meter ran beside the recording; NULL: as recorded */
    int page;                /* keep the series of HTML pages: each sample, each GPU, blocks and processes over time */
};
/* Make the report of a recording, also after a kill of its tracker, and of recordings of the original gpu_tracker. `options` may be
 * NULL. -ENOENT: the file is missing; -EINVAL: not a recording, or a wrong option; -EBADMSG names an unreadable row. */
int gt_recording_report(const char *path, const struct gt_recording_options *options, struct gt_report **ret,
                        struct gt_error *error);
/* Make the report of a parallel job from a folder with a recording for each rank: totals with machines, GPUs and networks counted once,
 * nodes, and ranks. It names unreadable files. -EINVAL: no recording, or recordings of several jobs. */
int gt_folder_report(const char *folder, struct gt_report **ret, struct gt_error *error);
/* Call `use` for each recording in a folder, by its name. Returns their number, or the first negative result of `use`. */
int gt_folder_recordings(const char *folder, int (*use)(void *context, const char *path, struct gt_error *error),
                         void *context, struct gt_error *error);
/* Rules that fail a run: VALUE>LIMIT or VALUE<LIMIT. VALUE is memory, gpu-memory, time, cpu (mean number of busy cores), cpu-time, gpu
 * (share of time), energy or power; LIMIT has a unit ("gpu<50%"). The list is NULL-terminated. gt_rules_check only parses. The others
 * return the number of broken rules and warn of each; a missing value breaks a rule. The tracker is finished. */
int gt_rules_check(const char *const *rules, struct gt_error *error);
int gt_tracker_judge(const struct gt_tracker *tracker, const char *const *rules,
                     void (*warn)(void *context, const char *sentence), void *context, struct gt_error *error);
int gt_recording_judge(const char *path, const char *const *rules, void (*warn)(void *context, const char *sentence),
                       void *context, struct gt_error *error);
/* Make the resource request for the next run from the maximum of these runs. `kind` is "slurm", "k8s", "pbs", "lsf", "docker", or "auto"
 * for the scheduler that ran them. *doubt is the limit of the estimate if a run was killed for memory ("more than 16.0 GB; ..."), or NULL.
 * Free both with free(). */
int gt_recording_request(const char *const paths[], size_t count, const char *kind, char **ret, char **doubt,
                         struct gt_error *error);
/* Report the growth of memory and time with the input size. `variable` names the size: "name" (the last number in the file's name),
 * "name:TEXT", "command:WORD" (the number after it), "size" (of the files that the command names), or a numeric static field of the
 * recording. If `size` is not NaN, the report predicts use and request for it. */
int gt_recording_scaling(const char *const paths[], size_t count, const char *variable, double size,
                         struct gt_report **ret, struct gt_error *error);
/* Get the values of a column at given times, in the unit of the column: accuracy of each epoch against joules
 * ("combined_energy"). Values are linear between samples, and NaN before the first and after the last. `column` may
 * name a sum: "combined_cpu_energy+combined_gpu_energy". `times` are seconds since the epoch, in any order; `values`
 * has as many. -ENOENT names a column that the recording lacks. */
int gt_recording_interpolate(const char *path, const char *column, const double *times, size_t count, double *values,
                             struct gt_error *error);
/* Report every metric with its source on this machine, and the remedy for missing ones. */
int gt_doctor_report(const struct gt_tracker_options *options, struct gt_report **ret, struct gt_error *error);
/* Report the metrics and the columns of tracking files. */
int gt_schema_report(struct gt_report **ret, struct gt_error *error);

/* Escape a foreign text for people: control characters and bytes that are not UTF-8 become \n, \xNN or \uNNNN.
 * Free with free(); NULL without memory. */
char *gt_text_show(const char *text);

/* Describe output format number `index`. 0, or -ENOENT past the last. */
int gt_format_info(size_t index, const char **name, const char **suffix, const char **help);
/* Join several reports: JSON writes a list of objects with a first key "recording", pages a section for each, CSV a row or a key for
 * each. People see the names. The contents move to the new report; free the old ones as well. */
int gt_report_join(struct gt_report **ret, struct gt_report *const reports[], const char *const names[], size_t count,
                   struct gt_error *error);
/* Set the columns of the terminal: text breaks wide cells to fit, and the summary is drawn for it. 0 (default): tables are not broken,
 * and the summary has 78 columns. */
void gt_report_set_width(struct gt_report *report, size_t columns);
/* Set the maximum size of the zoomable samples in an HTML page, in bytes. 0 (default): 4.5 million. */
void gt_report_set_page_size(struct gt_report *report, size_t bytes);
/* Set the style of text and summary. 0 (default): whole, UTF-8, no colour. GT_STYLE_ORIGINAL prints text like the original gpu_tracker,
 * without warnings. With GT_STYLE_SUMMARY_FIRST text begins with the summary of an analysis, a comparison or several recordings. */
enum {
    GT_STYLE_ASCII = 1,
    GT_STYLE_COLOUR = 2,
    GT_STYLE_ONLY_WARNINGS = 4,
    GT_STYLE_ORIGINAL = 8,
    GT_STYLE_SUMMARY_FIRST = 16
};
void gt_report_set_style(struct gt_report *report, unsigned style);
/* Render as UTF-8 into *ret (free with free()). -EINVAL names the formats. text, markdown and html escape control characters in names;
 * json, csv and pickle keep them, with U+FFFD for invalid bytes. Sentences of errors and warnings are not escaped: see gt_text_show. csv
 * puts an apostrophe before a text that begins with = + - @ or a control character, for spreadsheets. */
int gt_report_render(const struct gt_report *report, const char *format, char **ret, size_t *length,
                     struct gt_error *error);
/* Set the width of pictures in centimetres (0: 20.7, the default), and their font, "sans" or "serif" (NULL: sans). Text has 8 to 12 points
 * at any width. 0 or -ENOMEM. */
int gt_report_set_picture(struct gt_report *report, double centimetres, const char *font);
/* Draw charts of a report of a recording as one picture: `kind` is "svg", "png" or "pdf", `charts` "memory,gpu", or NULL for all.
 * -EINVAL names the charts. PNG and PDF need librsvg and cairo; -ENOENT without them. */
int gt_report_picture(const struct gt_report *report, const char *charts, const char *kind, char **ret, size_t *length,
                      struct gt_error *error);
void gt_report_free(struct gt_report *report);

/* ---- Other subjects ------------------------------------------------------------------------------------------ */
#include "gpu_tracker/block.h"
#include "gpu_tracker/service.h"
#include "gpu_tracker/trace.h"

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
