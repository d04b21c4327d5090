/* For services: programs with privileges, and metrics for Prometheus. Part of gpu_tracker.h. */
#ifndef GPU_TRACKER_SERVICE_H
#define GPU_TRACKER_SERVICE_H

#ifndef GPU_TRACKER_H
#error "include gpu_tracker.h"
#endif

/* ---- Programs with privileges of their own -------------------------------------------------------------------------- */
/* Open the energy counters and, with `events`, the kernel's records about processes, then drop all privileges. A setuid program or one
 * with file capabilities calls this first, before it starts threads or reads input of its user. Trackers, exporters and doctors of the
 * process use the open files. Such a program opens no library by a path. 1: done; 0: the program has no such privileges. */
int gt_privileged_open(int events);

/* The socket of the energy relay (docs/energy.md). */
#define GT_ENERGY_RELAY_SOCKET "/run/gpu-tracker/energy.sock"

/* ---- For Prometheus ------------------------------------------------------------------------------------------ */
/* OpenMetrics 1.0, and the older text format 0.0.4. */
enum gt_exposition { GT_EXPOSITION_OPENMETRICS, GT_EXPOSITION_TEXT, GT_EXPOSITION_COUNT };

struct gt_exporter_options {
    size_t size;
    const pid_t *pids; /* export these processes, each with its descendants, as jobs */
    size_t pid_count;
    int all_processes; /* or: all processes of the machine, grouped by user, job and program */
    int slurm;         /* or: the jobs of Slurm. Without any of the three: only the machine and its GPUs */
    int most;          /* maximum number of groups or jobs with own values; the rest is summed as "other"; 0: 100 */
    double sleep_time; /* seconds between samples, from 0.001: earlier scrapes get the same text; 0: 1.0 */
    int aipowermeter;  /* add the five gauges of AIPowerMeter */
    const char *gpu_brand, *memory, *idle, *machine_root; /* as in struct gt_tracker_options */
    const char *const *libraries;
    void (*warn)(void *context, const char *sentence); /* may be NULL */
    void *context;
};

struct gt_exporter;
/* Open the collectors and track the jobs. -EINVAL names the wrong option; -ESRCH, -EPERM and -EACCES name a process, as in
 * gt_tracker_open. */
int gt_exporter_open(struct gt_exporter **ret, const struct gt_exporter_options *options, struct gt_error *error);
/* Get the current text, which is valid until the next call. Takes a sample if the last one is older than sleep_time. 1: the text of
 * this form has changed; 0: it is the same. */
int gt_exporter_text(struct gt_exporter *exporter, enum gt_exposition form, const char **ret, size_t *length,
                     struct gt_error *error);
/* Free everything, the text included. */
void gt_exporter_close(struct gt_exporter *exporter);

#endif
