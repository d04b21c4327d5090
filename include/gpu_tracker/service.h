/* For services: privileges of their own, and what Prometheus reads. Part of gpu_tracker.h. */
#ifndef GPU_TRACKER_SERVICE_H
#define GPU_TRACKER_SERVICE_H

#ifndef GPU_TRACKER_H
#error "include gpu_tracker.h"
#endif

/* ---- Programs with privileges of their own -------------------------------------------------------------------------- */
/* A program that is setuid or has file capabilities calls this first, before there are threads and before it reads anything of its
 * user's, and then gives up all privileges: it opens the energy counters and, with `events`, the kernel's records about processes.
 * Trackers, exporters and doctors of this process use them from then on. In such a program no library is opened by a path. 1: the program
 * is one; 0: it is not, and nothing was done. */
int gt_privileged_open(int events);

/* The path at which trackers look for a relay for energy counters (docs/energy-relay.md). */
#define GT_ENERGY_RELAY_SOCKET "/run/gpu-tracker/energy.sock"

/* ---- For Prometheus ------------------------------------------------------------------------------------------ */
/* The forms of the text: OpenMetrics 1.0, and the older text format 0.0.4. */
enum gt_exposition { GT_EXPOSITION_OPENMETRICS, GT_EXPOSITION_TEXT, GT_EXPOSITION_COUNT };

struct gt_exporter_options {
    size_t size;
    const pid_t *pids; /* these processes, each with its descendants, are a job each */
    size_t pid_count;
    int all_processes; /* or: all processes of the machine, grouped by user, job and program */
    int slurm;         /* or: the jobs of Slurm. None of the three: the machine and its GPUs alone */
    int most;          /* groups or jobs with figures of their own, all further in one called "other"; 0: 100 */
    double sleep_time; /* seconds between samples, from 0.001: sooner scrapes get the same text; 0: 1.0 */
    int aipowermeter;  /* add the five gauges of AIPowerMeter */
    const char *gpu_brand, *memory, *idle, *machine_root; /* as in struct gt_tracker_options */
    const char *const *libraries;
    void (*warn)(void *context, const char *sentence); /* may be NULL */
    void *context;
};

struct gt_exporter;
/* Follow the jobs and open the collectors. -EINVAL names the option that is wrong; -ESRCH, -EPERM and -EACCES a process as
 * gt_tracker_open does. */
int gt_exporter_open(struct gt_exporter **ret, const struct gt_exporter_options *options, struct gt_error *error);
/* Get the text of now, which is borrowed until the next call. It takes a sample unless the last one is younger than sleep_time. 1: the
 * text differs from the last one in this form; 0: it is the same. */
int gt_exporter_text(struct gt_exporter *exporter, enum gt_exposition form, const char **ret, size_t *length,
                     struct gt_error *error);
/* Free everything, the text included. */
void gt_exporter_close(struct gt_exporter *exporter);

#endif
