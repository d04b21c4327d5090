/* What the processes of a random job write down, in a file that all of them map and a program outside reads (random_jobs.py has
 * the same layout). Each process has a record: what the kernel told it of itself when it was about to end. */
#ifndef TEST_TRUTH_RANDOM_JOB_H
#define TEST_TRUTH_RANDOM_JOB_H

#include <stdatomic.h>

#include "truth.h"

#define RECORDS 8192

struct record {
    int pid, parent; /* parent: the record's number, -1 for the main process */
    int is_ended;    /* all that follows is there: 1; 2 also when somebody waited for it */
    int how;         /* enum way */
    int threads;     /* that it started beside its first one */
    int programs;    /* that it executed */
    double cpu;      /* seconds, by its own clock */
    long minor_faults, major_faults, voluntary, involuntary;
    long peak; /* bytes: the largest resident set of its last program */
    long read_characters, written_characters, read_bytes, written_bytes;
};

struct ledger {
    atomic_int go;     /* set from outside: begin */
    atomic_int taken;  /* records */
    atomic_int living; /* processes: counted before they are made and until they are about to end */
    atomic_int most;   /* of them at one time */
    atomic_int threads, most_threads;
    atomic_int started; /* processes in all, the main one too */
    int early, tell;    /* these and the next: what the main process was told */
    atomic_long memory; /* bytes that all have allocated at the moment: so that a job stays below its limit */
    double began;       /* CLOCK_MONOTONIC */
    double ended;       /* of the main process */
    double cpu_at_end;  /* of the control group when the main process was about to end, or 0 */
    double limit;
    unsigned long only;
    char usage[256];
    struct record record[RECORDS];
};

enum way {
    MAIN,
    FORK,
    VFORK,
    SPAWN,
    CLONE,
    CLONE_SAME_MEMORY,
    CLONE_SIBLING,
    CLONE_SILENT,
    DOUBLE_FORK,
    DAEMON,
    BURST,
    NAMESPACE
};

#endif
