/* A parallel job is a folder of recordings, one of each rank.
 *
 * What is a rank's own is added up. What trackers share counts once: machines by their boot id, GPUs by UUID, network namespaces and
 * control groups by what names them (the column `job` of metric.def). Memory that ranks share lies in each rank's figure, so that sums of
 * memory are bounds: the job had at least the largest sum of one moment, and at most the sum of the own peaks of ranks that ran at once. */
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
#include "sample/machine.h"
#include "sample/outcome.h"
#include "schema/metric.h"

/* Whoever keeps the rows of a job's trackers answers four questions: which ranks there are with their final figures, a few metrics by
 * stretches of time, the calls of blocks, and the calls of one number over all ranks. Every report of a job is made of these answers
 * alone, so that two sources with the same rows give the same report.
 *
 * Answers are handed on piece by piece and are borrowed until `take` returns; a negative result of it ends the answer. */

struct gt_job;
struct gt_job_rank;
struct gt_calls_of_rank;

/* A metric of the machine, of the rank's own processes, of each GPU that its tracker recorded, or of each rank below it, whose processes
 * are added up. */
struct gt_job_subject {
    enum gt_scope
        scope; /* SYSTEM, COMBINED, GPU or PROCESS; all of a question are of GPUs, or of ranks below, or none */
    enum gt_metric_id metric;
    unsigned bits; /* not 0: instead of the value 1 where it has one of these bits, else 0 */
};

/* The samples of one metric in one stretch of time. Where a tracker kept minutes alone, the first is not known, and is the least. */
struct gt_job_bucket {
    double count; /* samples that have the metric; 0: the rest is not set */
    double sum, least, most, first, last;
};

enum { GT_JOB_SUBJECTS = 32 };

/* Stretch i begins at begin + i width, seconds since the epoch. Samples before the first and behind the last belong to these. Counters
 * are asked as they are: they count from the start of each tracker. */
struct gt_job_question {
    size_t subjects, buckets;
    struct gt_job_subject subject[GT_JOB_SUBJECTS];
    double begin, width;
};

struct gt_job_series {
    size_t rank; /* index into gt_job.rank */
    int part;    /* index into the GPUs of its machine, or into the ranks below; -1 where none was asked */
    const struct gt_job_bucket *bucket; /* [subjects][buckets] */
};

/* The calls of one block in one rank, those that ended. */
struct gt_job_calls {
    size_t member; /* index into gt_job.member */
    const char *name;
    uint64_t count, unfinished;
    double total, self, cpu_time; /* seconds; NaN: not known */
    double p50, p95, longest;
};

/* Call `number` of a block in each rank of a step of the job, from 0, in the order of their beginnings. */
struct gt_job_step {
    const char *name;
    size_t launch; /* index into gt_job.launch */
    uint64_t number;
    size_t ranks;             /* that have it, and it ended there */
    size_t slowest, quickest; /* indices into gt_job.member */
    double longest, shortest; /* seconds */
};

struct gt_job_source {
    const char *name;     /* what the user named */
    const char *keeps;    /* "file", "tracker": what one of its recordings is */
    const char *left_out; /* the title of those that are no part of the job */
    void *state;
    /* Adds each rank by gt_job_add_rank, and what cannot be read by gt_job_leave_out. */
    int (*ranks)(void *state, struct gt_job *job, struct gt_error *error);
    /* In the order of the ranks, then of devices; a rank without samples may be missing. */
    int (*series)(void *state, const struct gt_job *job, const struct gt_job_question *question,
                  int (*take)(void *context, const struct gt_job_series *series), void *context,
                  struct gt_error *error);
    /* Get the calls of rank number `rank` in any order; the caller releases them. Ranks are asked in their order, from 0 on. */
    int (*calls)(void *state, const struct gt_job *job, size_t rank, struct gt_calls_of_rank *ret,
                 struct gt_error *error);
    void (*close)(void *state);
};

/* Returns true where the minutes of a rank answer the question, if it has any: in stretches of whole minutes, after a tracker that
 * ended. */
bool gt_job_minutes_answer(const struct gt_job_question *question, const struct gt_job_rank *rank);

/* The recordings in a folder, whatever their kind. `folder` is borrowed. */
int gt_job_folder_open(struct gt_job_source *ret, const char *folder, struct gt_error *error);
/* Use each file of a folder that is a recording by its name, in the order of numbers in the names. Returns how many there are. */
int gt_job_each_file(const char *folder, int (*use)(void *context, const char *path, struct gt_error *error),
                     void *context, struct gt_error *error);
/* Returns true where a folder holds recordings and no other traces that could be meant. */
bool gt_job_is_folder(const char *path);

/* Into how many parts the answer for a rank is divided: its GPUs, the ranks below it; 0: it is one. */
size_t gt_job_parts(const struct gt_job_question *question, const struct gt_job_rank *rank);
bool gt_job_is_divided(const struct gt_job_question *question);
/* Ask for the whole time of a job in `most` stretches at most; from an hour on they are whole minutes, of which trackers keep rows. */
void gt_job_question_init(struct gt_job_question *ret, const struct gt_job *job, size_t most);
void gt_job_ask(struct gt_job_question *question, struct gt_job_subject subject);
/* Returns bucket number `bucket` of subject number `subject`. */
const struct gt_job_bucket *gt_job_bucket(const struct gt_job_question *question, const struct gt_job_series *series,
                                          size_t subject, size_t bucket);

/* Names of jobs: "[cluster:]id[.step][+restart]". Steps and restarts are parts of one job. */

/* Returns the length of "alps:42" in "alps:42.0+1". */
size_t gt_job_name_base(const char *job);
/* Are both of one job? */
bool gt_job_name_is_same(const char *one, const char *other);
/* Is `job`, or the job that it is a step of, called `name`, with the cluster or without? */
bool gt_job_name_is_meant(const char *job, const char *name);

/* Of bytes. NaN: not known. */
struct gt_job_bounds {
    double least, most;
};

/* One recording: a rank, or the tracker of several ranks below it. */
struct gt_job_rank {
    char *path; /* what its tracker wrote */
    struct gt_machine machine;
    size_t node;   /* index into gt_job.node */
    size_t launch; /* index into gt_job.launch */
    bool complete;
    int exit_status;
    enum gt_ending ending;
    double begin, end;               /* seconds since the epoch */
    double clock_shift;              /* seconds that were added to its times, because its clock is known to be wrong */
    double samples, missed;          /* taken; ticks of the schedule that were missed */
    double dropped;                  /* samples that were taken and not recorded */
    double own[GT_METRIC_COUNT];     /* final values of the rank's tree */
    double system[GT_METRIC_COUNT];  /* final values of its machine, as this tracker saw it */
    struct gt_job_bounds ram;        /* the peak */
    double gpu_ram, gpu_use;         /* the most bytes, and GPUs busy in the mean, of its own processes */
    double cores_p95;                /* busy in 95 of 100 stretches of its time, at most */
    double killed_at;                /* bytes at which the kernel killed one of its processes; NaN: it did not */
    double error[GT_ENERGY_DEVICES]; /* joules by which its share may be off */
    struct gt_local_rank *below;     /* the ranks below its tracker, by number */
    size_t below_count;
    size_t first_member, whole; /* indices into gt_job.member: of its ranks, and of what is of none of them */
};

/* A rank as its launcher numbered it: that of a recording, or one of those below its tracker. */
struct gt_job_member {
    size_t rank;                       /* index into gt_job.rank */
    const struct gt_local_rank *below; /* NULL: it is the recording's own */
};

/* Joules of one kind of device on a machine: drawn = job + others + idle + unattributed. NaN: not measured. */
struct gt_job_energy {
    double drawn;
    double job, job_least; /* the same, unless idle energy was charged to each of several ranks */
    double others, idle, unattributed;
    double error;     /* of the shares */
    bool is_exceeded; /* the shares of the ranks are more than was drawn: the others are NaN */
};

struct gt_job_node {
    const char *name, *id;
    size_t first, count; /* its ranks */
    struct gt_job_bounds ram, gpu_ram;
    size_t gpus; /* known to its trackers, by UUID */
    struct gt_job_energy energy[GT_ENERGY_DEVICES];
    bool is_idle_repeated; /* idle energy was charged to each of several ranks */
    bool is_covered;       /* one of its trackers ran as long as all others; else energy is that of the time of one */
};

/* A file that is no part of the sums. */
struct gt_job_left_out {
    char *path, *why;
};

struct gt_job {
    const struct gt_job_source *source;
    struct gt_job_rank *rank; /* by node, then by number, then by step */
    size_t count, capacity;
    /* Its steps, and each attempt of one, in the order of their numbers: "42.0", "42.0+1", "42.1"; "" where a recording tells none. */
    const char **launch;
    size_t launches;
    size_t *step_of, steps; /* of each launch, from 0: attempts are of one step */
    /* In the order of `rank`. Behind the ranks one for each recording with several: what is of none of them. */
    struct gt_job_member *member;
    size_t members, all_members;
    const char *launcher; /* who numbered the ranks below trackers; NULL: there are none */
    struct gt_job_node *node;
    size_t nodes;
    struct gt_job_left_out *left_out;
    size_t left_out_count;
    double begin, end;
    struct gt_job_bounds ram, gpu_ram;
    size_t gpus;
    double gpus_used; /* that did something in a twentieth of the time or more; NaN: recordings do not tell of each */
    double group_ram; /* the most that its control groups were charged with, each at its own peak */
    double received, sent;
};

/* -ENODATA: there is no recording yet. -EINVAL: there are those of several jobs. The source outlives the job. */
int gt_job_read(struct gt_job *ret, const struct gt_job_source *source, struct gt_error *error);
/* The same without totals: its ranks and nodes alone, with the figures that trackers wrote at the end. */
int gt_job_read_ranks(struct gt_job *ret, const struct gt_job_source *source, struct gt_error *error);
/* The same, also of several jobs: runs of any kind. */
int gt_job_read_runs(struct gt_job *ret, const struct gt_job_source *source, struct gt_error *error);
void gt_job_release(struct gt_job *job);

/* For sources. What is given is copied. */
int gt_job_add_rank(struct gt_job *job, const char *path, const struct gt_machine *machine,
                    const struct gt_outcome *outcome);
int gt_job_leave_out(struct gt_job *job, const char *path, const char *why);

/* The steps of gt_job_read, behind each other. */
int gt_job_sort(struct gt_job *job, struct gt_error *error);
int gt_job_read_memory(struct gt_job *job, struct gt_error *error);
int gt_job_count_gpus(struct gt_job *job, struct gt_error *error);
int gt_job_count_once(struct gt_job *job, struct gt_error *error);

/* Returns the sum of two values; NaN is missing and adds nothing. */
static inline double gt_job_add(double sum, double value)
{
    return isnan(value) ? sum : isnan(sum) ? value : sum + value;
}
/* The final value of a rank's own metric over all ranks that have it, added up; NaN: none has. Of those that metric.def calls BOUND it is
 * the upper bound. */
double gt_job_sum(const struct gt_job *job, enum gt_metric_id metric);
/* The number of a rank as launchers count; -1: not told. */
int gt_job_member_number(const struct gt_job *job, size_t member);
size_t gt_job_member_node(const struct gt_job *job, size_t member);
const char *gt_job_member_node_name(const struct gt_job *job, size_t member);

/* Appends which steps and attempts of the job there are, "42.0, 42.1"; returns how many. */
size_t gt_job_names(struct gt_buffer *out, const struct gt_job *job);
/* Appends the numbers of the ranks that the job has and of which there is no recording, "3, 5-7", of several steps "42.0: 3; 42.1: 5".
 * Returns how many. */
size_t gt_job_missing(struct gt_buffer *out, const struct gt_job *job);
/* Samples that were not recorded, and from how many ranks. */
size_t gt_job_dropped(double *ret, const struct gt_job *job);
#define GT_JOB_ALL_NODES ((size_t)-1)
/* Returns how many ranks have a recording, on one node or all. Attempts of a step have the same ranks. */
size_t gt_job_ranks(const struct gt_job *job, size_t node);
/* More may come: a recording is not finished, and no later attempt has taken its place; or ranks are missing, and the last that was heard
 * of the others is less than two minutes before `now`, seconds since the epoch. */
bool gt_job_goes_on(const struct gt_job *job, double now);
/* Nothing was heard of it for two minutes and more, while others of its step and attempt went on: its tracker was killed, or cut off. */
bool gt_job_is_silent(const struct gt_job *job, const struct gt_job_rank *rank);
/* The size of the job as its launcher told it, of all steps; 0: it did not. */
int gt_job_world(const struct gt_job *job);
size_t gt_job_member_launch(const struct gt_job *job, size_t member);
/* Appends which step a rank is of, " of 42.1", without the name of the cluster; nothing where the job has one. */
void gt_job_put_launch(struct gt_buffer *out, const struct gt_job *job, size_t launch);
/* Energy of all machines of one kind of device. */
void gt_job_energy(struct gt_job_energy *ret, const struct gt_job *job, int device);
/* Appends why the energy of a node does not add up; nothing where it does. */
void gt_job_energy_reason(struct gt_buffer *out, const struct gt_job_node *node);

/* ---- Calls of code blocks, summed up by name and rank, and compared by number over all ranks ---- */

/* All calls of a rank. */
struct gt_calls_of_rank {
    struct gt_strings names;
    struct gt_interval *interval;
    size_t interval_count, interval_capacity;
};

/* In the order of names (of bytes), then of members. */
struct gt_job_call_list {
    struct gt_job_calls *calls;
    size_t calls_count, calls_capacity;
    struct gt_strings names;
    uint32_t *name; /* of each before they are sorted */
    size_t name_capacity;
};
/* Release it in any case. */
int gt_job_calls_read(struct gt_job_call_list *ret, const struct gt_job *job, struct gt_error *error);
void gt_job_calls_release(struct gt_job_call_list *list);

/* In the order of names, then of steps of the job, then of numbers. */
int gt_job_calls_by_number(const struct gt_job *job, int (*take)(void *context, const struct gt_job_step *step),
                           void *context, struct gt_error *error);

#endif
