/* Marking code blocks in a running program: the rows that gt_block_begin and gt_block_end leave behind, and the files
 * they go to. Nothing here knows how the rows are analysed.
 *
 * A file that was asked for by its name is shared by all processes of the run (see block_file.c); any other belongs to one
 * process. All that may not be shared after fork lies in one page that the kernel clears in the child (MADV_WIPEONFORK),
 * so that the child starts with no files and opens its own, or the shared ones anew.
 *
 * Durability: a row is in the page cache when the call returns, so it outlives kill -9 of the process (not a power cut). */
#ifndef GT_BLOCKS_BLOCK_H
#define GT_BLOCKS_BLOCK_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"
#include "gpu_tracker.h"

/* Bytes of a name in a file. A longer one is cut off, not in the middle of a character, and ends in "~" and a number of eight digits
 * made of the whole, so that different names stay different. */
enum { GT_BLOCK_NAME_MAX = 1000 };
/* Returns the name as it is written: `name`, or what is in `cut`, which has GT_BLOCK_NAME_MAX + 1 bytes. */
const char *gt_block_name(const char *name, char *cut);

/* Mark in a file of your choice, .csv or .sqlite. It stays open until the process ends; asking again gives the same. All
 * processes of a run of the program write to it: those forked from one that has opened it, whoever opens it after a fork, and
 * those below gt_block_parent. -EEXIST when an earlier run left it and `overwrite` is 0; a file of this run is never replaced. */
int gt_block_file_open(struct gt_block_file **ret, const char *path, int overwrite, struct gt_error *error);
struct gt_block gt_block_begin_in(struct gt_block_file *file, const char *name, uint64_t total);
/* Declare, before a file is opened, that `pid` started this process as a part of its own program, but not by fork. */
void gt_block_parent(pid_t pid);
/* Keep a call of the calling thread that is over: moments of the monotonic clock. It has no CPU time. */
void gt_block_add_past(const char *name, int64_t begin_ns, int64_t end_ns);
/* The path at which the blocks of a file (NULL: the process's own, which is made) are written; NULL when there is no place. */
const char *gt_block_file_path(const struct gt_block_file *file);
/* 0, or why blocks are not being recorded in a file (NULL: the process's own); -ENOENT when it was removed or renamed. */
int gt_block_file_status(const struct gt_block_file *file, struct gt_error *error);

/* ---- The rows of sub-tracking files, and what writes them: block_csv.c and block_sqlite.c ---- */

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
/* Append the first line of a CSV file. */
void gt_block_csv_header(struct gt_buffer *line);
/* Appends SQL that creates the table of rows; with `has_view` also a view of the columns that the original's sub-tracking files have,
 * under the name of their table, because the original copies all columns that it finds there. */
void gt_block_sqlite_tables(struct gt_buffer *sql, bool has_view);
/* Returns the writer for the suffix of a path, or NULL. */
const struct gt_block_writer *gt_block_writer_of(const char *path);

/* ---- What marking keeps in each process, for the files that mark: block.c and block_file.c ---- */

struct gt_block_thread;

/* It is all zero in a new process, also in one made by fork. */
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
