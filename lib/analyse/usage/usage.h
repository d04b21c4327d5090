/* How much one run used: values and their sources, warnings, charts, and the report that they make. A value that is not
 * known is NaN. */
#ifndef GT_ANALYSE_USAGE_USAGE_H
#define GT_ANALYSE_USAGE_USAGE_H

#include "aggregate/course.h"
#include "aggregate/summary.h"
#include "report/report.h"
#include "sample/machine.h"

/* ---- values of one run, by which several parts of its report are made ---- */

struct gt_usage {
    const struct gt_machine *machine;
    const struct gt_summary *summary;
    const struct gt_outcome *outcome;
    const char *recording; /* the path of its tracking file; NULL: there is none */
    const char *address;   /* of its job on a server, to which it is sent; NULL: it stays where it is */
    /* Bytes and seconds in one of the report's units, which gt_usage_report fills in for its parts. */
    double ram_unit, gpu_ram_unit, time_unit;
};

/* Returns the best estimate of the largest memory of a scope, in bytes. */
double gt_usage_scope_peak(const struct gt_usage *usage, enum gt_scope scope);
double gt_usage_peak(const struct gt_usage *usage); /* of the whole job */
/* Returns the largest shared memory and tmpfs that no process mapped, bytes; 0: not known. */
double gt_usage_unmapped(const struct gt_usage *usage);
/* Cores busy in the mean, no more than there are. */
double gt_usage_cores(const struct gt_usage *usage, enum gt_scope scope);
/* The most memory charged to its own control group, page cache included. */
double gt_usage_group_peak(const struct gt_usage *usage);
/* A counter or a peak at the end. */
double gt_usage_final(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric);
/* Returns true for joules of a counter that was read once, and never again. */
bool gt_usage_energy_is_unknown(const struct gt_usage *usage, enum gt_metric_id metric);
/* A counter of seconds as a share of the time of the run. */
double gt_usage_share(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric);
/* The energy at the end. */
void gt_usage_energy(const struct gt_usage *usage, struct gt_energy_reading *ret);

/* Returns how exact a metric is; GT_MISSING: it was not measured, or the recording does not say. */
enum gt_exactness gt_usage_exactness(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric);
/* Returns a clause that says why a metric was not measured. */
const char *gt_usage_reason_missing(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric);
/* Adds a section of plain figures: a counter or peak of the outcome, or the largest sample of a gauge. */
struct gt_node *gt_usage_section(const struct gt_usage *usage, struct gt_node *root, const char *key,
                                 const char *title);
/* Adds the tables "provenance" and "missing", for programs only. */
void gt_usage_provenance(const struct gt_usage *usage, struct gt_node *root);

/* ---- warnings: one table of rules, each with the value that it rests on ---- */

enum { GT_WARNINGS = 20 };

struct gt_warning {
    const char *name;   /* "out_of_memory" */
    char sentence[256]; /* "the kernel killed python (pid 4711, 15.7 GB) at the limit of 16.0 GB" */
    char detail[160];   /* a further sentence; "": none */
    double value;       /* the figure that it rests on, in base units */
    bool is_of_others;  /* about other programs, not about the job */
};

/* Returns how many there are; the dearest come first. `ret` has room for GT_WARNINGS. */
size_t gt_warnings(const struct gt_usage *usage, struct gt_warning *ret);

/* The code blocks of a run in a few words: which took the most of its time, and which one never ended. */
struct gt_block_brief {
    char shares[160];    /* "train 72 %   load 17 %"; "": there are none */
    char unfinished[80]; /* the block that had begun last of those that never ended; "": there is none */
};

/* Reads the blocks that the run collected with its recording; quietly, because sub-track analyze explains failures. */
void gt_block_brief(struct gt_block_brief *ret, const struct gt_usage *usage);

/* The job ended because memory ran out: not, as far as can be told, or as the kernel said. */
enum gt_out_of_memory { GT_MEMORY_SUFFICED, GT_MEMORY_PROBABLY_RAN_OUT, GT_MEMORY_RAN_OUT };
enum gt_out_of_memory gt_usage_out_of_memory(const struct gt_usage *usage);
/* Returns the bytes at which the kernel kills; NaN: not known, or the job stayed far below and was killed elsewhere. */
double gt_usage_memory_limit_met(const struct gt_usage *usage);
/* The job counts as throttled from this share of the periods of a quota on. */
#define GT_THROTTLED_SHARE 0.05
/* Returns what the job was given; NaN: not known. */
double gt_usage_given(const struct gt_usage *usage, enum gt_limit_kind kind);

/* Returns the cores that other programs used, if these disturbed the run; else NaN. */
double gt_usage_others(const struct gt_usage *usage);

/* The sections "limits" and "warnings" of the report. */
void gt_usage_limits_section(const struct gt_usage *usage, struct gt_node *root);
void gt_usage_warnings_table(const struct gt_usage *usage, struct gt_node *root);

/* ---- the request for next time, from what one run used, or the most that several did ---- */

/* The largest of each over the runs so far. NaN: no run can tell. */
struct gt_next_time {
    size_t runs;
    double memory;  /* bytes */
    double cores;   /* not rounded */
    double gpus;    /* 0: none was used */
    double gpu_ram; /* bytes, of the card that had the most in use */
    double seconds;
    double killed_at;    /* bytes at which a run was killed for memory, which then cannot tell; NaN: none was */
    double throttled_at; /* cores of the quota that held a run back, which then cannot tell; NaN: none was */
    bool is_by_core;     /* Slurm is asked for memory for each core: by all of the runs */
    size_t nodes;        /* the figures are those of one of so many; 0 and 1: there is one */
    int tasks;           /* among which Slurm divides cores; 1 where runs differ */
    int failed_with;     /* the exit status of the last run that failed; 0: none did */
    bool is_unfinished;  /* the recording of a run is: its tracker was killed, or goes on */
};

void gt_next_time_init(struct gt_next_time *next);
void gt_next_time_add(struct gt_next_time *next, const struct gt_usage *usage);
/* Instead of what the runs used, so many bytes and seconds are expected. */
void gt_next_time_expect(struct gt_next_time *next, double memory, double seconds);

/* It was killed at so many bytes: twice as much is asked for. NaN: it was not. */
void gt_next_time_kill(struct gt_next_time *next, double bytes);

/* "slurm", "k8s", "pbs", "lsf", "docker"; NULL behind the last. */
extern const char *const gt_request_kinds[];
/* Appends the request in the words and units of that scheduler; 0, or -ENOENT for a kind that there is not. */
int gt_next_time_request(struct gt_buffer *out, const struct gt_next_time *next, const char *kind);
/* Adds the requests of all kinds to a section. */
void gt_next_time_requests(struct gt_node *section, const struct gt_next_time *next);
/* Appends what a run that was killed or throttled or failed, or a recording that was not finished, leaves open: "more than 16.0 GB; the
 * limit ended the run before its peak"; nothing where there is none. */
void gt_next_time_doubt(struct gt_buffer *out, const struct gt_next_time *next);
/* Appends what to try where no scheduler has to be asked, "805 MB": only values that a limit hid. */
void gt_next_time_try(struct gt_buffer *out, const struct gt_next_time *next);

/* The section "next_time", for programs. */
void gt_next_time_section(const struct gt_usage *usage, struct gt_node *root);

/* ---- charts of pages ---- */

struct gt_over_time {
    const struct gt_sample_course *course;
    const struct gt_machine *machine;
    double memory_limit; /* bytes; 0 or NaN: the machine's memory */
    double memory_peak;  /* bytes: the job's, which no sample may have seen; 0 or NaN: not known */
};

/* Adds a chart for each resource that was measured at least twice. */
void gt_over_time_add(const struct gt_over_time *recording, struct gt_node *page);

/* Adds the processes of a recording with detail as bars, from their begins to their ends. */
void gt_process_lanes_add(const struct gt_usage *usage, struct gt_node *page);

/* ---- the tracking report ---- */

/* The layout is that of gpu_tracker's report, with further sections after it.
 *
 *   Max RAM          the kernel's high-water mark of one process, the best estimate for several; private and shared are
 *                    its parts, so that the three belong to one moment
 *   CPU utilisation  max: the largest sampled interval, at least the mean. mean: CPU time of the run over its time; the
 *                    mean of the samples in recordings without CPU time. The system's only where the run was long
 *                    enough for the clock ticks of /proc/stat. At most all cores. Hardware percentages are divided by
 *                    the expected cores, the system's by all cores, and at most 100
 *   GPU utilisation  largest and mean sample, summed over the selected GPUs
 *   Compute time     the time of the command */

/* Adds the brief of a run: its end, a line for each resource, warnings, and a request for next time. Runs shorter than
 * GT_BRIEF_SHORTEST get one line without utilisation, because the kernel counts in ticks of 10 ms. */
#define GT_BRIEF_SHORTEST 0.05
void gt_usage_brief(const struct gt_usage *usage, struct gt_node *root);

/* Builds the report in the units of the machine; the error of -EINVAL names a wrong one. */
int gt_usage_report(struct gt_report **ret, const struct gt_usage *usage, struct gt_error *error);
/* Builds the summary alone. */
int gt_usage_summary(struct gt_report **ret, const struct gt_usage *usage, struct gt_error *error);

#endif
