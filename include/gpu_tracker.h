/* gpu-tracker: what a job cost. The public interface of libgputracker, for C and C++.
 *
 * Conventions
 *   - Functions return 0 or more on success and a negative errno value on failure. The last parameter, a
 *     struct gt_error *, may be NULL; it receives one sentence that names the thing and the cause. It must be
 *     zeroed before the first call: the first error stays.
 *   - The library never prints, never exits and installs no signal handlers.
 *   - Who opens closes; every *_close and *_free accepts NULL.
 *   - One object is used by one thread at a time; different objects are independent.
 *   - "Not measured" is NaN, never 0.
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
    int path_length; /* the text begins with the path of a file, of so many bytes; 0: it does not */
};

/* The subject of a figure. */
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
    double sleep_time;         /* seconds between samples, from 0.001; 0: 1.0 */
    const char *ram_unit;      /* "bytes" .. "terabytes", "kibibytes" .. "tebibytes"; NULL: "gigabytes" */
    const char *gpu_ram_unit;  /* the same */
    const char *time_unit;     /* "seconds" .. "days"; NULL: "hours" */
    int expected_cores;        /* what hardware percentages are divided by; 0: all cores */
    const char *gpu_uuids;     /* GPUs whose utilisation counts: "UUID,UUID", indices, or MIG names; NULL: all */
    const char *gpu_brand;     /* "nvidia", "amd", "intel"; NULL: any */
    const char *tracking_file; /* NULL: no recording */
    int overwrite;             /* replace an existing tracking file */
    int detail;                /* record and report every process by name, and every GPU, too */
    const char *memory;        /* how shared memory is counted: "auto", "pss", "rss" (docs/memory.md); NULL: "auto" */
    const char *machine_root;  /* a stored machine to read instead of this one; NULL: this one */
    const char *const *libraries; /* "nvml=PATH", ... NULL-terminated; NULL: the installed drivers */
    /* The caller has just forked the process, is a subreaper (PR_SET_CHILD_SUBREAPER) without other children, and leaves waiting for
     * them to gt_tracker_run. */
    int launched;
    /* The control group the process was launched into; NULL: none. Outlives the tracker. */
    const struct gt_group *group;
    const char *command; /* what is tracked, for the report; NULL: read from the process */
    /* May be NULL. Called on the thread that called into the tracker, before that call returns, or on that of gt_tracker_start; no
     * lock is held, so it may call any function. The tracker it closes is gone when that call has returned, with -ECANCELED. */
    void (*warn)(void *context, const char *sentence);
    void *context;
    /* The fate of energy that devices draw while idle: "share" (charged to whoever uses the device, in proportion),
     * "exclude" (to nobody), "all" (to the job); NULL: "share". */
    const char *idle;
    /* The costs of energy, told in every report; NULL: not told. Nothing is looked up on a network. */
    const char *carbon_intensity; /* grams of CO2 equivalent for each kWh, or a region of the file: "300", "FR" */
    const char *carbon_file;      /* CSV: region, name, year, grams_per_kwh, source; NULL: the installed one */
    const char *price;            /* for each kWh, with or without a currency: "0.30 EUR" */
    const char *power_meter;      /* the CSV file of an external power meter, or "FILE:COLUMN,..."; NULL: none */
    /* Where nothing counts the processors' energy it is estimated by their use, and every such figure says so: by a file
     * (docs/energy.md), or watts with every core busy. NULL and 0: nothing is estimated. */
    const char *power_model;
    double cpu_tdp;
    /* In a job of Slurm: a word that only the environment of the tracked process has in GPU_TRACKER_RUN, among others there. srun
     * hands it on to the tasks it starts, which are no descendants and are found by it. NULL: they are not looked for. */
    const char *mark;
    /* When the calling process is the tracked one, the kernel's high-water mark is set back as tracking begins: its peak is exact, and
     * ru_maxrss of getrusage(2) begins anew. 1: the mark is left alone, and the peak lies between the largest look and the mark. */
    int keep_high_water_mark;
    const struct gt_experiment_options *experiment; /* of our own programs: NULL */
    pid_t aside; /* with `launched`: a child of the caller's that is no part of the job; 0: none */
};

/* Blank-separated marks of all trackers around, the innermost last. */
#define GT_RUN_ENVIRONMENT "GPU_TRACKER_RUN"

/* Check every option, the tracking file's place included, and change nothing. -EINVAL and the like name the option.
 * -ENOTSUP: /proc is that of another PID namespace, or children of this process go to one. */
int gt_tracker_check(const struct gt_tracker_options *options, struct gt_error *error);

/* Make a control group of the job's own, so that the kernel adds up its memory, page cache included. *ret is NULL where none
 * can be made, which is not an error. Groups that killed trackers left empty are removed. */
int gt_group_create(struct gt_group **ret, struct gt_error *error);
/* Do as fork(2), with the child in the group from its first moment where that can be done (NULL: plain fork). The child calls
 * gt_group_enter before exec for the rest, and calls nothing else of the library. The child is made by a system call alone: no
 * handlers of pthread_atfork run, and it may only call what is safe in a signal handler, as in a program with threads. */
pid_t gt_group_fork(const struct gt_group *group);
/* In the child: 0 or negative errno, with which it lies outside the group and may go on. */
int gt_group_enter(const struct gt_group *group);
/* Remove it once the job has ended; a group with processes in it stays. Accepts NULL. */
void gt_group_close(struct gt_group *group);

/* Follow process `pid` (0: the calling process) and its descendants from now on. The tracking file is created at the
 * first sample. -ESRCH: no such process; -EPERM: it may not be read; -EACCES: /proc hides it. */
int gt_tracker_open(struct gt_tracker **ret, pid_t pid, const struct gt_tracker_options *options,
                    struct gt_error *error);

/* Before the first sample: count another process, and all below it, as the job's. -ESRCH: no such process; -EACCES: /proc hides it. */
int gt_tracker_add(struct gt_tracker *tracker, pid_t pid, struct gt_error *error);

/* Take one sample now and record it. 1: taken; 0: the main process has ended and no descendant lives. */
int gt_tracker_sample(struct gt_tracker *tracker, struct gt_error *error);

/* The end of a run. */
enum gt_run_until {
    GT_UNTIL_MAIN_ENDS, /* the main process has ended */
    GT_UNTIL_ALL_END,   /* so have all processes of the job */
    GT_UNTIL_TOLD,      /* a hook asks for it */
};

/* Everything a run does beside sampling. Hooks may be NULL, and may call any function. */
struct gt_run_options {
    size_t size;
    enum gt_run_until until;
    /* The main process, when the caller launched it: every child of the caller is waited for as it ends, and what wait4 tells of it makes
     * totals exact. SIGCHLD must not be ignored. 0: nobody is waited for. */
    pid_t child;
    const int *fds; /* descriptors of the caller; negative ones are left out */
    size_t fd_count;
    /* Descriptor `fd` is readable. 1: go on; 0: end the run; negative errno: end it with this result. */
    int (*ready)(void *context, int fd);
    /* Called before each wait, which lasts until *wake_ns at most (CLOCK_MONOTONIC, ns). Results as of `ready`. */
    int (*turn)(void *context, int64_t *wake_ns);
    /* Called after each reading. `status`: 1, or 0 when no process of the job lives, or a negative errno, after which nothing more is
     * read and `error` says why. NULL: the run ends with such a failure. */
    void (*sampled)(void *context, int status, const struct gt_error *error);
    /* A child was waited for, with the status that waitpid gives. */
    void (*reaped)(void *context, pid_t pid, int wait_status);
    void *context;
};
enum { GT_RUN_FDS = 8 };

/* Sample on schedule in the calling thread, as `gpu-tracker run` does: a sample each sleep_time, a reading each second between samples
 * that are far apart, and looks at the memory of processes soon after they are born. Samples that were missed are counted, not made up
 * for. 1: the end that `until` names has come; 0: a hook ended the run. A tracker of NULL samples nothing, and the rest is done. */
int gt_tracker_run(struct gt_tracker *tracker, const struct gt_run_options *options, struct gt_error *error);

/* Do the same in a thread of the library, until stop or until the job has ended. -EINVAL: it runs already, or has
 * finished. */
int gt_tracker_start(struct gt_tracker *tracker, struct gt_error *error);
/* End that thread and wait for it. Returns the error with which it ended by itself, if it did; 0 where none was started. */
int gt_tracker_stop(struct gt_tracker *tracker, struct gt_error *error);

/* Get the latest value of a metric in base units, NaN when not measured. `scope` is one of the first four. */
double gt_tracker_value(const struct gt_tracker *tracker, enum gt_scope scope, int metric);

/* Joules that processors, memory and GPUs drew in a stretch of time, those that tell, and whose they were. NaN: not known.
 * Errors are bounds, see docs/energy.md. */
struct gt_energy_drawn {
    double total, job, other, idle, unattributed; /* the total is the sum of the others */
    double error, job_error;                      /* +-, of the total and of the job's part */
    int is_estimated;                             /* by a model of the user's, as a whole or in part */
};
/* Take the energy drawn up to the latest sample since the one of the last call, or since tracking began: the next call begins there. */
void gt_tracker_take_energy(struct gt_tracker *tracker, struct gt_energy_drawn *ret);
/* List the pids of the job that live now, the main process first while it lives. Returns how many there are. */
size_t gt_tracker_processes(const struct gt_tracker *tracker, pid_t *pids, size_t capacity);

/* Get the path of the tracking file, its placeholders filled in; NULL without one. The file is there from the first sample on. */
const char *gt_tracker_recording_path(const struct gt_tracker *tracker);

/* 1: `pid` is a process of the job, also when no sample has seen it yet; 0: it is not, or it has ended. */
int gt_tracker_contains(const struct gt_tracker *tracker, pid_t pid);

/* End the measurement: the final figures, and the recording closed with them. Afterwards only values, report, close. */
int gt_tracker_finish(struct gt_tracker *tracker, struct gt_error *error);
/* Make the report of the run so far, or of the finished run. Free with gt_report_free. */
int gt_tracker_report(struct gt_tracker *tracker, struct gt_report **ret, struct gt_error *error);
/* End the thread, and free everything. Without gt_tracker_finish the recording has no final figures, as that of a tracker that was
 * killed; reports of it can be made all the same. */
void gt_tracker_close(struct gt_tracker *tracker);

/* ---- Reports ------------------------------------------------------------------------------------------------- */
struct gt_recording_options {
    size_t size;
    const char *ram_unit, *gpu_ram_unit, *time_unit;    /* NULL: the file's */
    const char *carbon_intensity, *carbon_file, *price; /* as of a tracker; NULL: as recorded */
    const char *power_meter; /* as of a tracker: the meter ran beside the recording; NULL: as recorded */
    int page;                /* keep what HTML pages draw: each sample, each GPU, blocks and processes over time */
};
/* Make the report of a recording, also of one whose tracker was killed, or that the original gpu_tracker made. `options` may be NULL.
 * -ENOENT: there is no such file; -EINVAL: it is no recording, or an option is wrong; -EBADMSG names a row that cannot be read. */
int gt_recording_report(const char *path, const struct gt_recording_options *options, struct gt_report **ret,
                        struct gt_error *error);
/* Make the report of a parallel job, of which a folder has a recording for each rank: what it used with machines, GPUs and networks counted
 * once, its nodes, and its ranks. Files that cannot be read are named in it. -EINVAL: there is no recording, or those of several jobs. */
int gt_folder_report(const char *folder, struct gt_report **ret, struct gt_error *error);
/* Use each file of a folder that is a recording by its name. Returns how many there are, or what `use` returned where that is negative. */
int gt_folder_recordings(const char *folder, int (*use)(void *context, const char *path, struct gt_error *error),
                         void *context, struct gt_error *error);
/* Rules say when a run fails: FIGURE>LIMIT or FIGURE<LIMIT, where a figure is memory, time, cpu (cores busy in the mean), cpu-time,
 * energy, power, gpu (share of time) or gpu-memory, and a limit has a unit ("gpu<50%"). NULL-terminated. gt_rules_check reads them only;
 * the others return how many are broken, also by what was not measured, and warn of each. The tracker is finished. */
int gt_rules_check(const char *const *rules, struct gt_error *error);
int gt_tracker_judge(const struct gt_tracker *tracker, const char *const *rules,
                     void (*warn)(void *context, const char *sentence), void *context, struct gt_error *error);
int gt_recording_judge(const char *path, const char *const *rules, void (*warn)(void *context, const char *sentence),
                       void *context, struct gt_error *error);
/* Say what to ask a scheduler for next time, in its own words, from the most that these runs used: `kind` is "slurm", "k8s", "pbs", "lsf"
 * or "docker", or "auto": that of the scheduler that ran them. *doubt is what a run that was killed for memory cannot tell ("more than
 * 16.0 GB; ..."), or NULL. Free both with free(). */
int gt_recording_request(const char *const paths[], size_t count, const char *kind, char **ret, char **doubt,
                         struct gt_error *error);
/* Report how memory and time of runs grow with the size of what they were given, which `variable` names: "name" (the last number in the
 * file's name), "name:TEXT", "command:WORD" (the number behind it), "size" (of the files that the command names), or a static
 * field of the recording that is a number. With a `size` that is not NaN also what is to be expected there, and what to ask for. */
int gt_recording_scaling(const char *const paths[], size_t count, const char *variable, double size,
                         struct gt_report **ret, struct gt_error *error);
/* Join a CSV file of moments, one in each row, with what a recording has at them, interpolated: accuracy of each epoch against
 * joules. Times are in the column "timestamp", "time", "wall time" or "seconds", else in the first: seconds since the epoch, ISO
 * 8601, or seconds since the recording began. `columns`: of the recording, with commas, sums as in
 * gt_recording_interpolate; NULL: energy, its error, CPU time and memory, as far as there are any. Columns of the job's energy are
 * followed by their error. -EINVAL names the row that has no time. */
int gt_recording_points(const char *path, const char *points, const char *columns, struct gt_report **ret,
                        struct gt_error *error);
/* Get the values of a column at moments of your choosing, in the unit of the column: accuracy of each epoch against joules
 * ("combined_energy"). They are linear between the samples around a moment, NaN before the first and after the last. `column` may
 * name several, which are added up: "combined_cpu_energy+combined_gpu_energy". `times` are seconds since the epoch, in any order; `values`
 * has as many. -ENOENT names a column that the recording has not. */
int gt_recording_interpolate(const char *path, const char *column, const double *times, size_t count, double *values,
                             struct gt_error *error);
/* Report every metric, where it comes from here, and what would enable the rest. */
int gt_doctor_report(const struct gt_tracker_options *options, struct gt_report **ret, struct gt_error *error);
/* Report the metrics and the columns of tracking files. */
int gt_schema_report(struct gt_report **ret, struct gt_error *error);

/* Write a text from outside as people may see it: what a terminal would obey, and bytes that are not UTF-8, become \n, \xNN or \uNNNN.
 * Free with free(); NULL without memory. */
char *gt_text_show(const char *text);

/* Describe output format number `index`. 0, or -ENOENT past the last. */
int gt_format_info(size_t index, const char **name, const char **suffix, const char **help);
/* Make one report of several, which JSON writes as a list, each object with a key "recording" in front, pages as a section each, and
 * CSV as a row or a key of each. Names are what people see. What the reports held goes to the new one; they are still to be freed. */
int gt_report_join(struct gt_report **ret, struct gt_report *const reports[], const char *const names[], size_t count,
                   struct gt_error *error);
/* Tell how many columns a terminal has: text breaks wide cells of tables to fit, and the summary is drawn for it. 0, as at first: tables
 * are never broken, the summary has 78. */
void gt_report_set_width(struct gt_report *report, size_t columns);
/* Tell how many bytes of an HTML page the samples that can be zoomed into may take. 0, as at first: 4.5 million. */
void gt_report_set_page_size(struct gt_report *report, size_t bytes);
/* Choose how the summary is shown: 0, as at first, is all of it, in UTF-8 without colour. Text as the original prints it has no
 * warnings. With GT_STYLE_SUMMARY_FIRST text begins with the summary of an analysis, a comparison or several recordings. */
enum { GT_STYLE_ASCII = 1, GT_STYLE_COLOUR = 2, GT_STYLE_ONLY_WARNINGS = 4, GT_STYLE_ORIGINAL = 8, GT_STYLE_SUMMARY_FIRST = 16 };
void gt_report_set_style(struct gt_report *report, unsigned style);
/* Render into *ret (free with free()); -EINVAL names the formats there are. What it gives is UTF-8. Names that hold control
 * characters or other bytes are shown escaped by text, markdown and html; json, csv and pickle keep them, with U+FFFD for what is not
 * UTF-8. Sentences of errors and warnings hold them as they are: see gt_text_show. In
 * csv, for spreadsheets, an apostrophe stands before a text that begins with = + - @ or a control character. */
int gt_report_render(const struct gt_report *report, const char *format, char **ret, size_t *length,
                     struct gt_error *error);
/* Choose the width of pictures in centimetres (0, as at first: 20.7), and their font, "sans" or "serif" (NULL, as at first: sans). Text
 * has 8 to 12 points at any width. 0 or -ENOMEM. */
int gt_report_set_picture(struct gt_report *report, double centimetres, const char *font);
/* Draw charts of a report of a recording as one picture: `kind` is "svg", "png" or "pdf", `charts` "memory,gpu", or NULL for all.
 * -EINVAL names the charts there are. PNG and PDF are made by librsvg and cairo, without which they are -ENOENT. */
int gt_report_picture(const struct gt_report *report, const char *charts, const char *kind, char **ret, size_t *length,
                      struct gt_error *error);
void gt_report_free(struct gt_report *report);

/* ---- The rest, by subject ------------------------------------------------------------------------------------- */
#include "gpu_tracker/block.h"
#include "gpu_tracker/service.h"
#include "gpu_tracker/trace.h"

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
