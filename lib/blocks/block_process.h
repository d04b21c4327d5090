/* What marking keeps in each process, for the files that mark: block.c and block_file.c. */
#ifndef GT_BLOCKS_BLOCK_PROCESS_H
#define GT_BLOCKS_BLOCK_PROCESS_H

#include <stdatomic.h>

#include "blocks/block_writer.h"

struct gt_block_thread;

/* It is all zero in a new process, also in one made by fork: see block.h. */
struct gt_block_process {
    atomic_uint_fast64_t identity; /* 0: not begun; else the moment of its beginning */
    atomic_bool closed;
    bool without_cpu; /* its clock is not read */
    pid_t pid;
    pthread_mutex_t mutex; /* files, threads, trouble */
    struct gt_block_file *files;
    _Atomic(struct gt_block_file *) standard;
    atomic_bool tried_standard;
    struct gt_block_thread *threads;
    struct gt_error trouble;
    atomic_uint_fast64_t lost; /* calls in the process's own file of which a row is missing */
};

/* The newest of all files that this process or one that it was forked from has opened. Survives fork. */
extern _Atomic(struct gt_block_file *) gt_block_known;

/* This process, begun; NULL without memory. */
struct gt_block_process *gt_block_process_begin(void);

int gt_block_absolute_path(char *ret, const char *path, struct gt_error *error);
/* A new file with what it begins with, signed where somebody is to know it. -EEXIST without `replace`; -ENOTEMPTY: files of others lie
 * beside it, see `error`. */
int gt_block_make(const char *path, const struct gt_block_writer *writer, bool replace, bool may_clear,
                  void (*sign)(int fd), struct gt_error *error);

/* Callers of these hold the mutex. */

/* The file exists. `origin`: the path asked for, "" for the process's own. */
int gt_block_add_file(struct gt_block_file **ret, const struct gt_block_writer *writer, const char *origin,
                      const char *path, bool is_new, struct gt_error *error);
struct gt_block_file *gt_block_find_path(struct gt_block_file *files, const char *path);
/* The file that a parent has opened. */
int gt_block_join(struct gt_block_file **ret, const struct gt_block_file *parents, struct gt_error *error);

#endif
