/* Reading one process from /proc, at the cost of the reads.
 *
 * Every reading: CPU clock (clock_gettime of the process's own clock, ns; Linux keeps it for dead threads too), RSS
 * (statm), threads (links of /proc/PID/task). Once a second: stat (faults, what waited-for children used), status
 * (high-water mark, swap, context switches), io. Descriptors are kept: a kept descriptor never shows another process
 * when the number is used again. */
#ifndef GT_COLLECT_PROCESS_H
#define GT_COLLECT_PROCESS_H

#include "collect/collector.h"

/* Open `pid`; `process` is filled with identity, NaN values and kept descriptors.
 * -ESRCH: it is gone; -EACCES and the like: /proc does not show it. */
int gt_process_open(struct gt_process **ret, const struct gt_root *root, pid_t pid);
void gt_process_close(struct gt_process *process);

/* The reading of every sample. 0, or -ESRCH with is_gone set. */
int gt_process_read(struct gt_process *process, const struct gt_root *root);
/* The process has used no CPU time, to the nanosecond, since before the last slow reading, and kept its resident set: so it
 * has caused no faults, bytes or switches either, and what that reading said still holds. Its parent is the exception: it
 * changes when that one ends. False where CPU time comes in clock ticks. */
bool gt_process_was_idle(const struct gt_process *process);
/* The reading of once a second. */
int gt_process_read_slowly(struct gt_process *process, const struct gt_root *root);
/* Only stat: parent, faults, what waited-for children used. */
int gt_process_read_stat(struct gt_process *process, const struct gt_root *root);
/* It has used no CPU time, to the nanosecond, since before stat was last read: it lives or is a zombie as it was then, with the same
 * threads, program and faults. False where CPU time comes in clock ticks. */
bool gt_process_has_rested(const struct gt_process *process);
/* All files but stat, of one that was just opened. */
int gt_process_read_first(struct gt_process *process, const struct gt_root *root);
/* Its CPU clock before stat was last read, seconds; NaN: it has none. The clock of process `pid` now. */
double gt_process_clock_at_stat(const struct gt_process *process);
double gt_process_clock(pid_t pid);

/* For a forked process that was just read: what it began with. Reads `parent`, the member of the job that forked it. */
void gt_process_inherit(struct gt_process *process, struct gt_process *parent, const struct gt_root *root);
/* For a forked process, at each look: whether it has become a worker, or another program. `parent` may be NULL. */
void gt_process_look_at_fork(struct gt_process *process, const struct gt_process *parent, const struct gt_root *root,
                             int64_t now_ns);

/* It samples for another tracker, see base/own_name.h. */
bool gt_process_is_sampler(struct gt_process *process);
/* Its figures may turn out to be another's: it was just forked, or it has just become a program that may be a sampler. */
bool gt_process_is_pending(const struct gt_process *process);
/* A file of /proc/PID, cut off at size - 1, with a NUL behind it; its length or negative errno. Never another process's. */
ssize_t gt_process_read_text(const struct gt_process *process, const char *name, char *text, size_t size);

/* Append the children of the process to `pids`; of its main thread, or of every thread. Returns how many there are in all now,
 * or -ENOENT when this kernel has no children files. */
int gt_process_children(struct gt_process *process, const struct gt_root *root, bool every_thread, pid_t *pids,
                        size_t count, size_t capacity);

/* The same from /proc/PID/stat alone, for searches through all processes. */
struct gt_process_stat {
    pid_t pid, parent, session;
    char state;
    bool is_kernel; /* a thread of the kernel's own */
    bool is_forked; /* it has not executed a program since it was forked */
    char name[16];
    uint64_t start;
    double minor_faults, major_faults, reaped_minor_faults, reaped_major_faults;
    double cpu_time, reaped_cpu_time; /* seconds, in steps of a clock tick */
    double threads;
};
int gt_process_parse_stat(const char *text, struct gt_process_stat *ret); /* -EINVAL */
/* 0; -ESRCH and the like: it cannot be read. */
int gt_process_stat_of(const struct gt_root *root, pid_t pid, struct gt_process_stat *ret);

#endif
