/* What marking keeps for one process; between block.c and block_file.c. */
#ifndef GT_SAMPLE_BLOCK_PROCESS_H
#define GT_SAMPLE_BLOCK_PROCESS_H

#include <stdatomic.h>

#include "blocks/block.h"

struct gt_block_thread;

/* It is all zero in a new process, also in one made by fork: see block.h. */
struct gt_block_process {
    atomic_uint_fast64_t identity; /* 0: not begun; else the moment of its beginning */
    atomic_bool closed;
    pid_t pid;
    pthread_mutex_t mutex; /* files, threads, trouble */
    struct gt_block_file *files;
    _Atomic(struct gt_block_file *) standard;
    atomic_bool tried_standard;
    struct gt_block_thread *threads;
    struct gt_error trouble;
};

/* The calling process, begun; NULL without memory. */
struct gt_block_process *gt_block_process_begin(void);

/* The file of <pid>.csv, made at its first use; NULL when there is no place for it. */
struct gt_block_file *gt_block_file_standard(struct gt_block_process *process);
/* A file that a process opened from which this one was forked: what this one writes in its stead, or NULL. */
struct gt_block_file *gt_block_file_heir(struct gt_block_process *process, struct gt_block_file *file);
/* A process has begun: let go of the files of those it was forked from. */
void gt_block_file_disown_all(void);

#endif
