/* A stored machine in a temporary folder, whose processes a test makes, changes and ends. */
#ifndef TEST_SUPPORT_FAKE_PROC_H
#define TEST_SUPPORT_FAKE_PROC_H

#include <sys/types.h>

#include "base/os/root.h"

struct fake_process {
    pid_t pid, parent, session;
    const char *name;         /* NULL: "job" */
    char state;               /* 0: 'S' */
    unsigned long long start; /* ticks */
    unsigned long cpu_ticks, reaped_cpu_ticks, minor_faults, reaped_minor_faults;
    unsigned long resident_pages, peak_kib, swap_kib, threads;
    unsigned long long read_bytes, written_bytes;
    int denied;          /* no io file */
    int forked;          /* it has not executed a program since it was forked */
    int cpu;             /* where its only thread last ran */
    const char *allowed; /* "0-3": where it may run; NULL: it has no folder of threads */
};

/* `folder` receives the path (64 bytes). Its /proc has no children files, so trees are found by search. */
void fake_proc_create(char folder[64], struct gt_root *root);
/* Make the process, or change it: files are written in place, so that kept descriptors see it. */
void fake_proc_write(const char *folder, const struct fake_process *process);
/* Only what changes while it runs: CPU time, the resident memory of stat, and where its thread ran. */
void fake_proc_run(const char *folder, const struct fake_process *process);
void fake_proc_remove(const char *folder, pid_t pid);
void fake_proc_destroy(const char *folder, struct gt_root *root);

#endif
