/* What several trackers of a job see alike is counted once. */
#include "analyse/job/job.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double known(double value)
{
    return isnan(value) ? 0 : value;
}

static double add(double sum, double value)
{
    return isnan(value) ? sum : known(sum) + value;
}

double gt_job_sum(const struct gt_job *job, enum gt_metric_id metric)
{
    double sum = NAN;
    for (size_t i = 0; i < job->count; i++)
        sum = add(sum, job->rank[i].own[metric]);
    return sum;
}

static double length_of(const struct gt_job_rank *rank)
{
    return rank->end - rank->begin;
}

/* The ranks of a node, the one that ran longest first. */
static int compare_lengths(const void *left, const void *right)
{
    const struct gt_job_rank *a = *(const struct gt_job_rank *const *)left,
                             *b = *(const struct gt_job_rank *const *)right;
    double difference = length_of(b) - length_of(a);
    return difference > 0 ? 1 : difference < 0 ? -1 : a < b ? -1 : 1;
}

/* ---- Networks and control groups --------------------------------------------------------------------------------- */

static bool has_network_before(struct gt_job_rank *const ranks[], size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (ranks[i]->machine.network == ranks[index]->machine.network)
            return true;
    return false;
}

/* Is `path` the group `above`, or below it? */
static bool is_within(const char *path, const char *above)
{
    size_t length = strlen(above);
    return *above && !strncmp(path, above, length) &&
           (!path[length] || path[length] == '/' || above[length - 1] == '/');
}

/* Does another rank's group hold this one? Of two ranks in the same group the first counts. */
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
        if (!has_network_before(ranks, i)) {
            job->received = add(job->received, ranks[i]->system[GT_NETWORK_NAMESPACE_RECEIVED]);
            job->sent = add(job->sent, ranks[i]->system[GT_NETWORK_NAMESPACE_SENT]);
        }
        if (!is_group_counted(ranks, count, i))
            job->group_ram = add(job->group_ram, ranks[i]->own[GT_CGROUP_RAM_PEAK]);
    }
}

/* ---- GPUs and energy --------------------------------------------------------------------------------------------- */

static bool knows_gpu(const struct gt_job_rank *rank, const char *uuid)
{
    for (size_t i = 0; i < rank->machine.gpu_length; i++)
        if (!strcmp(rank->machine.gpu[i].uuid, uuid))
            return true;
    return false;
}

/* How many of its GPUs no rank before has. */
static size_t new_gpus(struct gt_job_rank *const ranks[], size_t index)
{
    const struct gt_machine *machine = &ranks[index]->machine;
    size_t count = 0;
    for (size_t i = 0; i < machine->gpu_length; i++) {
        bool is_known = !machine->gpu[i].selected;
        for (size_t k = 0; k < index && !is_known; k++)
            is_known = knows_gpu(ranks[k], machine->gpu[i].uuid);
        count += !is_known;
    }
    return count;
}

static const struct energy_metrics {
    enum gt_metric_id whole, other, idle, unattributed, charged; /* GT_METRIC_COUNT: there is none */
} energies[GT_ENERGY_DEVICES] = {
    [GT_ENERGY_CPU] = {GT_CPU_ENERGY, GT_CPU_ENERGY_OTHER, GT_CPU_ENERGY_IDLE, GT_CPU_ENERGY_UNATTRIBUTED,
                       GT_CPU_ENERGY_IDLE_CHARGED},
    [GT_ENERGY_DRAM] = {GT_DRAM_ENERGY, GT_DRAM_ENERGY_OTHER, GT_METRIC_COUNT, GT_DRAM_ENERGY_UNATTRIBUTED,
                        GT_METRIC_COUNT},
    [GT_ENERGY_GPU] = {GT_GPU_ENERGY, GT_GPU_ENERGY_OTHER, GT_GPU_ENERGY_IDLE, GT_GPU_ENERGY_UNATTRIBUTED,
                       GT_GPU_ENERGY_IDLE_CHARGED},
};

/* `charged`: of its share, idle energy. */
static void add_machine(struct gt_job_energy *energy, const struct gt_job_rank *rank, int device, double charged)
{
    const struct energy_metrics *metric = &energies[device];
    energy->drawn = add(energy->drawn, rank->system[metric->whole]);
    energy->others = add(energy->others,
                         rank->system[metric->other] + known(rank->own[metric->whole]) - known(charged));
    if (metric->idle != GT_METRIC_COUNT)
        energy->idle = add(energy->idle, rank->system[metric->idle] + known(charged));
    energy->unattributed = add(energy->unattributed, rank->system[metric->unattributed]);
}

static size_t selected_gpus(const struct gt_machine *machine)
{
    size_t count = 0;
    for (size_t i = 0; i < machine->gpu_length; i++)
        count += machine->gpu[i].selected;
    return count;
}

/* Trackers that see the same GPUs count once, those of other GPUs are added. Where they see some of the same, what was drawn is told of
 * the first alone. */
static bool counts(struct gt_job_rank *const ranks[], size_t index, int device, const struct gt_job_energy *energy)
{
    size_t gpus = selected_gpus(&ranks[index]->machine);
    return device == GT_ENERGY_GPU ? gpus && new_gpus(ranks, index) == gpus : isnan(energy->drawn);
}

/* The idle energy that was charged to a rank alone; NaN: it does not tell, and with the policy "all" its share is of no use here. */
static double charged_of(const struct gt_job_rank *rank, int device)
{
    enum gt_metric_id metric = energies[device].charged;
    bool is_all = !strcmp(rank->machine.idle_policy, "all");
    return metric == GT_METRIC_COUNT || !is_all ? 0 : rank->own[metric];
}

/* Recordings of earlier versions do not tell the idle energy that was charged to each rank. */
static void bound_repeated(struct gt_job_energy *energy, double largest)
{
    energy->job_least = largest;
    energy->job = fmin(energy->job, energy->drawn);
    energy->others = NAN;
}

/* Idle energy that was charged to each of several ranks is theirs once: at least the most that one was charged with, for that is of
 * devices which it used or nobody did; at most all of it. What the job does not take stays idle. */
static void charge_once(struct gt_job_energy *energy, double active, double largest, double sum)
{
    double idle = known(energy->idle);
    double most = fmin(idle, sum), least = fmin(most, largest);
    energy->job = active + most;
    energy->job_least = active + least;
    energy->idle -= most;
}

/* What one tracker gives others is partly the share of the other ranks: others = what was drawn less idle and unattributed energy, less
 * the active part of all shares. */
static void add_energy(struct gt_job_node *node, struct gt_job_rank *const ranks[], size_t count, int device)
{
    struct gt_job_energy *energy = &node->energy[device];
    double largest = NAN, charged = 0, most_charged = 0;
    *energy = (struct gt_job_energy){NAN, NAN, NAN, NAN, NAN, NAN, 0};
    for (size_t i = 0; i < count; i++) {
        double own = ranks[i]->own[energies[device].whole], idle = isnan(own) ? 0 : charged_of(ranks[i], device);
        if (counts(ranks, i, device, energy))
            add_machine(energy, ranks[i], device, idle);
        energy->job = add(energy->job, own);
        largest = fmax(largest, own);
        charged += idle;
        most_charged = fmax(most_charged, idle);
        energy->error += ranks[i]->error[device];
    }
    energy->job_least = energy->job;
    if (node->is_idle_repeated && isnan(charged)) {
        bound_repeated(energy, largest);
        return;
    }
    double active = energy->job - known(charged);
    energy->others -= known(active);
    if (node->is_idle_repeated && !isnan(active) && energies[device].idle != GT_METRIC_COUNT)
        charge_once(energy, active, most_charged, charged);
}

/* The tracker that ran longest saw all that the others did. */
static bool is_covered(struct gt_job_rank *const ranks[], size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (ranks[i]->begin < ranks[0]->begin - 1 || ranks[i]->end > ranks[0]->end + 1)
            return false;
    return true;
}

static void count_node(struct gt_job *job, struct gt_job_node *node, struct gt_job_rank **ranks)
{
    for (size_t i = 0; i < node->count; i++)
        ranks[i] = &job->rank[node->first + i];
    qsort(ranks, node->count, sizeof *ranks, compare_lengths);
    count_networks_and_groups(job, ranks, node->count);
    for (size_t i = 0; i < node->count; i++) {
        node->gpus += new_gpus(ranks, i);
        node->is_idle_repeated |= node->count > 1 && !strcmp(ranks[i]->machine.idle_policy, "all");
    }
    node->is_covered = is_covered(ranks, node->count);
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

bool gt_job_energy_adds_up(const struct gt_job_energy *energy)
{
    return !(energy->others < -energy->error - 0.01 * energy->drawn);
}

void gt_job_energy(struct gt_job_energy *ret, const struct gt_job *job, int device)
{
    *ret = (struct gt_job_energy){NAN, NAN, NAN, NAN, NAN, NAN, 0};
    for (size_t i = 0; i < job->nodes; i++) {
        const struct gt_job_energy *energy = &job->node[i].energy[device];
        ret->drawn = add(ret->drawn, energy->drawn);
        ret->job = add(ret->job, energy->job);
        ret->job_least = add(ret->job_least, energy->job_least);
        ret->others = add(ret->others, energy->others);
        ret->idle = add(ret->idle, energy->idle);
        ret->unattributed = add(ret->unattributed, energy->unattributed);
        ret->error += energy->error;
    }
}
