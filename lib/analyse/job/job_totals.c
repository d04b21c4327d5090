/* Totals of a job. Values that several trackers see count once. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/job/job.h"
#include "base/grow.h"
#include "base/number.h"
#include "blocks/distribution.h"

static double known(double value)
{
    return isnan(value) ? 0 : value;
}

double gt_job_sum(const struct gt_job *job, enum gt_metric_id metric)
{
    double sum = NAN;
    for (size_t i = 0; i < job->count; i++)
        gt_add_known(&sum, job->rank[i].own[metric]);
    return sum;
}

/* The rank that ran longest is first. */
static int compare_lengths(const void *left, const void *right)
{
    const struct gt_job_rank *a = *(const struct gt_job_rank *const *)left,
                             *b = *(const struct gt_job_rank *const *)right;
    return GT_ORDER_BY(GT_ORDER(b->end - b->begin, a->end - a->begin), GT_ORDER(a, b));
}

/* ---- Networks and control groups ---- */

/* Returns true if `path` is the group `above` or within it. */
static bool is_within(const char *path, const char *above)
{
    size_t length = strlen(above);
    return *above && !strncmp(path, above, length) &&
           (!path[length] || path[length] == '/' || above[length - 1] == '/');
}

/* Returns true if another rank's group contains this one. The first of two ranks in one group counts. */
static bool is_group_counted(struct gt_job_rank *const ranks[], size_t count, size_t index)
{
    const char *own = ranks[index]->machine.control_group;
    for (size_t i = 0; i < count; i++) {
        const char *other = ranks[i]->machine.control_group;
        bool is_same = !strcmp(own, other);
        if (i != index && !isnan(ranks[i]->own[GT_CGROUP_RAM_PEAK]) && (is_same ? i < index : is_within(own, other)))
            return true;
    }
    return false;
}

static void count_networks_and_groups(struct gt_job *job, struct gt_job_rank *const ranks[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t before = 0;
        while (before < i && ranks[before]->machine.network != ranks[i]->machine.network)
            before++;
        if (before == i) {
            gt_add_known(&job->received, ranks[i]->system[GT_NETWORK_NAMESPACE_RECEIVED]);
            gt_add_known(&job->sent, ranks[i]->system[GT_NETWORK_NAMESPACE_SENT]);
        }
        if (!is_group_counted(ranks, count, i))
            gt_add_known(&job->group_ram, ranks[i]->own[GT_CGROUP_RAM_PEAK]);
    }
}

/* ---- GPUs and energy ---- */

static bool has_gpu(const struct gt_job_rank *rank, const char *uuid)
{
    for (size_t i = 0; i < rank->machine.gpu_length; i++)
        if (!strcmp(rank->machine.gpu[i].uuid, uuid))
            return true;
    return false;
}

/* Returns how many of its selected GPUs no earlier rank has. `selected`, which may be NULL, gets their number. */
static size_t new_gpus(struct gt_job_rank *const ranks[], size_t index, size_t *selected)
{
    const struct gt_machine *machine = &ranks[index]->machine;
    size_t count = 0, all = 0;
    for (size_t i = 0; i < machine->gpu_length; i++) {
        bool is_known = !machine->gpu[i].selected;
        all += machine->gpu[i].selected;
        for (size_t k = 0; k < index && !is_known; k++)
            is_known = has_gpu(ranks[k], machine->gpu[i].uuid);
        count += !is_known;
    }
    if (selected)
        *selected = all;
    return count;
}

static const struct energy_metrics {
    enum gt_metric_id whole, other, idle, unattributed, charged; /* GT_METRIC_COUNT: none */
} energies[GT_ENERGY_DEVICES] = {
    [GT_ENERGY_CPU] = {GT_CPU_ENERGY, GT_CPU_ENERGY_OTHER, GT_CPU_ENERGY_IDLE, GT_CPU_ENERGY_UNATTRIBUTED,
                       GT_CPU_ENERGY_IDLE_CHARGED},
    [GT_ENERGY_DRAM] = {GT_DRAM_ENERGY, GT_DRAM_ENERGY_OTHER, GT_METRIC_COUNT, GT_DRAM_ENERGY_UNATTRIBUTED,
                        GT_METRIC_COUNT},
    [GT_ENERGY_GPU] = {GT_GPU_ENERGY, GT_GPU_ENERGY_OTHER, GT_GPU_ENERGY_IDLE, GT_GPU_ENERGY_UNATTRIBUTED,
                       GT_GPU_ENERGY_IDLE_CHARGED},
};

/* `charged` is the idle energy within its share. */
static void add_machine(struct gt_job_energy *energy, const struct gt_job_rank *rank, int device, double charged)
{
    const struct energy_metrics *metric = &energies[device];
    gt_add_known(&energy->drawn, rank->system[metric->whole]);
    gt_add_known(&energy->others, rank->system[metric->other] + known(rank->own[metric->whole]) - known(charged));
    if (metric->idle != GT_METRIC_COUNT)
        gt_add_known(&energy->idle, rank->system[metric->idle] + known(charged));
    gt_add_known(&energy->unattributed, rank->system[metric->unattributed]);
}

/* The energy of a machine counts once, by the first rank. That of GPUs counts by each rank whose GPUs no earlier rank
 * has. */
static bool counts(struct gt_job_rank *const ranks[], size_t index, int device, const struct gt_job_energy *energy)
{
    size_t selected, count = new_gpus(ranks, index, &selected);
    return device == GT_ENERGY_GPU ? selected && count == selected : isnan(energy->drawn);
}

/* Returns the idle energy that was charged to a rank. NaN: unknown, and its share is useless with the policy "all". */
static double charged_of(const struct gt_job_rank *rank, int device)
{
    enum gt_metric_id metric = energies[device].charged;
    bool is_all = !strcmp(rank->machine.idle_policy, "all");
    return metric == GT_METRIC_COUNT || !is_all ? 0 : rank->own[metric];
}

/* Idle energy that was charged to each of several ranks is the job's once: at least the largest charge of one rank,
 * because it is of devices that the rank used or nobody used; at most all of it. The rest stays idle. */
static void charge_once(struct gt_job_energy *energy, double active, double largest, double sum)
{
    double idle = known(energy->idle);
    double most = fmin(idle, sum), least = fmin(most, largest);
    energy->job = active + most;
    energy->job_least = active + least;
    energy->idle -= most;
}

/* The others of one tracker include the other ranks. So others = drawn - idle - unattributed - the active part of all
 * shares. */
static void add_energy(struct gt_job_node *node, struct gt_job_rank *const ranks[], size_t count, int device)
{
    struct gt_job_energy *energy = &node->energy[device];
    double largest = NAN, charged = 0, most_charged = 0;
    *energy = (struct gt_job_energy){NAN, NAN, NAN, NAN, NAN, NAN, 0, false};
    for (size_t i = 0; i < count; i++) {
        double own = ranks[i]->own[energies[device].whole], idle = isnan(own) ? 0 : charged_of(ranks[i], device);
        if (counts(ranks, i, device, energy))
            add_machine(energy, ranks[i], device, idle);
        gt_add_known(&energy->job, own);
        largest = fmax(largest, own);
        charged += idle;
        most_charged = fmax(most_charged, idle);
        energy->error += ranks[i]->error[device];
    }
    energy->job_least = energy->job;
    if (node->is_idle_repeated && isnan(charged)) { /* recordings of earlier versions do not have the charge */
        energy->job_least = largest;
        energy->job = fmin(energy->job, energy->drawn);
        energy->others = NAN;
        return;
    }
    double active = energy->job - known(charged);
    energy->others -= known(active);
    if (node->is_idle_repeated && !isnan(active) && energies[device].idle != GT_METRIC_COUNT)
        charge_once(energy, active, most_charged, charged);
    energy->is_exceeded = energy->others < -energy->error - 0.01 * energy->drawn;
    if (energy->others < 0)
        energy->others = energy->is_exceeded ? NAN : 0;
}

static void count_node(struct gt_job *job, struct gt_job_node *node, struct gt_job_rank **ranks)
{
    for (size_t i = 0; i < node->count; i++)
        ranks[i] = &job->rank[node->first + i];
    qsort(ranks, node->count, sizeof *ranks, compare_lengths);
    count_networks_and_groups(job, ranks, node->count);
    node->is_covered = true;
    for (size_t i = 0; i < node->count; i++) {
        node->gpus += new_gpus(ranks, i, NULL);
        node->is_covered &= ranks[i]->begin >= ranks[0]->begin - 1 && ranks[i]->end <= ranks[0]->end + 1;
        node->is_idle_repeated |= node->count > 1 && !strcmp(ranks[i]->machine.idle_policy, "all");
    }
    job->gpus += node->gpus;
    for (int device = 0; device < GT_ENERGY_DEVICES; device++)
        add_energy(node, ranks, node->count, device);
}

int gt_job_count_once(struct gt_job *job, struct gt_error *error)
{
    struct gt_job_rank **ranks = calloc(job->count, sizeof(*ranks));
    if (!ranks)
        return gt_error_system(error, ENOMEM, "job");
    job->group_ram = job->received = job->sent = NAN;
    for (size_t i = 0; i < job->nodes; i++)
        count_node(job, &job->node[i], ranks);
    free(ranks);
    return 0;
}

void gt_job_energy_reason(struct gt_buffer *out, const struct gt_job_node *node)
{
    bool is_exceeded = false, is_measured = false;
    for (int device = 0; device < GT_ENERGY_DEVICES; device++) {
        is_exceeded |= node->energy[device].is_exceeded;
        is_measured |= node->energy[device].drawn > 0;
    }
    if (!is_measured)
        return;
    if (!node->is_covered)
        gt_buffer_printf(
            out, "no rank on %.128s ran as long as all others: what the node drew is known of a part of the time",
            node->name);
    else if (is_exceeded)
        gt_buffer_printf(out, "the shares of the ranks on %.128s are more than it drew: its energy does not add up",
                         node->name);
}

void gt_job_energy(struct gt_job_energy *ret, const struct gt_job *job, int device)
{
    *ret = (struct gt_job_energy){NAN, NAN, NAN, NAN, NAN, NAN, 0, false};
    for (size_t i = 0; i < job->nodes; i++) {
        const struct gt_job_energy *energy = &job->node[i].energy[device];
        gt_add_known(&ret->drawn, energy->drawn);
        gt_add_known(&ret->job, energy->job);
        gt_add_known(&ret->job_least, energy->job_least);
        gt_add_known(&ret->others, energy->others);
        gt_add_known(&ret->idle, energy->idle);
        gt_add_known(&ret->unattributed, energy->unattributed);
        ret->error += energy->error;
        ret->is_exceeded |= energy->is_exceeded;
    }
    if (ret->is_exceeded)
        ret->others = NAN;
}

/* ---- How many of a job's GPUs were used at all, where trackers recorded each ---- */

enum { BUCKETS = 240 };
static const double USED = 0.05; /* of the time */

struct gpus {
    const struct gt_job *job;
    const struct gt_job_question *question;
    const char **uuid; /* seen so far */
    size_t uuid_count, uuid_capacity;
    double used;
};

static int take_gpu(void *context, const struct gt_job_series *series)
{
    struct gpus *gpus = context;
    const struct gt_gpu *gpu = &gpus->job->rank[series->rank].machine.gpu[series->part];
    double known = 0, busy = 0;
    for (size_t i = 0; i < gpus->uuid_count; i++)
        if (!strcmp(gpus->uuid[i], gpu->uuid))
            return 0;
    if (!gpu->selected)
        return 0;
    const char **place = GT_GROW(gpus, uuid);
    if (!place)
        return -ENOMEM;
    *place = gpu->uuid;
    for (size_t i = 0; i < gpus->question->buckets; i++) {
        const struct gt_job_bucket *bucket = gt_job_bucket(gpus->question, series, 0, i);
        known += bucket->count > 0;
        busy += bucket->count && bucket->most > 0;
    }
    gpus->used += known > 0 && busy > USED * known;
    return 0;
}

int gt_job_count_gpus(struct gt_job *job, struct gt_error *error)
{
    struct gt_job_question question;
    struct gpus gpus = {.job = job, .question = &question};
    job->gpus_used = NAN;
    if (!job->gpus)
        return 0;
    gt_job_question_init(&question, job, BUCKETS);
    gt_job_ask(&question, (struct gt_job_subject){GT_SCOPE_GPU, GT_GPU_UTILIZATION, 0});
    int status = job->source->series(job->source->state, job, &question, take_gpu, &gpus, error);
    if (status >= 0 && gpus.uuid_count == job->gpus)
        job->gpus_used = gpus.used;
    free(gpus.uuid);
    return status == -ENOMEM ? gt_error_system(error, ENOMEM, "%s", job->source->name) : status;
}

/* ---- Memory ---- */

/* Memory of a job at moments of its time. Between two samples, a rank had at least the smaller value. Only anonymous
 * private memory is added up. Of other memory, the largest rank of a node counts, because it may be the same pages. */

enum { MOMENTS = 1024 };
enum { ANONYMOUS, RAM, GPU_RAM, GPU_USE, CPU_USE }; /* subjects of the question */

struct memory {
    struct gt_job *job;
    struct gt_job_question question;
    size_t node;                                        /* whose ranks are being read */
    double own[MOMENTS], shared[MOMENTS], gpu[MOMENTS]; /* of the ranks of that node */
    double ram_sum[MOMENTS], gpu_sum[MOMENTS];          /* of all nodes so far */
};

struct moment {
    double own, shared, gpu;
};

/* Get the first or the last sample of a bucket. Returns false if there is none. */
static bool sample_of(struct moment *ret, const struct gt_job_question *question, const struct gt_job_series *series,
                      size_t place, bool is_first)
{
    double value[GPU_USE + 1];
    for (size_t i = 0; i <= GPU_USE; i++) {
        const struct gt_job_bucket *bucket = gt_job_bucket(question, series, i, place);
        value[i] = !bucket->count ? NAN : is_first ? bucket->first : bucket->last;
    }
    double own = fmin(known(value[ANONYMOUS]), value[RAM]); /* if unknown, all of it may be shared */
    *ret = (struct moment){own, value[RAM] - own, value[GPU_RAM]};
    return !isnan(ret->shared) || !isnan(ret->gpu);
}

/* Moment i is the start of bucket i. Between two samples, a rank had at least the smaller value. */
static void add_moments(struct memory *memory, const struct gt_job_series *series)
{
    struct moment last = {NAN, NAN, NAN}, next;
    size_t first = 0; /* the moment after the last sample; 0: no sample yet */
    for (size_t i = 0; i < memory->question.buckets; i++) {
        if (!sample_of(&next, &memory->question, series, i, true))
            continue;
        double own = fmin(known(last.own), known(next.own)), shared = fmin(known(last.shared), known(next.shared));
        double gpu = fmin(known(last.gpu), known(next.gpu));
        for (size_t k = first; first && k <= i; k++) {
            memory->own[k] += own;
            memory->shared[k] = fmax(memory->shared[k], shared);
            memory->gpu[k] += gpu;
        }
        sample_of(&last, &memory->question, series, i, false);
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
    const struct gt_job_bucket use = gt_job_whole(&memory->question, series, GPU_USE);
    rank->ram.least = fmax(rank->ram.least, gt_job_whole(&memory->question, series, RAM).most);
    rank->ram.most = fmax(rank->ram.most, rank->ram.least);
    rank->gpu_ram = fmax(rank->gpu_ram, gt_job_whole(&memory->question, series, GPU_RAM).most);
    rank->gpu_use = use.count ? use.sum / use.count : NAN;
    rank->cores_p95 = cores_of(&memory->question, series);
}

/* The upper bound is the sum of peaks of ranks that ran at one moment. It is largest when one of them began. */
static void find_bounds(struct gt_job_node *node, const struct gt_job *job)
{
    const struct gt_job_rank *first = &job->rank[node->first], *end = first + node->count;
    node->ram = node->gpu_ram = (struct gt_job_bounds){NAN, NAN};
    for (const struct gt_job_rank *one = first; one < end; one++) {
        double ram = NAN, gpu_ram = NAN;
        for (const struct gt_job_rank *other = first; other < end; other++)
            if (other->begin <= one->begin && one->begin <= other->end) {
                gt_add_known(&ram, other->ram.most);
                gt_add_known(&gpu_ram, other->gpu_ram);
            }
        node->ram.least = fmax(node->ram.least, one->ram.least);
        node->gpu_ram.least = fmax(node->gpu_ram.least, one->gpu_ram);
        node->ram.most = fmax(node->ram.most, ram);
        node->gpu_ram.most = fmax(node->gpu_ram.most, gpu_ram);
    }
}

/* The whole is at least as large as each part, and at most as large as their sum. */
static void add_bounds(struct gt_job_bounds *whole, double least, double most)
{
    if (isnan(most))
        return;
    whole->least = fmax(whole->least, least);
    whole->most = known(whole->most) + most;
}

/* Add up a node after its last rank. */
static void end_node(struct memory *memory)
{
    struct gt_job_node *node = &memory->job->node[memory->node];
    find_bounds(node, memory->job);
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
