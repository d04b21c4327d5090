/* Inside an exporter: shared by the files of this folder. */
#ifndef GT_API_EXPORTER_H
#define GT_API_EXPORTER_H

#include "aggregate/combine.h"
#include "aggregate/energy_curve.h"
#include "aggregate/job_groups.h"
#include "api/tracker.h"
#include "report/exposition.h"

/* A process that is followed with its descendants. */
struct gt_exporter_job {
    pid_t pid;
    struct gt_identity identity;
    char user[64];
    struct gt_tracker *tracker;
    int64_t ended_ns; /* 0: it lives */
    double value[GT_METRIC_COUNT];
    double (*gpu)[GT_METRIC_COUNT]; /* of each device of its tracker */
};

struct gt_exporter {
    struct gt_exporter_options options; /* its pointers are not kept */
    bool has_crowd;
    char host[128];
    struct gt_sampler sampler; /* of the machine */
    struct gt_combiner combiner;
    struct gt_all_processes processes;
    struct gt_job_groups groups;
    struct gt_sample sample; /* the latest */
    double system[GT_METRIC_COUNT];
    struct gt_exporter_job *job;
    size_t job_count;

    int64_t sampled_ns, period_ns;
    double sample_seconds;
    uint64_t samples;
    struct gt_energy_curve energy;           /* of the processors and all jobs together, since the last sample */
    double job_joules, cpu_watts, job_watts; /* for AIPowerMeter's gauges */

    struct gt_exposition_row *row;
    size_t *row_labels; /* where in `labels` those of each row begin */
    size_t row_count, row_capacity;
    struct gt_buffer labels; /* one after the other, NUL after each */
    struct gt_buffer text[GT_EXPOSITION_COUNT];
};

/* The rows of the latest sample. -ENOMEM. */
int gt_exporter_rows(struct gt_exporter *exporter);
/* The gauges power_draw_cpu, intel_power, mem_used_cpu, mem_used_gpu and power_draw_gpu, at each sample and in the text. */
int gt_exporter_note_power(struct gt_exporter *exporter);
void gt_exporter_write_aipowermeter(const struct gt_exporter *exporter, struct gt_buffer *out, enum gt_exposition form);

#endif
