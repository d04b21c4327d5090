/* The model of a view is a job at one moment, as numbers that its recording tells up to then. Nothing here knows of screens. */
#ifndef GT_VIEW_VIEW_MODEL_H
#define GT_VIEW_VIEW_MODEL_H

#include <stdbool.h>

#include "aggregate/course.h"
#include "blocks/block_progress.h"
#include "sample/sample.h"
#include "sample/machine.h"
#include "store/store.h"

/* Lines of the course; then come two for each GPU: busy and memory; then those of the process that is looked at alone. */
enum gt_view_line {
    GT_VIEW_RAM,
    GT_VIEW_CPU,
    GT_VIEW_POWER,
    GT_VIEW_DISK,
    GT_VIEW_LINES,
};

enum gt_view_alone_line { GT_VIEW_ALONE_CPU, GT_VIEW_ALONE_RAM, GT_VIEW_ALONE_GPU, GT_VIEW_ALONE_LINES };

enum gt_view_state {
    GT_VIEW_WAITING, /* there is no sample yet */
    GT_VIEW_RUNNING,
    GT_VIEW_SILENT, /* samples are overdue: its tracker was stopped or killed, or the disk is far away */
    GT_VIEW_ENDED,
};

struct gt_view_gpu {
    char name[32];
    double busy, ram, capacity, power, temperature, throttle; /* NaN: not known */
    double lost, xid, ecc;                                    /* as gpu_lost, gpu_xid and gpu_ecc_uncorrected */
};

struct gt_view_process {
    pid_t pid;
    char name[GT_PROCESS_RECORD_NAME], command[GT_PROCESS_RECORD_COMMAND]; /* "": not known */
    double cpu, cpu_time, ram, peak, gpu_ram, threads, read, written,
        age;        /* cpu: NaN when it has ended; cpu_time: only then */
    unsigned depth; /* as struct gt_process_tree_row has it */
    uint64_t open;
};

enum { GT_VIEW_LAST_CALLS = 10, GT_VIEW_CALLS = 512 };

struct gt_view_block {
    char name[96];
    unsigned depth, running;   /* calls that are open now */
    uint64_t open;             /* as struct gt_process_tree_row has it */
    uint64_t calls;            /* that have ended */
    double now;                /* seconds since the latest open call began; NaN: none is open */
    double total, least, most; /* seconds; of calls that have ended */
    double latest;             /* begin of the latest call, seconds from the begin of the recording */
    double latest_elapsed;     /* NaN: it is open */
    double last[GT_VIEW_LAST_CALLS];
    size_t last_count; /* the oldest first */
};

struct gt_view_model {
    char command[512], host[128], pid_text[16];
    enum gt_view_state state;
    int exit_status; /* -1: not known */
    enum gt_ending ending;
    double at;      /* the moment shown, seconds from the begin */
    double whole;   /* what the recording holds, or the time of a command that ended */
    double period;  /* seconds between samples that were asked for */
    double silence; /* seconds since the last sample, while it should run */
    bool is_past;   /* the moment shown is not the last */

    /* Capacity and cores: what the job was given, else what the machine has. time_limit: seconds; 0: none is known. */
    double ram, ram_peak, ram_capacity, swap;
    double cpu, cpu_mean, cores, time_limit;
    double gpu_busy;                                 /* ratio: mean over the GPUs of the job */
    double power, cpu_power, gpu_power, energy;      /* watts of the job, joules */
    double disk, disk_read, disk_written, disk_wait; /* bytes a second, bytes, share of the time */
    double earlier;                                  /* seconds that the same command took before */

    size_t gpu_count;
    struct gt_view_gpu *gpu;
    double gpus_lost, gpu_xid, gpu_ecc; /* of all GPUs: as gpu_lost and gpu_xid; ECC errors since the first sample */
    size_t process_count;               /* those that live, in the order of the tree */
    struct gt_view_process *process;
    bool has_detail;          /* the recording tells of processes */
    bool has_ended_processes; /* of a job that ended: all that it had, their CPU time and most memory */
    double block_at;          /* the moment up to which blocks are told, seconds from the begin */
    size_t block_count;
    struct gt_view_block *block;
    /* The block that is looked at alone took so long in its last calls. */
    char alone[96];
    double *call;
    size_t call_count;
    struct gt_progress progress; /* of a job that runs */
    struct gt_course *course;
};

/* All figures not known. */
void gt_view_forget_figures(struct gt_view_model *model);
/* Takes what the job was given, else what the machine has. */
void gt_view_take_limits(struct gt_view_model *model, const struct gt_machine *machine);

/* Reads a recording, again and again while it is written. */
struct gt_view_reader;
int gt_view_reader_open(struct gt_view_reader **ret, const char *path, bool wants_blocks, struct gt_error *error);
/* Bring the model up to date. `until`: the moment wanted, in seconds from the begin; INFINITY: the last. `now_ns`: the time of day.
 * Returns 1 when there is something new, 0, or negative errno. */
int gt_view_reader_update(struct gt_view_reader *reader, double until, int64_t now_ns, struct gt_error *error);
/* Tell from now on all of one block ("": none) and of one process (0: none). */
void gt_view_reader_look_at(struct gt_view_reader *reader, const char *block, pid_t pid);
const struct gt_view_model *gt_view_reader_model(const struct gt_view_reader *reader);
void gt_view_reader_close(struct gt_view_reader *reader);

#endif
