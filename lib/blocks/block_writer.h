/* The rows of sub-tracking files, and what writes them: block_csv.c and block_sqlite.c. */
#ifndef GT_BLOCKS_BLOCK_WRITER_H
#define GT_BLOCKS_BLOCK_WRITER_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "gpu_tracker.h"

/* The columns of sub-tracking files: the first four are gpu_tracker's. */
enum gt_block_event_column {
    GT_BLOCK_EVENT_PROCESS,
    GT_BLOCK_EVENT_NAME,
    GT_BLOCK_EVENT_POSITION,
    GT_BLOCK_EVENT_TIMESTAMP,
    GT_BLOCK_EVENT_THREAD,
    GT_BLOCK_EVENT_CALL,
    GT_BLOCK_EVENT_TOTAL,
    GT_BLOCK_EVENT_MONOTONIC,
    GT_BLOCK_EVENT_CPU_TIME,
    GT_BLOCK_EVENT_COLUMNS
};
enum { GT_BLOCK_EVENT_REQUIRED = GT_BLOCK_EVENT_THREAD }; /* columns from here on may be absent */
extern const char *const gt_block_event_columns[GT_BLOCK_EVENT_COLUMNS];
extern const char *const gt_block_event_types[GT_BLOCK_EVENT_COLUMNS]; /* in SQL */

enum gt_position { GT_START = 0, GT_STOP = 1 };

/* One row to write. */
struct gt_block_event_row {
    const char *name;
    pid_t process, thread;
    enum gt_position position;
    uint64_t call, total; /* total: how many calls there will be, of a START row; 0: not told */
    int64_t real_ns, monotonic_ns;
    int64_t cpu_ns; /* negative: not read */
};

/* A sub-tracking file that this process writes. */
struct gt_block_file {
    struct gt_block_file *next;  /* of the same process */
    struct gt_block_file *older; /* of all that are known, those of the processes it was forked from included */
    uint64_t identity;           /* of the process */
    char origin[PATH_MAX];       /* the path asked for, absolute; "" for the process's own file */
    char path[PATH_MAX];         /* the file written */
    bool is_shared, is_new;      /* with other processes; made by this one */
    dev_t device;
    ino_t inode;
    const struct gt_block_writer *writer;
    void *state;                                /* the writer's */
    int failed;                                 /* 0, or the negative errno that ended the writing */
    _Atomic(struct gt_block_file *) child_file; /* in a forked child: the child's file in its stead */
};

struct gt_block_writer {
    const char *suffix;
    /* Write what a new file begins with; it has no other name yet than `path`. */
    int (*make)(int fd, const char *path, struct gt_error *error);
    /* Before a new file of this name appears: take away what an old one has left beside, if that may be. May be NULL. */
    int (*clear)(const char *path, bool may_remove, struct gt_error *error);
    /* The file exists; device and inode are set. */
    int (*open)(struct gt_block_file *file, struct gt_error *error);
    /* By any thread. A START row gets its call number here. -ENOENT: the file was removed. */
    int (*write)(struct gt_block_file *file, struct gt_block_event_row *row);
    /* No thread writes any more. */
    void (*close)(struct gt_block_file *file);
    /* In a forked child: let go of what the parent had open. Negative: this process may not open that file. */
    int (*disown)(struct gt_block_file *file);
};
extern const struct gt_block_writer gt_block_csv;
extern const struct gt_block_writer gt_block_sqlite;
/* Returns the writer for the suffix of a path, or NULL. */
const struct gt_block_writer *gt_block_writer_of(const char *path);

#endif
