/* A rank is the place of this process in a parallel job, as the program that launched it wrote it into the environment. */
#ifndef GT_BASE_OS_RANK_H
#define GT_BASE_OS_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/os/root.h"

/* The rank as text, or NULL outside of parallel jobs. The nearest launcher wins: mpirun inside a batch script of Slurm counts its own
 * ranks, while Slurm's variables say 0 in each of them. */
const char *gt_rank(void);
/* Append the number of the job that GPU_TRACKER_JOB, a scheduler or the launcher gave, with the number in the array where elements share
 * the first. For ranks without one, append a word that is the same in all that one launcher started on this machine. Returns 1,
 * GT_RANK_JOB_OF_LAUNCH for such a word, 0 when there is none, or -ENOMEM. */
int gt_rank_job(struct gt_buffer *out);
enum { GT_RANK_JOB_OF_LAUNCH = 2 };
/* The number of the step of Slurm's, or NULL outside of one. */
const char *gt_rank_step(void);
/* The job is known to have more ranks than this one. */
bool gt_rank_has_others(void);

/* The environment of a process: its first 256 KiB, as /proc/PID/environ has them. */
struct gt_environment {
    pid_t pid;                  /* 0: unknown */
    const struct gt_root *root; /* where the process is; NULL: this machine */
    char *text; /* "NAME=VALUE" texts, each with its NUL; NULL: the environment of the calling process */
    size_t length;
};

/* Read the environment of its pid into `text`, which the caller frees; NULL: allocate it. Returns the length, which is 0 also for a
 * program that the kernel still loads, or negative errno. */
ssize_t gt_environment_read(struct gt_environment *environment);
/* Returns the value of a variable, NULL if it is not set. */
const char *gt_environment_find(const struct gt_environment *environment, const char *name);

/* What the environment of a process says of its place. */
struct gt_rank_place {
    const char *launcher;   /* "OpenMPI"; NULL outside of parallel jobs */
    long rank, local, size; /* -1: not told */
    size_t distance;        /* a launcher starts what has its own distance, or a smaller one */
};

void gt_rank_place(struct gt_rank_place *ret, const struct gt_environment *environment);
/* Writes the name of the job for all trackers of it, "[cluster:]id[.step][+restart]"; "" when nothing tells it, as
 * of ranks that may be on several machines. */
void gt_rank_job_name(char *ret, size_t size, const struct gt_environment *environment);

#endif
