/* An event is what the kernel tells of one task. */
#ifndef GT_COLLECT_PROCESS_EVENT_H
#define GT_COLLECT_PROCESS_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum gt_event_source { GT_EVENTS_FORKS, GT_EVENTS_RECORDS, GT_EVENTS_SOURCES };
enum gt_event_kind { GT_EVENT_FORK, GT_EVENT_EXECUTE, GT_EVENT_EXIT, GT_EVENT_RECORD, GT_EVENT_LOST };

/* A task had used this much when it ended. The scheduler counts CPU time when it interrupts a task, so `cpu_ns` lacks what the task ran
 * since, at most a tick; `ran_ns` has that, too, of a task that never slept: it ran whenever it did not wait for a processor. What the
 * kernel then needs to take the task down is in neither. The counters of bytes are cut down to whole KiB by the kernel. */
struct gt_exit_record {
    uint64_t cpu_ns, ran_ns;
    uint64_t minor_faults, major_faults;
    uint64_t voluntary_switches, involuntary_switches;
    uint64_t read_bytes, written_bytes;           /* storage */
    uint64_t read_characters, written_characters; /* system calls */
    uint64_t peak_rss;                            /* bytes: VmHWM of the address space, shared by all its threads */
};

struct gt_event {
    enum gt_event_kind kind;
    enum gt_event_source source;  /* which source lost something, for LOST */
    pid_t pid;                    /* the task; differs from tgid for threads beside the first */
    pid_t tgid;                   /* its process */
    pid_t parent;                 /* the parent process: FORK (for threads, of their process) and RECORD */
    int64_t monotonic_ns;         /* FORK, EXECUTE and EXIT: when */
    int wait_status;              /* EXIT: as wait(2) gives it */
    bool is_forked;               /* RECORD of a first thread: it never executed a program */
    bool is_ours;                 /* RECORD: it executed a program of the name of ours */
    bool is_sampler;              /* RECORD: it had the name of a sampler */
    char name[32];                /* RECORD: the last that the task had, as ps shows it */
    struct gt_exit_record record; /* RECORD */
};

#endif
