/* Whoever keeps the rows of a job's trackers answers four questions: which ranks there are with their final figures, a few metrics by
 * stretches of time, the calls of blocks, and the calls of one number over all ranks. Every report of a job is made of these answers
 * alone, so that two sources with the same rows give the same report.
 *
 * Answers are handed on piece by piece and are borrowed until `take` returns; a negative result of it ends the answer. */
#ifndef GT_ANALYSE_JOB_JOB_SOURCE_H
#define GT_ANALYSE_JOB_JOB_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "schema/metric.h"

struct gt_job;
struct gt_job_rank;

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
    /* In the order of names (of bytes), then of ranks. */
    int (*calls)(void *state, const struct gt_job *job, int (*take)(void *context, const struct gt_job_calls *calls),
                 void *context, struct gt_error *error);
    /* In the order of names, then of steps of the job, then of numbers. */
    int (*steps)(void *state, const struct gt_job *job, int (*take)(void *context, const struct gt_job_step *step),
                 void *context, struct gt_error *error);
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

#endif
