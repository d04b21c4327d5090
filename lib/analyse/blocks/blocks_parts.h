/* What the analysis of blocks computes and its report shows; private to lib/analyse/blocks*.c. */
#ifndef GT_ANALYSE_BLOCKS_PARTS_H
#define GT_ANALYSE_BLOCKS_PARTS_H

#include "aggregate/history.h"
#include "blocks/block_join.h"
#include "analyse/blocks/blocks.h"
#include "analyse/energy.h"
#include "blocks/block_event.h"
#include "store/store.h"

/* What the calls of one block took; those that never ended count apart. */
struct gt_call_total {
    uint64_t calls, non_empty, stepped;
    uint64_t unfinished;
    double unfinished_time;                    /* seconds, to the end of what is known */
    struct gt_distribution elapsed, self, cpu; /* seconds; cpu: of the process, between the borders of each call */
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

/* What the calls of one block drew. */
struct gt_block_energy {
    struct gt_spent device[GT_ENERGY_DEVICES];
    bool by_cpu_time; /* the CPU's figure */
};

struct gt_block_analysis {
    const struct gt_blocks_options *options;
    struct gt_block_event_list borders;
    struct gt_intervals intervals;
    struct gt_recording *recording;
    struct gt_machine machine; /* its own, with what the options say of carbon and price */
    struct gt_columns columns;
    const struct gt_column **gauge, **counter;
    size_t gauges, counters;
    struct gt_block_join *join;
    struct gt_call_total *block; /* [borders.names.count] */
    struct gt_process_total *process;
    size_t processes;
    bool use_monotonic;
    double first; /* seconds of the first sample, on the clock used */
    struct gt_history history;
    struct gt_energy_curve curve;
    struct gt_block_energy *energy; /* [borders.names.count] */
    struct gt_energy_reading last;  /* at the end of the recording */
    uint64_t bad_timepoints;
};

/* After the intervals are closed: the totals by block and by process. 0 or -ENOMEM. */
int gt_blocks_count_calls(struct gt_block_analysis *analysis);
/* After the last sample and the intervals are closed. 0 or -ENOMEM. */
int gt_blocks_count_energy(struct gt_block_analysis *analysis);
/* Of all devices that were measured. */
struct gt_spent gt_blocks_energy_of_call(const struct gt_block_analysis *analysis, const struct gt_interval *interval);
/* One line for each block, the longest first; `flags` of the table. And pictures of the recording with the calls in them. */
void gt_blocks_summary(struct gt_node *root, struct gt_block_analysis *analysis, unsigned flags);
void gt_blocks_course(struct gt_node *root, const struct gt_block_analysis *analysis);
int gt_blocks_build(struct gt_report **ret, struct gt_block_analysis *analysis, struct gt_error *error);

#endif
