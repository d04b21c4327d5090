/* A parallel job: recordings of its ranks, in a folder or on a server.
 *
 * * Values of a rank are added up. What trackers share counts once: machines by boot id, GPUs by UUID, network
 * namespaces and control groups by their names (the column `job` of metric.def). Ranks may share memory, so sums of
 * memory are bounds: at least the largest sum at one moment, at most the sum of peaks of ranks that ran at once. */
#ifndef GT_ANALYSE_JOB_JOB_H
#define GT_ANALYSE_JOB_JOB_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/map.h"
#include "blocks/interval.h"
#include "query/rows.h"
#include "sample/machine.h"
#include "sample/outcome.h"
#include "schema/metric.h"

/* A source of recordings answers three questions: ranks with final values, metrics over time, and calls of blocks.
 * Every report is made of these answers alone, so sources with the same rows give the same report.
 *
 * * Answers are passed to `take` in pieces, which are borrowed until it returns. A negative result ends the answer. */

struct gt_job;
struct gt_job_rank;
struct gt_calls_of_rank;

/* A metric of the machine, of the rank's own processes, of each recorded GPU, or of the processes of each rank
 * below. */
struct gt_job_subject {
    enum gt_scope scope; /* SYSTEM, COMBINED, GPU or PROCESS; the last two only alone in a question */
    enum gt_metric_id metric;
    unsigned bits; /* if not 0, the value is 1 if it has one of these bits, else 0 */
};

/* Samples of a metric in one range of time. If there are only minutes, `first` is unknown and is the least. */
struct gt_job_bucket {
    double count; /* samples with the metric; 0: other members are not set */
    double sum, least, most, first, last;
};

enum { GT_JOB_SUBJECTS = 32 };

/* Bucket i begins at begin + i * width, seconds since the epoch. Samples outside belong to the first and the last
 * bucket. Counters count from the start of each tracker. */
struct gt_job_question {
    size_t subjects, buckets;
    struct gt_job_subject subject[GT_JOB_SUBJECTS];
    double begin, width;
};

struct gt_job_series {
    size_t rank; /* index into gt_job.rank */
    int part;    /* index into the GPUs of its machine, or into the ranks below; -1: not divided */
    const struct gt_job_bucket *bucket; /* [subjects][buckets] */
};

struct gt_job_source {
    const char *name;     /* as the user names it */
    const char *keeps;    /* what a recording is: "file", "tracker" */
    const char *left_out; /* title of the list of recordings that are left out */
    void *state;
    /* Add each rank by gt_job_add_rank, and unreadable recordings by gt_job_leave_out. */
    int (*ranks)(void *state, struct gt_job *job, struct gt_error *error);
    /* Get series in the order of ranks, then of parts. A rank without samples may be missing. */
    int (*series)(void *state, const struct gt_job *job, const struct gt_job_question *question,
                  int (*take)(void *context, const struct gt_job_series *series), void *context,
                  struct gt_error *error);
    /* Get the calls of a rank in any order. The caller releases them, and asks ranks in order from 0 on. */
    int (*calls)(void *state, const struct gt_job *job, size_t rank, struct gt_calls_of_rank *ret,
                 struct gt_error *error);
    void (*close)(void *state);
};

/* Returns true if minutes of a rank could answer the question: buckets are whole minutes, and the tracker ended. */
bool gt_job_minutes_answer(const struct gt_job_question *question, const struct gt_job_rank *rank);

/* Open the recordings in a folder. `folder` is borrowed. */
int gt_job_folder_open(struct gt_job_source *ret, const char *folder, struct gt_error *error);
/* Use each file that has the name of a recording, in the order of numbers in the names. Returns their number. */
int gt_job_each_file(const char *folder, int (*use)(void *context, const char *path, struct gt_error *error),
                     void *context, struct gt_error *error);
/* Returns true for a folder with recordings and without traces. */
bool gt_job_is_folder(const char *path);

/* Returns the number of parts of the answer for a rank: its GPUs, or the ranks below it; 0: not divided. */
size_t gt_job_parts(const struct gt_job_question *question, const struct gt_job_rank *rank);
bool gt_job_is_divided(const struct gt_job_question *question);
/* Ask for the whole time of a job in up to `most` buckets. For an hour or more they are whole minutes. */
void gt_job_question_init(struct gt_job_question *ret, const struct gt_job *job, size_t most);
void gt_job_ask(struct gt_job_question *question, struct gt_job_subject subject);
/* Returns bucket number `bucket` of subject number `subject`. */
const struct gt_job_bucket *gt_job_bucket(const struct gt_job_question *question, const struct gt_job_series *series,
                                          size_t subject, size_t bucket);
/* Returns all buckets of a subject as one. Without samples, members are NaN but for count and sum. */
struct gt_job_bucket gt_job_whole(const struct gt_job_question *question, const struct gt_job_series *series,
                                  size_t subject);

/* Names of jobs: "[cluster:]id[.step][+restart]". Steps and restarts are parts of one job. */

/* Returns the length of "alps:42" in "alps:42.0+1". */
size_t gt_job_name_base(const char *job);
/* Returns true if both are of one job. */
bool gt_job_name_is_same(const char *one, const char *other);
/* Returns true if `name` is the name of `job`, or of the job whose step it is, with or without the cluster. */
bool gt_job_name_is_meant(const char *job, const char *name);

/* Bytes. NaN: unknown. */
struct gt_job_bounds {
    double least, most;
};

/* One recording: a rank, or the tracker of several ranks below it. */
struct gt_job_rank {
    char *path; /* of its recording */
    struct gt_machine machine;
    size_t node;   /* index into gt_job.node */
    size_t launch; /* index into gt_job.launch */
    bool complete;
    int exit_status;
    enum gt_ending ending;
    double begin, end;               /* seconds since the epoch */
    double clock_shift;              /* seconds added to its times to correct its clock */
    size_t tracker;                  /* number by which its source knows it */
    double samples, missed;          /* taken; missed ticks of the schedule */
    double dropped;                  /* samples taken but not recorded */
    double own[GT_METRIC_COUNT];     /* final values of its process tree */
    double system[GT_METRIC_COUNT];  /* final values of its machine, as this tracker saw it */
    struct gt_job_bounds ram;        /* the peak */
    double gpu_ram, gpu_use;         /* peak of bytes, and mean of busy GPUs, of its own processes */
    double cores_p95;                /* 95th percentile of busy cores */
    double killed_at;                /* bytes at which the kernel killed one of its processes; NaN: no kill */
    double error[GT_ENERGY_DEVICES]; /* of its share, joules */
    struct gt_local_rank *below;     /* the ranks below its tracker, by number */
    size_t below_count;
    size_t first_member, whole; /* indices into gt_job.member: of its first rank, and of processes of no rank */
};

/* A rank as its launcher numbers it: of a recording, or below its tracker. */
struct gt_job_member {
    size_t rank;                       /* index into gt_job.rank */
    const struct gt_local_rank *below; /* NULL: the rank of the recording */
};

/* Joules of one kind of device on a machine: drawn = job + others + idle + unattributed. NaN: not measured. */
struct gt_job_energy {
    double drawn;
    double job, job_least; /* less than `job` if idle energy was charged to each of several ranks */
    double others, idle, unattributed;
    double error;     /* of the shares */
    bool is_exceeded; /* the shares exceed the drawn energy, and `others` is NaN */
};

struct gt_job_node {
    const char *name, *id;
    size_t first, count; /* its recordings */
    int64_t ranks;
    struct gt_job_bounds ram, gpu_ram;
    size_t gpus; /* known to its trackers, by UUID */
    struct gt_job_energy energy[GT_ENERGY_DEVICES];
    bool is_idle_repeated; /* idle energy was charged to each of several ranks */
    bool is_covered;       /* one tracker ran as long as all others; else energy is that of a part of the time */
};

/* A recording that is not in the sums. */
struct gt_job_left_out {
    char *path, *why;
};

struct gt_job {
    const struct gt_job_source *source;
    struct gt_job_rank *rank; /* by node, then by number, then by step */
    size_t count, capacity;
    /* Steps and their attempts in the order of numbers: "42.0", "42.0+1", "42.1"; "" for recordings without a name. */
    const char **launch;
    size_t launches;
    size_t *step_of, steps; /* step of each launch, from 0: attempts are of one step */
    /* In the order of `rank`. After `members` follows one for each recording with ranks below: processes of no rank. */
    struct gt_job_member *member;
    size_t members, all_members;
    const char *launcher; /* of ranks below trackers; NULL: none */
    struct gt_job_node *node;
    size_t nodes;
    struct gt_job_left_out *left_out;
    size_t left_out_count;
    double begin, end;
    struct gt_job_bounds ram, gpu_ram;
    size_t gpus;
    double gpus_used; /* busy in at least 5 % of the time; NaN: recordings have no values of single GPUs */
    double group_ram; /* sum of the peaks of its control groups */
    double received, sent;
    struct gt_query *query; /* owns rows */
    struct gt_rows
        rows; /* of all members, in their order: member node job step rank (missing: unknown) size (of its step) */
    int64_t ranks,
        world; /* with a recording, attempts of a step once; and of all steps by their launcher, 0: unknown */
    struct gt_buffer
        missing; /* numbers of ranks without a recording, "3, 5-7", or for several steps "42.0: 3; 42.1: 5" */
    size_t missing_count;
};

/* Read a job. -ENODATA: no recording yet. -EINVAL: recordings of several jobs. The source outlives the job. */
int gt_job_read(struct gt_job *ret, const struct gt_job_source *source, struct gt_error *error);
/* The same without totals: only ranks and nodes with final values. */
int gt_job_read_ranks(struct gt_job *ret, const struct gt_job_source *source, struct gt_error *error);
/* The same, also for runs of several jobs. */
int gt_job_read_runs(struct gt_job *ret, const struct gt_job_source *source, struct gt_error *error);
void gt_job_release(struct gt_job *job);

/* For sources. Arguments are copied. */
int gt_job_add_rank(struct gt_job *job, const char *path, const struct gt_machine *machine,
                    const struct gt_outcome *outcome);
int gt_job_leave_out(struct gt_job *job, const char *path, const char *why);

/* Parts of gt_job_read, in this order. */
int gt_job_sort(struct gt_job *job, struct gt_error *error);
int gt_job_read_memory(struct gt_job *job, struct gt_error *error);
int gt_job_count_gpus(struct gt_job *job, struct gt_error *error);
int gt_job_count_once(struct gt_job *job, struct gt_error *error);

/* Returns the sum of a final value over all ranks that have it; NaN: none has it. For metrics that are BOUND in
 * metric.def, this is the upper bound. */
double gt_job_sum(const struct gt_job *job, enum gt_metric_id metric);
/* Returns the number of a rank by its launcher; -1: unknown. */
int gt_job_member_number(const struct gt_job *job, size_t member);
const char *gt_job_member_node_name(const struct gt_job *job, size_t member);

/* Append the names of steps and attempts, "42.0, 42.1". Returns their number. */
size_t gt_job_names(struct gt_buffer *out, const struct gt_job *job);
/* Get the samples that were not recorded. Returns the number of ranks with such samples. */
size_t gt_job_dropped(double *ret, const struct gt_job *job);
/* Returns true if a recording without a later attempt is not finished, or if ranks are missing and the last sample of
 * the job is less than two minutes before `now`, seconds since the epoch. */
bool gt_job_goes_on(const struct gt_job *job, double now);
/* Returns true if a tracker was silent for two minutes while others of its step and attempt went on: it was killed, or
 * cut off. */
bool gt_job_is_silent(const struct gt_job *job, const struct gt_job_rank *rank);
size_t gt_job_member_launch(const struct gt_job *job, size_t member);
/* Append the step of a rank, " of 42.1", without the cluster, if the job has several. */
void gt_job_put_launch(struct gt_buffer *out, const struct gt_job *job, size_t launch);
/* Add up the energy of all machines for one kind of device. */
void gt_job_energy(struct gt_job_energy *ret, const struct gt_job *job, int device);
/* Append why the energy of a node does not add up, if so. */
void gt_job_energy_reason(struct gt_buffer *out, const struct gt_job_node *node);

/* ---- Calls of code blocks, summed up by name and rank, and compared by number over all ranks ---- */

/* All calls of a rank. */
struct gt_calls_of_rank {
    struct gt_strings names;
    struct gt_interval *interval;
    size_t interval_count, interval_capacity;
};

/* Read the calls of all ranks. `calls` are those of a block in each rank, sorted by name and member: name (in the order of bytes) member
 * count unfinished total self cpu_time p50 p95 longest, and rank node job. `steps`, which may be NULL, are the calls of one name and number
 * in the ranks of a launch: name job number ranks slowest quickest (members) lost (longest less shortest, seconds). */
int gt_job_calls_read(const struct gt_job *job, struct gt_rows *calls, struct gt_rows *steps, struct gt_error *error);

#endif
