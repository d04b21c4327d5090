/* Code blocks joined with a recording: times, samples, CPU time and energy of each block, and the report on them. */
#ifndef GT_ANALYSE_BLOCKS_BLOCKS_H
#define GT_ANALYSE_BLOCKS_BLOCKS_H

#include "aggregate/course.h"
#include "aggregate/energy_curve.h"
#include "aggregate/summary.h"
#include "analyse/blocks/cpu_split.h"
#include "blocks/block_event.h"
#include "blocks/block_join.h"
#include "report/report.h"
#include "store/store.h"

/* Times of the calls of one block; calls that never ended count apart. */
struct gt_call_total {
    uint64_t calls, non_empty, stepped;
    uint64_t unfinished;
    double unfinished_time;                    /* seconds, to the end of what is known */
    struct gt_distribution elapsed, self, cpu; /* seconds; cpu: of the process, between the events of each call */
    double cpu_covered; /* CPU seconds of its processes while the block was open in them, each second once */
    uint64_t cpu_calls; /* calls that this rests on */
};

/* The calls of one block in one process. */
struct gt_process_total {
    uint32_t name;
    uint16_t source;
    int64_t process;
    uint64_t calls, timepoints, unfinished;
    double elapsed, self, cpu_covered; /* NaN where not recorded */
    double unfinished_time;
};

/* Energy of the calls of one block. */
struct gt_block_energy {
    struct gt_spent device[GT_ENERGY_DEVICES];
    bool by_cpu_time; /* the CPU's figure */
};

/* How the CPU time of a block is known. */
#define GT_CPU_EXACT "exact"
#define GT_CPU_ESTIMATED "estimated"
#define GT_CPU_AT_LEAST "at least" /* the recording does not tell of others */

/* CPU time of a block, see gt_block_cpu_count. Seconds; NaN: not known. */
struct gt_block_cpu {
    double total;   /* process + others */
    double process; /* the clocks of the processes that call it */
    double others;  /* 0: none worked */
    double main;    /* of the total, what the main process used; NaN: it does not call the block */
    /* What the job used meanwhile, by samples and by all that is known between two of them; NaN: no more than the samples tell. */
    double job_main, job_descendants;
    const char *known; /* NULL: not all of its calls read the clock */
};

/* A time in which a block is open in a process: calls that ended, and overlap. Its CPU time counts once. */
struct gt_block_stretch {
    uint32_t name;
    uint16_t source;
    int64_t process;
    struct gt_time_stretch time; /* on the clock of the samples */
    double cpu_start, cpu_stop;
    uint64_t calls;
};

struct gt_block_analysis {
    const struct gt_blocks_options *options;
    struct gt_block_event_list events;
    struct gt_intervals intervals;
    struct gt_recording *recording;
    bool is_borrowed;                 /* the recording, which the caller reads */
    struct gt_machine machine;        /* of the recording, with the carbon intensity and price of the options */
    const struct gt_columns *columns; /* of the recording */
    const struct gt_column **gauge, **counter;
    size_t gauges, counters;
    struct gt_block_join *join;       /* NULL before the first sample */
    double *values;                   /* of a sample: gauges, then counters */
    int64_t epoch_ns;                 /* the time of day minus the monotonic clock, of the latest sample */
    double last_real;                 /* seconds of the latest sample, on the wall clock; NaN: there was none */
    struct gt_curve_moments moments;  /* at which calls begin and end */
    struct gt_call_total *block;      /* [events.names.count] */
    struct gt_process_total *process; /* by block, source and process */
    size_t processes;
    struct gt_block_stretch *stretch; /* in the same order, then by time */
    size_t stretches;
    bool use_monotonic;
    bool has_clocks; /* of CPU time, some call */
    double first;    /* seconds of the first sample, on the clock used */
    double origin;   /* seconds at which tracking began, on that clock; NaN: not told */
    /* CPU time of the main process and of its descendants; empty where no block has clocks, finished by gt_block_cpu_count. */
    struct gt_cpu_split main_cpu, descendants_cpu;
    struct gt_sample_course course; /* of a recording that it reads itself */
    struct gt_energy_curve curve;
    struct gt_block_energy *energy; /* [events.names.count] */
    struct gt_block_cpu *cpu;       /* [events.names.count]; NULL until gt_block_cpu_count */
    struct gt_energy_reading last;  /* at the end of the recording */
    uint64_t bad_timepoints;
};

/* Reads the files that the options name, and joins them. Without sub-tracking files the blocks that the run
 * collected are used; `optional`: none at all is no error. Close the analysis in any case. */
int gt_block_analysis_open(struct gt_block_analysis *analysis, const struct gt_blocks_options *options, bool optional,
                           struct gt_error *error);
/* Do the same for a recording that the caller reads: begin it after the recording was opened, add each sample, end it after the last. The
 * recording must outlive the analysis, and gives all columns. */
int gt_block_analysis_begin(struct gt_block_analysis *analysis, const struct gt_blocks_options *options,
                            struct gt_recording *recording, bool optional, struct gt_error *error);
int gt_block_analysis_add(struct gt_block_analysis *analysis, const struct gt_sample *sample, struct gt_error *error);
int gt_block_analysis_end(struct gt_block_analysis *analysis, struct gt_error *error);
void gt_block_analysis_close(struct gt_block_analysis *analysis);
/* Returns the time of a call that ended, on the clock of the samples. */
struct gt_time_stretch gt_block_analysis_stretch(const struct gt_block_analysis *analysis,
                                                 const struct gt_interval *interval);
/* Returns the energy of one call on all devices that were measured. */
struct gt_spent gt_blocks_energy_of_call(const struct gt_block_analysis *analysis, const struct gt_interval *interval);

/* The CPU time of a block: what the job used for it while its calls were open.
 *
 * The processes that call it have a clock of their own, which is exact. What others did meanwhile, those that these processes
 * started, the recording tells: where its list of processes accounts for all CPU time of the job, each of them is known from its
 * beginning to its end, and one that lived inside the calls is exact, too. Of one that was there before or went on after them only a
 * share is known, from samples; so is all of it where the list is not complete. What samples tell is split first, by the clocks of all
 * blocks and by the list (cpu_split.h): what is known to have been used at other times, or by another process that
 * calls blocks, is none of it. Of what nobody's clock tells, processes that call blocks at the same time have equal parts. */

/* Fills in analysis->cpu of an open analysis, which frees it, and adds the energy of others to that of blocks. 0 or
 * -ENOMEM. */
int gt_block_cpu_count(struct gt_block_analysis *analysis);
/* Returns a counter of the block by its place: of CPU time in agreement with the above, any other as the samples tell. */
double gt_block_cpu_counter(const struct gt_block_analysis *analysis, size_t block, size_t counter);

/* Builds a report of type "sub_tracking_results" with gpu_tracker's keys and layout, and further keys after them.
 * Without sub-tracking files the blocks that the run collected are used; `optional`: and none at all is no error. */
int gt_blocks_report(struct gt_report **ret, const struct gt_blocks_options *options, bool optional,
                     struct gt_error *error);

/* Adds what pages show of the blocks that the run collected, if any, to the report of a recording. */
int gt_blocks_page(struct gt_report *report, const struct gt_blocks_options *options, struct gt_error *error);
/* Does the same with an analysis that has ended. */
int gt_blocks_page_add(struct gt_report *report, struct gt_block_analysis *analysis, struct gt_error *error);

/* The version of our results files; those of a newer one are refused by `compare`.
 *   2  "peaks" are in bytes; before, in the unit of "static_data"; columns of the network's namespace are
 *      called so */
enum { GT_RESULTS_VERSION = 2 };

#endif
