/* The memory of a job at one moment. The time of the job is divided by moments; between two samples a rank had at least the smaller
 * of them, as far as samples tell. Only private memory that is of no file is added up: of the rest of the ranks of a node the largest
 * counts, for it may be the same pages. Of a file a tracker sees late that strangers share it, as it looks now and then. */
#include "analyse/job/job.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blocks/distribution.h"

enum { MOMENTS = 1024 };
enum { ANONYMOUS, RAM, GPU_RAM, GPU_USE, CPU_USE }; /* what is asked */

struct memory {
    struct gt_job *job;
    struct gt_job_question question;
    size_t node;                                        /* the one whose ranks are read */
    double own[MOMENTS], shared[MOMENTS], gpu[MOMENTS]; /* of the ranks of that node */
    double ram_sum[MOMENTS], gpu_sum[MOMENTS];          /* of all nodes so far */
};

struct look {
    double own, shared, gpu;
};

static double known(double value)
{
    return isnan(value) ? 0 : value;
}

static double value_of(const struct gt_job_bucket *bucket, bool is_first)
{
    return !bucket->count ? NAN : is_first ? bucket->first : bucket->last;
}

/* The first or the last sample of a stretch; false where there is none. */
static bool look_at(struct look *ret, const struct gt_job_question *question, const struct gt_job_series *series,
                    size_t place, bool is_first)
{
    double value[GPU_USE + 1];
    for (size_t i = 0; i <= GPU_USE; i++)
        value[i] = value_of(gt_job_bucket(question, series, i, place), is_first);
    double own = fmin(known(value[ANONYMOUS]), value[RAM]); /* not told apart: all of it may be shared */
    *ret = (struct look){own, value[RAM] - own, value[GPU_RAM]};
    return !isnan(ret->shared) || !isnan(ret->gpu);
}

static void add_stretch(struct memory *memory, const struct look *from, const struct look *to, size_t first,
                        size_t last)
{
    double own = fmin(known(from->own), known(to->own)), shared = fmin(known(from->shared), known(to->shared));
    double gpu = fmin(known(from->gpu), known(to->gpu));
    for (size_t i = first; i <= last; i++) {
        memory->own[i] += own;
        memory->shared[i] = fmax(memory->shared[i], shared);
        memory->gpu[i] += gpu;
    }
}

/* Moment i is the begin of stretch i. */
static void add_moments(struct memory *memory, const struct gt_job_series *series)
{
    struct look last, next;
    size_t first = 0; /* the moment behind the last sample; 0: there is none yet */
    for (size_t i = 0; i < memory->question.buckets; i++) {
        if (!look_at(&next, &memory->question, series, i, true))
            continue;
        if (first)
            add_stretch(memory, &last, &next, first, i);
        look_at(&last, &memory->question, series, i, false);
        first = i + 1;
    }
}

static double cores_of(const struct gt_job_question *question, const struct gt_job_series *series)
{
    struct gt_distribution cores = {0};
    for (size_t i = 0; i < question->buckets; i++) {
        const struct gt_job_bucket *bucket = gt_job_bucket(question, series, CPU_USE, i);
        if (bucket->count)
            gt_distribution_add(&cores, bucket->sum / bucket->count);
    }
    double p95 = gt_distribution_percentile(&cores, 95);
    gt_distribution_release(&cores);
    return p95;
}

static void take_peaks(struct gt_job_rank *rank, const struct memory *memory, const struct gt_job_series *series)
{
    const struct gt_job_question *question = &memory->question;
    double sum = 0, count = 0;
    for (size_t i = 0; i < question->buckets; i++) {
        const struct gt_job_bucket *ram = gt_job_bucket(question, series, RAM, i);
        const struct gt_job_bucket *gpu = gt_job_bucket(question, series, GPU_RAM, i);
        const struct gt_job_bucket *use = gt_job_bucket(question, series, GPU_USE, i);
        rank->ram.least = ram->count ? fmax(rank->ram.least, ram->most) : rank->ram.least;
        rank->gpu_ram = gpu->count ? fmax(rank->gpu_ram, gpu->most) : rank->gpu_ram;
        sum += use->count ? use->sum : 0;
        count += use->count;
    }
    rank->cores_p95 = cores_of(question, series);
    rank->ram.most = fmax(rank->ram.most, rank->ram.least);
    rank->gpu_use = count ? sum / count : NAN;
}

static bool runs_at(const struct gt_job_rank *rank, double moment)
{
    return rank->begin <= moment && moment <= rank->end;
}

/* No more than the peaks together of those that ran at one moment: there were most when one of them began. */
static void take_most(struct gt_job_node *node, const struct gt_job *job)
{
    const struct gt_job_rank *first = &job->rank[node->first], *behind = first + node->count;
    for (const struct gt_job_rank *one = first; one < behind; one++) {
        double ram = NAN, gpu_ram = NAN;
        for (const struct gt_job_rank *other = first; other < behind; other++) {
            if (!runs_at(other, one->begin))
                continue;
            ram = isnan(other->ram.most) ? ram : known(ram) + other->ram.most;
            gpu_ram = isnan(other->gpu_ram) ? gpu_ram : known(gpu_ram) + other->gpu_ram;
        }
        node->ram.most = fmax(node->ram.most, ram);
        node->gpu_ram.most = fmax(node->gpu_ram.most, gpu_ram);
    }
}

/* No less than each of its parts alone, and no more than they together. */
static void add_bounds(struct gt_job_bounds *whole, double least, double most)
{
    if (isnan(most))
        return;
    whole->least = fmax(whole->least, least);
    whole->most = known(whole->most) + most;
}

static void take_bounds(struct gt_job_node *node, const struct gt_job *job)
{
    node->ram = node->gpu_ram = (struct gt_job_bounds){NAN, NAN};
    for (size_t i = node->first; i < node->first + node->count; i++) {
        node->ram.least = fmax(node->ram.least, job->rank[i].ram.least);
        node->gpu_ram.least = fmax(node->gpu_ram.least, job->rank[i].gpu_ram);
    }
    take_most(node, job);
}

/* All ranks of the node have been read. */
static void end_node(struct memory *memory)
{
    struct gt_job_node *node = &memory->job->node[memory->node];
    take_bounds(node, memory->job);
    for (size_t i = 0; i < memory->question.buckets; i++) {
        double ram = memory->own[i] + memory->shared[i];
        if (ram > node->ram.least)
            node->ram.least = ram;
        if (memory->gpu[i] > node->gpu_ram.least)
            node->gpu_ram.least = memory->gpu[i];
        memory->ram_sum[i] += ram;
        memory->gpu_sum[i] += memory->gpu[i];
    }
    memset(memory->own, 0, sizeof memory->own);
    memset(memory->shared, 0, sizeof memory->shared);
    memset(memory->gpu, 0, sizeof memory->gpu);
    memory->node++;
}

static int take_rank(void *context, const struct gt_job_series *series)
{
    struct memory *memory = context;
    struct gt_job_rank *rank = &memory->job->rank[series->rank];
    while (memory->node < rank->node)
        end_node(memory);
    take_peaks(rank, memory, series);
    add_moments(memory, series);
    return 0;
}

static void take_job(struct gt_job *job, const struct memory *memory)
{
    job->ram = job->gpu_ram = (struct gt_job_bounds){NAN, NAN};
    for (size_t i = 0; i < job->nodes; i++) {
        add_bounds(&job->ram, job->node[i].ram.least, job->node[i].ram.most);
        add_bounds(&job->gpu_ram, job->node[i].gpu_ram.least, job->node[i].gpu_ram.most);
    }
    for (size_t i = 0; i < memory->question.buckets; i++) {
        if (memory->ram_sum[i] > job->ram.least)
            job->ram.least = memory->ram_sum[i];
        if (memory->gpu_sum[i] > job->gpu_ram.least)
            job->gpu_ram.least = memory->gpu_sum[i];
    }
}

int gt_job_read_memory(struct gt_job *job, struct gt_error *error)
{
    static const enum gt_metric_id asked[] = {[ANONYMOUS] = GT_RAM_PRIVATE_ANONYMOUS,
                                              [RAM] = GT_RAM,
                                              [GPU_RAM] = GT_GPU_RAM,
                                              [GPU_USE] = GT_GPU_UTILIZATION,
                                              [CPU_USE] = GT_CPU_UTILIZATION};
    struct memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return gt_error_system(error, ENOMEM, "job");
    memory->job = job;
    gt_job_question_init(&memory->question, job, MOMENTS);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        gt_job_ask(&memory->question, (struct gt_job_subject){GT_SCOPE_COMBINED, asked[i], 0});
    int status = job->source->series(job->source->state, job, &memory->question, take_rank, memory, error);
    while (memory->node < job->nodes)
        end_node(memory);
    take_job(job, memory);
    free(memory);
    return status;
}
