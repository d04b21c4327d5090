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

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define GT_INIT(type) ((type){.size = sizeof(type)}) /* all members after the size are zero */

struct gt_error {
    int code; /* 0, or a positive errno value */
    char text[500];
};

/* What a figure is about. */
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

/* How many metrics there are; one of them (0 or -ENOENT); the number of a name (-ENOENT). */
size_t gt_metric_count(void);
int gt_metric_info(size_t metric, struct gt_metric_info *ret);
int gt_metric_find(const char *name);

/* The units that options take: number `index` of "bytes" .. "terabytes" and of "seconds" .. "days"; NULL past the end.
 */
const char *gt_memory_unit(size_t index);
const char *gt_time_unit(size_t index);

/* ---- Tracking ------------------------------------------------------------------------------------------------ */
struct gt_tracker;
struct gt_report;
struct gt_group;

struct gt_tracker_options {
    size_t size;
    double sleep_time;            /* seconds between samples, from 0.001; 0: 1.0 */
    const char *ram_unit;         /* "bytes" .. "terabytes"; NULL: "gigabytes" */
    const char *gpu_ram_unit;     /* the same */
    const char *time_unit;        /* "seconds" .. "days"; NULL: "hours" */
    int expected_cores;           /* what hardware percentages are divided by; 0: all cores */
    const char *gpu_uuids;        /* GPUs whose utilisation counts: "UUID,UUID", indices, or MIG names; NULL: all */
    const char *gpu_brand;        /* "nvidia", "amd", "intel"; NULL: any */
    const char *tracking_file;    /* NULL: no recording */
    int overwrite;                /* replace an existing tracking file */
    int detail;                   /* record every process and every GPU, too */
    const char *memory;           /* how shared memory is counted once: "auto", "rss", "pss", "unique"; NULL: "auto" */
    const char *machine_root;     /* a stored machine to read instead of this one; NULL: this one */
    const char *const *libraries; /* "nvml=PATH", ... NULL-terminated; NULL: the installed drivers */
    /* The caller has just forked the process, is a subreaper (PR_SET_CHILD_SUBREAPER) without other children, and will
     * tell of each child it waits for with gt_tracker_reaped. */
    int launched;
    const struct gt_group
        *group;          /* the control group the process was launched into; NULL: none. Outlives the tracker */
    const char *command; /* what is tracked, for the report; NULL: read from the process */
    /* May be NULL; called on the thread that calls into the tracker. */
    void (*warn)(void *context, const char *sentence);
    void *context;
    /* What becomes of energy that devices draw while idle: "share" (charged to whoever uses the device, in proportion),
     * "exclude" (to nobody), "all" (to the job); NULL: "share". */
    const char *idle;
    /* What energy comes to, in every report; NULL: not told. Nothing is looked up on a network. */
    const char *carbon_intensity; /* grams of CO2 equivalent for each kWh, or a region of the file: "300", "FR" */
    const char *carbon_file;      /* CSV: region, name, year, grams_per_kwh, source; NULL: the installed one */
    const char *price;            /* for each kWh, with or without a currency: "0.30 EUR" */
    const char *power_meter;      /* the CSV file of an external power meter, or "FILE:COLUMN,..."; NULL: none */
    /* Where nothing counts the processors' energy it is estimated by their use, and every such figure says so: by a file
     * (docs/energy.md), or watts with every core busy. NULL and 0: nothing is estimated. */
    const char *power_model;
    double cpu_tdp;
};

/* Name `index` of the policies above; NULL past the end. */
const char *gt_idle_policy(size_t index);

/* Check every option, the tracking file's place included, and change nothing. -EINVAL and the like name the option. */
int gt_tracker_check(const struct gt_tracker_options *options, struct gt_error *error);

/* A control group of the job's own, so that the kernel adds up its memory, page cache included. *ret is NULL where none
 * can be made, which is not an error. Groups that killed trackers left empty are removed. */
int gt_group_create(struct gt_group **ret, struct gt_error *error);
/* fork(), with the child in the group from its first moment where that can be done (NULL: plain fork). The child calls
 * gt_group_enter before exec for the rest, and calls nothing else of the library. */
pid_t gt_group_fork(const struct gt_group *group);
/* In the child: 0 or negative errno, with which it lies outside the group and may go on. */
int gt_group_enter(const struct gt_group *group);
/* Remove it once the job has ended; a group with processes in it stays. Accepts NULL. */
void gt_group_close(struct gt_group *group);

/* Follow process `pid` (0: the calling process) and its descendants from now on. The tracking file is created at the
 * first sample. -ESRCH: no such process; -EPERM: it may not be read. */
int gt_tracker_open(struct gt_tracker **ret, pid_t pid, const struct gt_tracker_options *options,
                    struct gt_error *error);

/* Take one sample now and record it. 1: taken; 0: the main process has ended and no descendant lives. */
int gt_tracker_sample(struct gt_tracker *tracker, struct gt_error *error);
/* CLOCK_MONOTONIC time, ns, at which gt_tracker_tick is due next: a sample of the schedule, or a look between two
 * samples that are far apart, so that short-lived processes and peaks are seen. */
int64_t gt_tracker_due(const struct gt_tracker *tracker);
/* Do what is due. Also to be called when the main process has ended and was not yet waited for (waitid with WNOWAIT).
 * Results as gt_tracker_sample. Ticks that were missed are counted, not made up for. */
int gt_tracker_tick(struct gt_tracker *tracker, struct gt_error *error);
/* Readable when the kernel's short queue of process events should be emptied by gt_tracker_drain before the next tick
 * (leave it out of the poll for 5 ms after that); negative when there is no need. */
int gt_tracker_events_fd(const struct gt_tracker *tracker);
int gt_tracker_drain(struct gt_tracker *tracker, struct gt_error *error);
/* A descriptor that becomes readable when the main process ends (a pidfd; the tracker's own), or negative. */
int gt_tracker_pidfd(const struct gt_tracker *tracker);

/* Or let a thread of the library do it on schedule, until stop or until the job has ended. */
int gt_tracker_start(struct gt_tracker *tracker, struct gt_error *error);
int gt_tracker_stop(struct gt_tracker *tracker, struct gt_error *error);

struct rusage;
/* The caller has launched the main process and is a subreaper: tell what wait4 said of a child, so that totals are
 * exact. */
void gt_tracker_reaped(struct gt_tracker *tracker, pid_t pid, int wait_status, const struct rusage *usage);

/* The latest value of a metric in base units, NaN when not measured. `scope` is one of the first four. */
double gt_tracker_value(const struct gt_tracker *tracker, enum gt_scope scope, int metric);
/* Pids of the job that live now, the main process first while it lives; returns how many there are. */
size_t gt_tracker_processes(const struct gt_tracker *tracker, pid_t *pids, size_t capacity);

/* 1: `pid` is a process of the job, also when no sample has seen it yet; 0: it is not, or it has ended. */
int gt_tracker_contains(const struct gt_tracker *tracker, pid_t pid);
/* The name of a process, as ps shows it; 0 or negative errno. */
int gt_process_name(pid_t pid, char *ret, size_t size);

/* End the measurement: the final figures, and the recording closed with them. Afterwards only values, report, close. */
int gt_tracker_finish(struct gt_tracker *tracker, struct gt_error *error);
/* The report of the run so far, or of the finished run. Free with gt_report_free. */
int gt_tracker_report(struct gt_tracker *tracker, struct gt_report **ret, struct gt_error *error);
void gt_tracker_close(struct gt_tracker *tracker);

/* ---- Code blocks --------------------------------------------------------------------------------------------- */
/* Mark where a named stretch of the calling program begins and ends, from any thread, nested and recursive as you like.
 * Rows go to one file for each process: in the folder named by GPU_TRACKER_BLOCKS when it is set (`gpu-tracker run
 * --blocks` sets it), else <pid>.csv in the current folder. A file of that name left by an earlier process is kept, and
 * <pid>-2.csv is written instead. After fork the child writes a file of its own. A row survives kill -9 of the process.
 * Marking never fails loudly: without a place to write it does nothing, and gt_block_trouble() tells why.
 * Not from signal handlers. Do not truncate a CSV file that is being written: it is mapped into memory. */
#define GT_BLOCKS_ENVIRONMENT "GPU_TRACKER_BLOCKS"

struct gt_block_file;

struct gt_block {
    const char *name;           /* borrowed until the end of the block */
    struct gt_block_file *file; /* NULL: nothing was written */
    uint64_t process;
    uint64_t call;
    pid_t thread;
};

struct gt_block gt_block_begin(const char *name);
/* In a process forked since the beginning this does nothing: the block is its parent's. */
void gt_block_end(struct gt_block *block);
/* The same, with the CPU seconds of child processes that were the block's work and have been waited for. */
void gt_block_end_with_children(struct gt_block *block, double cpu_seconds);

/* Mark in a file of your choice, .csv or .sqlite. It stays open until the process ends; asking again gives the same.
 * -EEXIST when a file is there that this process did not make and `overwrite` is 0. A child made by fork writes
 * NAME-<pid>.csv in its stead. */
int gt_block_file_open(struct gt_block_file **ret, const char *path, int overwrite, struct gt_error *error);
struct gt_block gt_block_begin_in(struct gt_block_file *file, const char *name);
/* Where the blocks of a file (NULL: the process's own, which is made) are written; NULL when there is no place. */
const char *gt_block_file_path(const struct gt_block_file *file);

/* NULL, or one sentence about why blocks of this process are not being recorded. */
const char *gt_block_trouble(void);

/* GT_BLOCK("name"); marks the rest of the enclosing scope; GT_BLOCK_HERE(); the same, named "file:line". */
#define GT_BLOCK_JOIN_(a, b) a##b
#define GT_BLOCK_JOIN(a, b) GT_BLOCK_JOIN_(a, b)
#define GT_BLOCK_TEXT_(a) #a
#define GT_BLOCK_TEXT(a) GT_BLOCK_TEXT_(a)
#ifdef __cplusplus
#define GT_BLOCK(name) const gt_block_scope GT_BLOCK_JOIN(gt_block_, __LINE__)(name)
#else
/* clang-format off */
#define GT_BLOCK(name) \
    __attribute__((unused, cleanup(gt_block_end))) \
    struct gt_block GT_BLOCK_JOIN(gt_block_, __LINE__) = gt_block_begin(name)
/* clang-format on */
#endif
#define GT_BLOCK_HERE() GT_BLOCK(__FILE__ ":" GT_BLOCK_TEXT(__LINE__))

/* Which block used what: a recording joined with sub-tracking files, ours or the original gpu_tracker's. */
struct gt_blocks_options {
    size_t size;
    const char *tracking_file;
    const char *const
        *sub_tracking_files; /* files and folders, NULL-terminated; NULL or none: what the run collected */
    int skip_bad_rows;       /* count malformed rows and warn of them; 0: the first one is an error */
    int calls;               /* add tables of every call and of every process */
    int blocks_optional;     /* without any blocks, the overall figures alone instead of an error */
    const char *carbon_intensity, *carbon_file, *price;          /* as of a tracker; NULL: as recorded */
    void (*warn)(void *context, const char *sentence);           /* may be NULL */
    void (*progress)(void *context, unsigned long long samples); /* may be NULL; now and then while reading */
    void *context;
};
int gt_blocks_analyze(const struct gt_blocks_options *options, struct gt_report **ret, struct gt_error *error);

/* Make one sub-tracking file of several, or of all in a folder. -EEXIST without `overwrite`. */
int gt_blocks_combine(const char *path, const char *const *files, int skip_bad_rows, int overwrite,
                      struct gt_error *error);

/* Results side by side. A session is "name=path": a result file of gt_blocks_analyze (JSON, or this project's pickle),
 * or a tracking file. A name given again is another run of that session, and runs are compared as distributions. The
 * first session is what the others are measured against. */
struct gt_compare_options {
    size_t size;
    const char *const *sessions; /* NULL-terminated */
    const char *statistic;       /* "min", "max", "mean", "std", "p50", "p95", "p99"; NULL: "mean" */
    int strict;                  /* blocks that do not match are an error, as in the original */
    const char *const *rules;    /* "combined_ram.max>+5%", ...; NULL-terminated, may be NULL */
    void (*warn)(void *context, const char *sentence); /* may be NULL; a broken rule is told here, too */
    void *context;
};
/* Returns how many rules are broken. */
int gt_blocks_compare(const struct gt_compare_options *options, struct gt_report **ret, struct gt_error *error);

/* Results in JSON that are not in a file, as a report: of the type "sub_tracking_results" (of gt_blocks_analyze),
 * "code_block_results" (one of its blocks) or "comparison_results" (of gt_blocks_compare). */
int gt_blocks_results(const char *type, const char *json, struct gt_report **ret, struct gt_error *error);

/* For whoever tracks a command: make the folder in which the command's processes leave their blocks (set
 * GPU_TRACKER_BLOCKS to it), and at the end bring them into the recording and remove the folder. `tracking_file` is
 * that of the tracker's options; `pid` is the tracked process, for its placeholder. What an earlier run left in the
 * folder is -EEXIST, or removed with `overwrite`. gt_blocks_collect returns how many rows there were. */
int gt_blocks_prepare(char *folder, size_t size, const char *tracking_file, int overwrite, struct gt_error *error);
int gt_blocks_collect(const char *folder, const char *tracking_file, pid_t pid,
                      void (*warn)(void *context, const char *sentence), void *context, struct gt_error *error);

/* ---- Data sets: tables of columns, for whoever computes with the data themselves -------------------------------- */
struct gt_dataset;

enum gt_dataset_kind {
    GT_DATASET_NUMBER,
    GT_DATASET_INTEGER,
    GT_DATASET_TEXT,
    GT_DATASET_CHOICE, /* texts that repeat, each kept once */
    GT_DATASET_TIME,   /* nanoseconds since the epoch, UTC */
};

/* What the kind says is set; text i is the bytes from text_end[i - 1] (0 for the first) to text_end[i]. */
struct gt_dataset_column {
    const char *name;
    enum gt_dataset_kind kind;
    const double *number;   /* NaN: missing */
    const int64_t *integer; /* integers and times */
    const int32_t *choice;  /* which of the texts a row has; -1: missing */
    size_t choices;         /* how many texts there are */
    const char *text;
    const int64_t *text_end;
};

struct gt_time_span {
    double start, stop; /* seconds since the epoch; both ends belong to it */
};

/* The samples of a recording, with the columns and in the units of its file; those inside any of the spans (NULL: all). */
int gt_recording_samples(const char *path, const struct gt_time_span *spans, size_t span_count, struct gt_dataset **ret,
                         struct gt_error *error);
/* What a recording says of its machine and units: one row. */
int gt_recording_static(const char *path, struct gt_dataset **ret, struct gt_error *error);
/* What a recording has of a column at moments of your choosing, in the column's unit: accuracy of each epoch against joules
 * ("combined_energy"). Linear between the samples around a moment, NaN before the first and after the last. `column` may be
 * several, added up: "combined_cpu_energy+combined_gpu_energy". `times` are seconds since the epoch, in any order; `values`
 * has as many. -ENOENT names a column that the recording has not. */
int gt_recording_interpolate(const char *path, const char *column, const double *times, size_t count, double *values,
                             struct gt_error *error);
/* Every call of every block in sub-tracking files and folders of them, by start: code_block_name, process_id, thread_id,
 * call, start, stop (seconds since the epoch; missing when it never ended), elapsed and self (seconds). */
int gt_blocks_calls(const char *const *files, struct gt_dataset **ret, struct gt_error *error);

size_t gt_dataset_rows(const struct gt_dataset *frame);
size_t gt_dataset_columns(const struct gt_dataset *frame);
/* Borrowed from the data set; 0 or -ENOENT. */
int gt_dataset_column(const struct gt_dataset *frame, size_t column, struct gt_dataset_column *ret);
void gt_dataset_free(struct gt_dataset *frame);

/* ---- Traces ------------------------------------------------------------------------------------------------- */
/* Timelines, system metrics, Python profiles and recordings as files and folders; which part of them. */
struct gt_trace_request {
    size_t size;
    /* "123" microseconds since the epoch; "+1.5" seconds after the begin of all; with steps a number. NULL: no bound */
    const char *start, *end;
    int by_step;
    const char *const *suffixes; /* NULL-terminated: only files whose names end so; NULL: all */
    const char *select;          /* extended regular expression on the names of events; NULL: all */
    const char *node;            /* one node by name, or a rank by number; NULL: all */
    int threads;                 /* 0: one for each core */
};

struct gt_merge_request {
    size_t size;
    double low_gpu;      /* percent of utilisation below which a GPU is marked; 0: no marks */
    const char *metrics; /* extended regular expression on NAME_DIMENSION_NODE of samples; NULL: all */
    const char *align;   /* an event that happened at one moment everywhere; NULL: clocks as the files tell them */
    const char *output;  /* .json or .json.gz; NULL: END_NODE_merged_timeline.json in the current folder */
    int overwrite;
};

/* What files and folders hold. */
int gt_timeline_info(const char *const *paths, size_t count, const struct gt_trace_request *request,
                     struct gt_report **ret, struct gt_error *error);
/* Merge them into one Chrome trace, for Perfetto and chrome://tracing; the report says what went into it. */
int gt_timeline_merge(const char *const *paths, size_t count, const struct gt_trace_request *request,
                      const struct gt_merge_request *merge, struct gt_report **ret, struct gt_error *error);

/* ---- Profiles ------------------------------------------------------------------------------------------------ */
/* Analyses of traces. */
struct gt_profile_options {
    size_t size;
    const char *by;            /* what rows are made of; each analysis says which there are. NULL: its default */
    const char *const *phases; /* only these training phases, NULL-terminated; NULL: all */
    const char *device;        /* only resources of this type or name: "gpu", "cpu", "gpu0"; NULL: all */
    const char *ranges;        /* percent, first match wins: "90-100,10-90,0-10", which NULL is too */
    const char *key;           /* what lists are ordered by; NULL: the analysis's default */
    int top;                   /* rows of long lists; 0: 20, negative: all */
    const char *carbon_intensity, *carbon_file, *price; /* steps, phases: what their energy comes to, as of a tracker */
};

/* Analyses: name and help of number `index`; 0 or -ENOENT. */
int gt_analysis_info(size_t index, const char **name, const char **help);
/* Read files and folders as one trace and analyse it; "diff" takes two paths, and compares the second with the first. -EINVAL names
 * the analyses there are, or the option that is wrong. */
int gt_profile_report(const char *analysis, const char *const *paths, size_t count,
                      const struct gt_trace_request *request, const struct gt_profile_options *options,
                      struct gt_report **ret, struct gt_error *error);

/* ---- Energy counters for users who may not read them --------------------------------------------------------------- */
/* What a relay reads and answers; sockets and privileges are the caller's. It opens all it reads when it is opened, so
 * privileges may be given up then. -ENXIO: there is no energy counter that may be read. */
struct gt_energy_relay;
int gt_energy_relay_open(struct gt_energy_relay **ret, const char *machine_root, struct gt_error *error);
/* The answer to one message of a client, borrowed until the next call; -EINVAL: that is none. */
int gt_energy_relay_answer(struct gt_energy_relay *relay, const char *request, size_t length, const char **ret,
                           size_t *ret_length);
void gt_energy_relay_close(struct gt_energy_relay *relay);
/* Where trackers look for a relay. */
const char *gt_energy_relay_socket(void);

/* ---- For Prometheus ------------------------------------------------------------------------------------------ */
/* The forms of the text: OpenMetrics 1.0, and the older text format 0.0.4. */
enum gt_exposition { GT_EXPOSITION_OPENMETRICS, GT_EXPOSITION_TEXT, GT_EXPOSITION_COUNT };

struct gt_exporter_options {
    size_t size;
    const pid_t *pids; /* these processes, each with its descendants, are a job each */
    size_t pid_count;
    int everyone;      /* or: all processes of the machine, grouped by user, job and program */
    int slurm;         /* or: the jobs of Slurm. None of the three: the machine and its GPUs alone */
    int most;          /* groups or jobs with figures of their own, all further in one called "other"; 0: 100 */
    double sleep_time; /* seconds between samples, from 0.001: sooner scrapes get the same text; 0: 1.0 */
    int aipowermeter;  /* add the five gauges of AIPowerMeter */
    const char *gpu_brand, *memory, *idle, *machine_root; /* as in struct gt_tracker_options */
    const char *const *libraries;
    void (*warn)(void *context, const char *sentence); /* may be NULL */
    void *context;
};

struct gt_exporter;
int gt_exporter_open(struct gt_exporter **ret, const struct gt_exporter_options *options, struct gt_error *error);
/* The text of now: samples unless the last sample is younger than sleep_time. Borrowed until the next call. 1: it is
 * another text than the last one in this form; 0: the same. */
int gt_exporter_text(struct gt_exporter *exporter, enum gt_exposition form, const char **ret, size_t *length,
                     struct gt_error *error);
void gt_exporter_close(struct gt_exporter *exporter);

/* ---- Traces kept in memory: their tables, and analyses of tables ------------------------------------------------- */
struct gt_profile;

/* Read files and folders as one trace. */
int gt_profile_open(struct gt_profile **ret, const char *const *paths, size_t count,
                    const struct gt_trace_request *request, struct gt_error *error);
/* A trace made of tables with the columns of gt_profile_samples and gt_profile_events: of samples timestamp_us, value,
 * system_metric, dimension, nodeID, type; of events start_time_us, end_time_us, framework_metric, step, process,
 * nodeID; others are not looked at. The columns are copied. -EINVAL names the one that is missing or of a wrong kind. */
struct gt_profile_table {
    const struct gt_dataset_column *column;
    size_t columns, rows;
};
int gt_profile_of_tables(struct gt_profile **ret, const struct gt_profile_table *samples,
                         const struct gt_profile_table *events, struct gt_error *error);
void gt_profile_close(struct gt_profile *profile);

/* Nanoseconds since the epoch from which the *_us columns count: that in the name of the first file of system metrics of
 * an SMDebug folder, else 0. */
int64_t gt_profile_origin(const struct gt_profile *profile);
/* gt_profile_report of it. */
int gt_profile_analyse(const struct gt_profile *profile, const char *analysis, const struct gt_profile_options *options,
                       struct gt_report **ret, struct gt_error *error);

/* Which rows of a table; where there are several of these, rows that meet any of them. */
struct gt_profile_rows {
    size_t size;
    int64_t start, end;       /* ns since the epoch: events that touch them, samples between them, bounds included */
    int by_step;              /* instead: events of steps start..end, samples in the time that those take */
    const char *const *names; /* NULL-terminated: of events, of their processes, of samples; NULL: all */
    int are_patterns;         /* the names are extended regular expressions, to be found anywhere */
};

/* System metrics: timestamp, timestamp_us, value, system_metric, dimension, nodeID, type; by time. */
int gt_profile_samples(const struct gt_profile *profile, const struct gt_profile_rows *rows, size_t count,
                       struct gt_dataset **ret, struct gt_error *error);
/* Events that last: start_time, end_time, start_time_us, end_time_us, tid, pid, framework_metric, step (-1: none),
 * bytes (-1: none), process, nodeID; by start, longer ones first. */
int gt_profile_events(const struct gt_profile *profile, const struct gt_profile_rows *rows, size_t count,
                      struct gt_dataset **ret, struct gt_error *error);
/* The same with what a data loader says: start_time, end_time, start_time_us, end_time_us, duration_us, pid,
 * framework_metric, step, worker_id (-1: none), num_workers (-1: none), pin_memory ("True", "False", "NA"), process,
 * node_id. */
int gt_profile_loader_events(const struct gt_profile *profile, const struct gt_profile_rows *rows, size_t count,
                             struct gt_dataset **ret, struct gt_error *error);
/* What a data loader takes at least twice the median for, the longest first: previous_start (batches: when the one
 * before was fetched), start_time, end_time, duration_us, worker_id, framework_metric, nodeID. `part` is one of those of
 * the analysis "dataloader": "initialization", "worker", "get_next", "batch". */
int gt_profile_loader_outliers(const struct gt_profile *profile, const char *part, struct gt_dataset **ret,
                               struct gt_error *error);
/* How long what ran in given spans of time, [start, end) in ns since the epoch: framework_metric, process, overlap_us;
 * by process and name. A span without length asks what ran at that moment, and takes its whole length. Steps count
 * once for each span that they touch. */
int gt_profile_overlaps(const struct gt_profile *profile, const int64_t (*spans)[2], size_t count,
                        const char *const *names, struct gt_dataset **ret, struct gt_error *error);
/* System metrics and events of a stretch of time, to be drawn: the report's HTML shows them above each other. Both are
 * selected by extended regular expressions, NULL: all. */
int gt_profile_window(const struct gt_profile *profile, int64_t start, int64_t end, const char *const *events,
                      const char *const *dimensions, struct gt_report **ret, struct gt_error *error);

/* Dumps of Python profilers: profiler_name, framework, node_id, start_mode, start_phase, start_step, start_us, end_mode,
 * end_phase, end_step, end_us, stats_path, html_path; by start and node. Texts and numbers that are not known are
 * missing; before step 0 is step -1, after the last infinity. */
int gt_profile_dumps(const struct gt_profile *profile, struct gt_dataset **ret, struct gt_error *error);
/* Functions of some of the dumps, which are known by stats_path, added up: file, line, function, function_name (as
 * pstats shows it), prim_calls, total_calls, total_time, cumulative_time (seconds). */
int gt_profile_functions(const struct gt_profile *profile, const char *const *stats_paths, struct gt_dataset **ret,
                         struct gt_error *error);
/* And who called them: function and caller (rows of gt_profile_functions, from 0), prim_calls, total_calls, total_time,
 * cumulative_time. */
int gt_profile_callers(const struct gt_profile *profile, const char *const *stats_paths, struct gt_dataset **ret,
                       struct gt_error *error);

/* ---- Experiments: recordings of power, in folders laid out as AIPowerMeter's -------------------------------------- */
struct gt_experiment_options {
    size_t size;
    const char *folder;      /* where power_metrics.json is, or is made; NULL: nothing is written */
    const char *description; /* for metadata.json of a new folder; may be NULL */
    const pid_t *pids;       /* these processes, and all below them */
    size_t pid_count;
    double period;             /* seconds between two readings; 0: 1.0 */
    double measurement_period; /* seconds that a record tells of, at least; 0: 2.0 */
    const char *machine_root;
    const char *const *libraries; /* as of trackers */
};

/* Record: begin, tick when it is due (CLOCK_MONOTONIC, ns), end. Records tell of windows of time that touch each other. */
struct gt_experiment_recorder;
int gt_experiment_begin(struct gt_experiment_recorder **ret, const struct gt_experiment_options *options,
                        struct gt_error *error);
int64_t gt_experiment_due(const struct gt_experiment_recorder *recorder);
/* 1: some of the processes live; 0: all have ended, and the last record is written. */
int gt_experiment_tick(struct gt_experiment_recorder *recorder, struct gt_error *error);
/* The last record, up to now, and the end of the segment. */
int gt_experiment_end(struct gt_experiment_recorder *recorder, struct gt_error *error);
/* The figures since the last record, or the last call: the "metrics" of a record as JSON text (free with free()). Without a folder. */
int gt_experiment_metrics(struct gt_experiment_recorder *recorder, char **ret, struct gt_error *error);
void gt_experiment_close(struct gt_experiment_recorder *recorder);

/* Whether energy of the processors ("cpu") or power of GPUs ("gpu") can be measured here: 1 or 0, and in *ret (free with free())
 * where from, or what stands in the way and what would help. */
int gt_experiment_source(const char *device, const struct gt_experiment_options *options, char **ret,
                         struct gt_error *error);

/* Read: a folder, ours or AIPowerMeter's, or a tracking file. */
struct gt_experiment;
int gt_experiment_open(struct gt_experiment **ret, const char *path, struct gt_error *error);
void gt_experiment_free(struct gt_experiment *experiment);

struct gt_experiment_curve {
    const char *group;  /* "CPU", "GPU", "Experiment", "wattmeter" */
    const char *name;   /* "intel_power" */
    const char *device; /* "0": of one GPU; NULL */
    size_t segments;    /* stretches of recording; in each, points by time */
};
struct gt_experiment_point {
    double date; /* seconds since the epoch */
    double value;
};
/* What was measured over a stretch of time: seconds, and the figures of a curve in it, NaN where there are none. */
struct gt_experiment_figures {
    double duration, start, end;
    double total; /* integral over time: watts give joules. CPU seconds are added up */
    double average, maximum;
};

/* Curve number `index`; 0 or -ENOENT. */
int gt_experiment_curve(const struct gt_experiment *experiment, size_t index, struct gt_experiment_curve *ret);
/* Points of a segment; borrowed. */
size_t gt_experiment_points(const struct gt_experiment *experiment, size_t curve, size_t segment,
                            const struct gt_experiment_point **ret);
/* Between `start` and `end`; NaN: no bound. */
void gt_experiment_figures(const struct gt_experiment *experiment, size_t curve, double start, double end,
                           struct gt_experiment_figures *ret);
/* Of the recording as a whole; only duration, start and end. */
void gt_experiment_span(const struct gt_experiment *experiment, double start, double end,
                        struct gt_experiment_figures *ret);
/* What a curve was at moments of your choosing, or its total up to them with `cumulative`: accuracy of each epoch against joules.
 * NaN before the first and after the last; a total stays as it is between segments, and other figures are NaN there. */
void gt_experiment_interpolate(const struct gt_experiment *experiment, size_t curve, int cumulative,
                               const double *times, size_t count, double *values);
/* Duration, totals and averages. */
int gt_experiment_summary(const struct gt_experiment *experiment, double start, double end, struct gt_report **ret,
                          struct gt_error *error);

/* ---- Reports ------------------------------------------------------------------------------------------------- */
/* The report of a recording, also one whose tracker was killed, also the original gpu_tracker's. Units NULL: the
 * file's. */
int gt_recording_report(const char *path, const char *ram_unit, const char *gpu_ram_unit, const char *time_unit,
                        struct gt_report **ret, struct gt_error *error);
/* The same, with what energy comes to. */
struct gt_recording_options {
    size_t size;
    const char *ram_unit, *gpu_ram_unit, *time_unit;    /* NULL: the file's */
    const char *carbon_intensity, *carbon_file, *price; /* as of a tracker; NULL: as recorded */
    const char *power_meter; /* as of a tracker: the meter ran beside the recording; NULL: as recorded */
};
int gt_recording_report_with(const char *path, const struct gt_recording_options *options, struct gt_report **ret,
                             struct gt_error *error);
/* Every metric, where it comes from here, and what would enable the rest. */
int gt_doctor_report(const struct gt_tracker_options *options, struct gt_report **ret, struct gt_error *error);
/* The commands by which an administrator would let this user read what is denied, each with what it opens and its risk; only
 * text, nothing is changed. Free with free(). 1: something is denied, 0: nothing. */
int gt_doctor_fix(const char *machine_root, char **ret, size_t *length, struct gt_error *error);
/* The metrics and the columns of tracking files. */
int gt_schema_report(struct gt_report **ret, struct gt_error *error);

/* Output formats: name, file suffix and help of number `index`; 0 or -ENOENT. */
int gt_format_info(size_t index, const char **name, const char **suffix, const char **help);
/* Render into *ret (free with free()); -EINVAL names the formats there are. */
int gt_report_render(const struct gt_report *report, const char *format, char **ret, size_t *length,
                     struct gt_error *error);
void gt_report_free(struct gt_report *report);
/* Table number `index` of those at the top of a report, as a data set; 0 or -ENOENT. The key is borrowed. */
int gt_report_table_data(const struct gt_report *report, size_t index, const char **key, struct gt_dataset **ret,
                         struct gt_error *error);

#pragma GCC visibility pop
#ifdef __cplusplus
}

class gt_block_scope
{
public:
    explicit gt_block_scope(const char *name) : block(gt_block_begin(name)) {}
    ~gt_block_scope() { gt_block_end(&block); }
    gt_block_scope(const gt_block_scope &) = delete;
    gt_block_scope &operator=(const gt_block_scope &) = delete;

private:
    struct gt_block block;
};
#endif
#endif
