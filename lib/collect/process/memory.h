/* The kernel's sums over the memory of one process, and the methods by which a job's memory is counted.
 *
 * /proc/PID/smaps_rollup (Linux 4.14) has the sums; before that /proc/PID/smaps is added up. The kernel goes through all pages of the
 * process for it: about 40 ns a page, during which the process waits when it maps or unmaps memory. */
#ifndef GT_COLLECT_PROCESS_MEMORY_H
#define GT_COLLECT_PROCESS_MEMORY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/os/root.h"
#include "collect/collector.h"

/* Bytes. Proportional set size (PSS): each page divided by the number of its mappings on the machine. */
struct gt_smaps {
    double rss, pss, private_bytes, private_clean, shared_bytes, swap;
    double anonymous;            /* all resident pages that are of no file and no shared memory */
    double private_anonymous;    /* the part of it that no other process maps */
    double file_bytes;           /* resident pages of files and shared memory */
    double pss_files, pss_shmem; /* the parts of `pss` that are of files and of shared memory; 0 before Linux 5.4 */
    double faults;               /* minor page faults of the process before the reading */
};

/* Returns -EACCES or -EPERM for another user's process; -ESRCH where it has ended, has no memory, or did not start at `start` (0: any);
 * -ENOENT where this kernel has neither file. */
int gt_smaps_read(const struct gt_root *root, pid_t pid, uint64_t start, struct gt_smaps *ret);

/* ---- A thread that reads them ------------------------------------------------------------------------------------ */

/* It takes milliseconds for each gigabyte that processes map. While a reading is under way, the thread owns all fields; the caller
 * waits for its end. */

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

/* ---- Methods, and files ------------------------------------------------------------------------------------------ */

/* How the memory of several processes is counted, the best first. */
enum gt_memory_method {
    GT_MEMORY_GROUP,  /* by the job's own control group */
    GT_MEMORY_FAULTS, /* by resident sets, page faults since each fork, and proportional set sizes */
    GT_MEMORY_RSS,    /* by the sum of resident sets, which counts shared memory once for each process */
};

/* Returns name `index` of the methods that can be asked for, of which "auto" is the first; NULL past the end. */
const char *gt_memory_method_name(size_t index);
/* Returns the best method that `name` allows (NULL: "auto"), or -EINVAL. */
int gt_memory_method_find(const char *name, struct gt_error *error);
/* Describe what a method reads, for reports: a label, and the files. */
const char *gt_memory_method_label(enum gt_memory_method method);
const char *gt_memory_method_source(enum gt_memory_method method);

/* Files of one process, opened so that a reused number cannot deceive, and read line by line. */

/* Open proc/PID/NAME; a descriptor or negative errno, -ESRCH when there is no such process. */
int gt_process_file_open(const struct gt_root *root, pid_t pid, const char *name);
struct gt_line_reader {
    int fd;
    char *buffer;
    size_t size, begin, end;
};

/* 1 and the next line without its end, 0 at the end of the file, or negative errno. Overlong lines come in pieces. */
int gt_line_reader_next(struct gt_line_reader *reader, char **ret);

/* The kernel's high-water mark tells the largest resident memory of the calling process within windows of time.
 *
 * The kernel has one mark for each process (VmHWM), and lets the process set it back to what is resident now by writing 5 to
 * /proc/self/clear_refs (proc(5)). It is read and set back when a window begins, and read when one ends, and every window that is
 * open then takes it in: so windows may lie inside each other, overlap, and belong to several threads, and each is exact.
 *
 * Setting it back has one side effect: ru_maxrss of getrusage(2) and wait4(2) begins anew as well. The mark belongs to the process,
 * so what is open is kept here, for the process; after a fork(2) the child has no windows. */

/* Read the resident memory of the calling process now and its mark, in bytes; NaN where the kernel tells none. Returns 0 or negative
 * errno. */
int gt_own_memory(double *ret_resident, double *ret_hwm);
/* Begin a window. Returns its number, above 0, or negative errno where the mark cannot be read or set back. */
int gt_own_peak_begin(void);
/* Returns the mark of the calling process now in bytes, or infinity where it cannot be read. */
double gt_own_hwm(void);
/* End a window. Returns bytes, or NaN where there is no such window or the mark cannot be read. */
double gt_own_peak_end(int window);

#endif
