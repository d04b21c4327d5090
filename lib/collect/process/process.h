/* One process is read from /proc, at the cost of the reads.
 *
 * Every reading: CPU clock (clock_gettime of the process's own clock, ns; Linux keeps it for dead threads too), RSS
 * (statm), threads (links of /proc/PID/task). Once a second: stat (faults, what waited-for children used), status
 * (high-water mark, swap, context switches), io. Descriptors are kept: a kept descriptor never shows another process
 * when the number is used again. */
#ifndef GT_COLLECT_PROCESS_PROCESS_H
#define GT_COLLECT_PROCESS_PROCESS_H

#include <stdbool.h>

#include "base/os/root.h"
#include "collect/collector.h"

/* Open `pid`. *ret gets its identity, NaN values and kept descriptors. Returns -ESRCH where it is gone, -EACCES and the like where /proc
 * does not show it. */
int gt_process_open(struct gt_process **ret, const struct gt_root *root, pid_t pid);
void gt_process_close(struct gt_process *process);
/* After -ESRCH: -ESRCH with a sentence, or -EACCES where the process is there and /proc hides it. */
int gt_process_missing(const struct gt_root *root, pid_t pid, struct gt_error *error);

/* Read what every sample reads. Returns 0, or -ESRCH with is_gone set. */
int gt_process_read(struct gt_process *process, const struct gt_root *root);
/* Returns true where the process has used no CPU time, to the nanosecond, since before the last slow reading, and kept its resident set.
 * It has caused no faults, bytes or switches then, and what that reading said still holds, but for its parent, which changes when
 * that one ends. Returns false where CPU time comes in clock ticks. */
bool gt_process_was_idle(const struct gt_process *process);
/* Read what is read once a second. */
int gt_process_read_slowly(struct gt_process *process);
/* Returns true where it has used no CPU time, to the nanosecond, since before stat was last read. It lives or is a zombie as it was then,
 * with the same threads, program and faults. Returns false where CPU time comes in clock ticks. */
bool gt_process_has_rested(const struct gt_process *process);
/* Returns true if it has not run since gt_process_read. */
bool gt_process_is_at_rest(const struct gt_process *process);
/* Read all files but stat, of a process that was just opened. */
int gt_process_read_first(struct gt_process *process);
/* Read stat alone, for page faults, unless the process has rested. Without a CPU clock the next gt_process_read uses this reading, too.
 * Returns a negative number where it has gone. */
int gt_process_read_faults(struct gt_process *process);
/* Find out at each look whether a forked process has become a worker, or another program. `parent` may be NULL. */
void gt_process_look_at_fork(struct gt_process *process, const struct gt_process *parent, const struct gt_root *root,
                             int64_t now_ns);

/* Returns true for one that samples for another tracker, see base/system.h. */
bool gt_process_is_sampler(struct gt_process *process);
/* Read a file of /proc/PID, cut off at size - 1, with a NUL behind it, and never that of another process. Returns its length or negative
 * errno. */
ssize_t gt_process_read_text(const struct gt_process *process, const char *name, char *text, size_t size);

/* Append the children of the process to `pids`; of its main thread, or of every thread. Returns how many there are in all now,
 * or -ENOENT when this kernel has no children files. */
int gt_process_children(struct gt_process *process, bool every_thread, pid_t *pids, size_t count, size_t capacity);
/* False when its CPU clock, as last read, stands where it stood before the children of all its threads were last asked for. */
bool gt_process_may_have_forked(const struct gt_process *process);

/* The same from /proc/PID/stat alone, for searches through all processes. */
struct gt_process_stat {
    pid_t pid, parent, session;
    char state;
    bool is_kernel; /* a thread of the kernel's own */
    bool is_exiting;
    bool is_forked; /* it has not executed a program since it was forked */
    char name[16];
    uint64_t start;
    double minor_faults, major_faults, reaped_minor_faults, reaped_major_faults;
    double cpu_time, reaped_cpu_time; /* seconds, in steps of a clock tick */
    double threads;
};
int gt_process_parse_stat(const char *text, struct gt_process_stat *ret); /* -EINVAL */
/* All its threads have ended; or the first one has, which stays as a zombie while others live. */
bool gt_process_stat_is_zombie(const struct gt_process_stat *stat);
bool gt_process_stat_leader_exited(const struct gt_process_stat *stat);
/* 0; -ESRCH and the like: it cannot be read. */
int gt_process_stat_of(const struct gt_root *root, pid_t pid, struct gt_process_stat *ret);

/* Returns the number after `key` in the text of a file like /proc/PID/status, or NaN without that line. */
double gt_process_number(const char *text, const char *key);

/* Report whether this kernel has pidfd, and what is later without. */
void gt_pidfd_survey(struct gt_availability *ret);
/* Returns a descriptor that becomes readable at the end of the process, or -1: the kernel has none (before Linux 5.3), forbids it, or
 * the process is gone. */
int gt_pidfd_open(pid_t pid);

/* In another PID namespace than that of /proc, system calls take other numbers of processes than /proc shows. */

struct gt_pid_namespace_fault {
    int code; /* ENOTSUP, or ENOENT without a /proc */
    const char *reason, *remedy;
};

/* Returns true in the first PID namespace, whose numbers all processes of the machine have. */
bool gt_pid_namespace_is_initial(const struct gt_root *root);
/* Returns NULL on a stored machine, and where /proc is of this process's own PID namespace, and its children's. */
const struct gt_pid_namespace_fault *gt_pid_namespace_fault(const struct gt_root *root);
/* Returns 0, or the negative code with the reason and the remedy as an error. */
int gt_pid_namespace_check(const struct gt_root *root, struct gt_error *error);

#endif
