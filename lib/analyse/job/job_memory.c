/* The memory of a job at one moment. The time of the job is divided by moments; between two samples a rank had at least the smaller
 * of them, as far as samples tell. Of what ranks of a node share, only the largest is added: it may be the same pages. */
#include "analyse/job/job.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/store.h"

enum { MOMENTS = 4096 };

struct moments {
    double begin, step;
    double own[MOMENTS], shared[MOMENTS], gpu[MOMENTS]; /* of the ranks of one node */
    double ram_sum[MOMENTS], gpu_sum[MOMENTS];          /* of all nodes so far */
};

struct look {
    double time, own, shared, gpu, gpu_use;
};

struct reading {
    struct look last;
    bool has_last;
    double ram_peak, gpu_peak, gpu_use, gpu_uses;
};

static double known(double value)
{
    return isnan(value) ? 0 : value;
}

static struct look look_of(const struct gt_sample *sample)
{
    const double *value = sample->row[GT_SCOPE_COMBINED].value;
    struct look look = {gt_seconds(sample->real_ns), value[GT_RAM_PRIVATE], value[GT_RAM_SHARED], value[GT_GPU_RAM],
                        value[GT_GPU_UTILIZATION]};
    if (isnan(look.own) || isnan(look.shared)) { /* not told apart: all of it may be shared */
        look.own = 0;
        look.shared = value[GT_RAM];
    }
    return look;
}

static void add_stretch(struct moments *moments, const struct look *from, const struct look *to)
{
    double first = ceil((from->time - moments->begin) / moments->step);
    double own = fmin(known(from->own), known(to->own)), shared = fmin(known(from->shared), known(to->shared));
    double gpu = fmin(known(from->gpu), known(to->gpu));
    for (double at = fmax(first, 0); at < MOMENTS && moments->begin + at * moments->step < to->time; at++) {
        size_t i = (size_t)at;
        moments->own[i] += own;
        moments->shared[i] = fmax(moments->shared[i], shared);
        moments->gpu[i] += gpu;
    }
}

static void take_look(struct reading *reading, struct moments *moments, const struct gt_sample *sample)
{
    struct look look = look_of(sample);
    reading->ram_peak = fmax(reading->ram_peak, sample->row[GT_SCOPE_COMBINED].value[GT_RAM]);
    reading->gpu_peak = fmax(reading->gpu_peak, look.gpu);
    if (!isnan(look.gpu_use)) {
        reading->gpu_use += look.gpu_use;
        reading->gpu_uses++;
    }
    if (reading->has_last)
        add_stretch(moments, &reading->last, &look);
    reading->last = look;
    reading->has_last = true;
}

static int choose_columns(struct gt_recording *recording, struct gt_error *error)
{
    struct gt_columns columns;
    const char *name[16];
    size_t count = 0;
    gt_store_columns(&columns, gt_recording_machine(recording));
    for (size_t i = 0; i < columns.count && count < sizeof name / sizeof *name; i++) {
        const struct gt_column *column = &columns.column[i];
        bool is_wanted = column->metric == GT_RAM || column->metric == GT_RAM_PRIVATE ||
                         column->metric == GT_RAM_SHARED || column->metric == GT_GPU_RAM ||
                         column->metric == GT_GPU_UTILIZATION;
        if (column->scope == GT_SCOPE_COMBINED && is_wanted && gt_recording_has(recording, column->name))
            name[count++] = column->name;
    }
    return gt_recording_columns(recording, name, count, error);
}

/* A row that cannot be read is left out here, as it was when the recording was read first. */
static int read_samples(struct reading *reading, struct moments *moments, const char *path, struct gt_error *error)
{
    struct gt_recording *recording = NULL;
    const struct gt_sample *sample;
    int status = gt_recording_open(&recording, path, error);
    if (status >= 0)
        status = choose_columns(recording, error);
    while (status >= 0 && (status = gt_recording_next(recording, &sample, error)) > 0)
        take_look(reading, moments, sample);
    gt_recording_close(recording);
    return status;
}

static int read_rank(struct gt_job_rank *rank, struct moments *moments, struct gt_error *error)
{
    struct reading reading = {.ram_peak = NAN, .gpu_peak = NAN};
    int status = read_samples(&reading, moments, rank->path, error);
    rank->ram.least = fmax(rank->ram.least, reading.ram_peak);
    rank->ram.most = fmax(rank->ram.most, rank->ram.least);
    rank->gpu_ram = reading.gpu_peak;
    rank->gpu_use = reading.gpu_uses ? reading.gpu_use / reading.gpu_uses : NAN;
    return status;
}

/* No less than each of its parts alone, and no more than they together. */
static void add_bounds(struct gt_job_bounds *whole, double least, double most)
{
    if (isnan(most))
        return;
    whole->least = fmax(whole->least, least);
    whole->most = known(whole->most) + most;
}

static int read_node(struct gt_job *job, struct gt_job_node *node, struct moments *moments, struct gt_error *error)
{
    int status = 0;
    memset(moments->own, 0, sizeof moments->own);
    memset(moments->shared, 0, sizeof moments->shared);
    memset(moments->gpu, 0, sizeof moments->gpu);
    node->ram = node->gpu_ram = (struct gt_job_bounds){NAN, NAN};
    for (size_t i = node->first; i < node->first + node->count && status >= 0; i++) {
        struct gt_job_rank *rank = &job->rank[i];
        status = read_rank(rank, moments, error);
        add_bounds(&node->ram, rank->ram.least, rank->ram.most);
        add_bounds(&node->gpu_ram, rank->gpu_ram, rank->gpu_ram);
    }
    for (size_t i = 0; i < MOMENTS; i++) {
        double ram = moments->own[i] + moments->shared[i];
        if (ram > node->ram.least)
            node->ram.least = ram;
        if (moments->gpu[i] > node->gpu_ram.least)
            node->gpu_ram.least = moments->gpu[i];
        moments->ram_sum[i] += ram;
        moments->gpu_sum[i] += moments->gpu[i];
    }
    return status;
}

int gt_job_read_memory(struct gt_job *job, struct gt_error *error)
{
    struct moments *moments = calloc(1, sizeof *moments);
    if (!moments)
        return gt_error_system(error, ENOMEM, "job");
    moments->begin = job->begin;
    moments->step = fmax((job->end - job->begin) / MOMENTS, 1e-4);
    job->ram = job->gpu_ram = (struct gt_job_bounds){NAN, NAN};
    int status = 0;
    for (size_t i = 0; i < job->nodes && status >= 0; i++) {
        struct gt_job_node *node = &job->node[i];
        status = read_node(job, node, moments, error);
        add_bounds(&job->ram, node->ram.least, node->ram.most);
        add_bounds(&job->gpu_ram, node->gpu_ram.least, node->gpu_ram.most);
    }
    for (size_t i = 0; i < MOMENTS; i++) {
        if (moments->ram_sum[i] > job->ram.least)
            job->ram.least = moments->ram_sum[i];
        if (moments->gpu_sum[i] > job->gpu_ram.least)
            job->gpu_ram.least = moments->gpu_sum[i];
    }
    free(moments);
    return status;
}
