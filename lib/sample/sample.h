/* A sample is one moment of one recording, as rows; with a reading of energy, and the processes by name that changed. */
#ifndef GT_SAMPLE_SAMPLE_H
#define GT_SAMPLE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "schema/metric.h"

/* ---- A reading of energy: the joules that devices drew since tracking began, and whose they were ------------------- */

/* Rows have the same figures as columns, which are written from it and read back into it here alone. */

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

/* ---- The processes of a job by name, each from its beginning to its end -------------------------------------------- */

/* All with detail, else the first thousand, in recordings in SQLite. */

enum { GT_PROCESS_RECORD_NAME = 32, GT_PROCESS_RECORD_COMMAND = 128 };

struct gt_process_record {
    uint64_t number; /* from 0, in the order in which they were heard of */
    pid_t pid;
    pid_t parent;                            /* the first that is known; 0: none is */
    uint64_t start;                          /* as in rows of samples; 0: not known */
    char name[GT_PROCESS_RECORD_NAME];       /* as ps shows it, the last it had; "" not known */
    char command[GT_PROCESS_RECORD_COMMAND]; /* its words, the last it had, shortened; "" not known */
    double begin, end; /* seconds since tracking began, negative before; NaN: not known, or it lives */
    double ram_peak;   /* bytes: its largest resident set */
    double cpu_time;   /* seconds, of those since tracking began */
    int rank;          /* 1 more than that among those below the tracker; 0: it is of none */
};

struct gt_process_records {
    struct gt_process_record *record;
    size_t count, capacity;
};

/* Append; 0 or -ENOMEM. */
int gt_process_records_add(struct gt_process_records *records, const struct gt_process_record *record);
/* Of several with one number the last stays; in ascending order of numbers. 0 or -ENOMEM. */
int gt_process_records_unify(struct gt_process_records *records);
/* In the order in which they began, those of which that is not known behind. */
void gt_process_records_sort(struct gt_process_records *records);
/* The kernel tells of beginnings and ends a moment after them: none is later than the end of the job, `elapsed`. */
void gt_process_records_end(struct gt_process_records *records, double elapsed);
/* Returns the CPU seconds of all of them, as far as they are known. */
double gt_process_records_cpu(const struct gt_process_records *records);
/* Share out CPU seconds that the ends of all but the main process have taken. Ending takes longer the more memory a process has. Does
 * nothing where the CPU time of an ended process is not known, because these seconds may be its own. */
void gt_process_records_share_ends(struct gt_process_records *records, pid_t main, double seconds);
void gt_process_records_release(struct gt_process_records *records);

/* A text cut to fit into `size` bytes: never within a character, and with an ellipsis where something is missing. */
void gt_shorten(char *ret, size_t size, const char *text);

/* Processes as a tree: each below the one that started it. */

struct gt_process_tree_row {
    size_t record;  /* index into the list */
    unsigned depth; /* 0: its parent is none of the list */
    uint64_t open;  /* bit d: what stands at depth d above it, or itself, has a sibling further down */
};

/* List the processes in the order of a drawn tree: those that begin earlier before later ones, and each before its children.
 * `sorted` is as gt_process_records_sort leaves it. A parent is the last process of that number that began before. *ret has one
 * row for each, free with free(). Returns 0 or -ENOMEM. */
int gt_process_tree(struct gt_process_tree_row **ret, const struct gt_process_records *sorted);

enum { GT_PROCESS_TREE_DEPTH = 12, GT_PROCESS_TREE_BRANCH_SIZE = GT_PROCESS_TREE_DEPTH * 4 + 1 };
/* Draw the lines before its name: "│ ├ ". Deeper ones are drawn as if at GT_PROCESS_TREE_DEPTH. */
void gt_process_tree_branch(char ret[GT_PROCESS_TREE_BRANCH_SIZE], const struct gt_process_tree_row *place);

/* ---- A sample ------------------------------------------------------------------------------------------------------ */

struct gt_row {
    enum gt_scope scope;
    pid_t pid; /* PROCESS rows: its pid, parent and start; else 0 */
    pid_t parent;
    uint64_t start;
    int rank;   /* 1 more than that of the process; 0: it is of none */
    int device; /* GPU rows: index into gt_machine.gpu; else -1 */
    double value[GT_METRIC_COUNT];
};

/* row[0..3] are the scopes SYSTEM, MAIN, DESCENDANTS, COMBINED in that order; then one GPU row for each device; then,
 * when detail was asked for, one PROCESS row for each process. */
struct gt_sample {
    int64_t real_ns; /* since 1970-01-01 UTC: the moment of the readings */
    int64_t monotonic_ns;
    size_t row_count;
    struct gt_row *row;
    struct gt_energy_reading energy;
    size_t record_count;
    /* Of a list: the processes that came, got another name or ended since the last sample. */
    const struct gt_process_record *record;
};

enum { GT_FIXED_ROWS = 4 };

#endif
