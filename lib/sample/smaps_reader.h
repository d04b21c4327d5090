/* A thread that reads smaps_rollup of processes, which takes milliseconds for each gigabyte that they map.
 *
 * While a reading is under way, the thread owns all fields; the caller waits for its end. */
#ifndef GT_SAMPLE_SMAPS_READER_H
#define GT_SAMPLE_SMAPS_READER_H

#include <pthread.h>

#include "base/root.h"
#include "collect/process/memory.h"

/* One process. The caller fills in the first four fields. */
struct gt_smaps_reading {
    uint64_t id;
    pid_t pid;
    uint64_t start;
    double files; /* bytes, at the last look */
    int status;   /* 0 or negative errno */
    struct gt_smaps smaps;
};

struct gt_smaps_reader {
    struct gt_smaps_reading *reading;
    size_t count, capacity;
    double shmem;    /* of the machine, after the last process: bytes; NaN: unknown */
    int64_t used_ns; /* CPU time of the last reading */
    const struct gt_root *root;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake, finished;
    bool has_thread, is_asked, is_stopping;
};

void gt_smaps_reader_open(struct gt_smaps_reader *reader, const struct gt_root *root);
void gt_smaps_reader_close(struct gt_smaps_reader *reader);
/* Start a reading of `reading`, which it sorts. 0; or negative errno: there is no thread. */
int gt_smaps_reader_start(struct gt_smaps_reader *reader);
/* Wait for its end for up to `patience_ns` of real time, whatever clock the caller has. Returns true if it has ended. */
bool gt_smaps_reader_await(struct gt_smaps_reader *reader, int64_t patience_ns);
/* Returns the shared memory of the machine (Shmem of /proc/meminfo) in bytes; NaN: unknown. */
double gt_smaps_machine_shmem(const struct gt_root *root);

#endif
