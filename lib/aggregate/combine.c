#include "aggregate/combine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/attribute.h"
#include "base/grow.h"
#include "base/number.h"
#include "collect/process/placement.h"

double gt_rate_next(struct gt_rate *rate, double counter, int64_t now_ns, int64_t shortest_ns, double ceiling)
{
    if (isnan(counter))
        return NAN;
    if (!rate->at_ns) {
        rate->last = counter;
        rate->at_ns = now_ns;
        return NAN;
    }
    if (now_ns - rate->at_ns < shortest_ns || now_ns == rate->at_ns)
        return NAN;
    double seconds = (double)(now_ns - rate->at_ns) / 1e9;
    double used = counter - rate->last + rate->carry;
    double shown = fmax(0, fmin(used, ceiling * seconds));
    rate->carry = used - shown;
    rate->last = counter;
    rate->at_ns = now_ns;
    return shown / seconds;
}

static const struct gt_origin origins[] = {
    {GT_RAM_PEAK_BOUND, GT_DERIVED, "/proc/PID/status VmHWM, exit records, control group",
     "sum of the high-water marks of processes alive together, or that of the job's own control group"},
    {GT_GPU_RAM_PEAK, GT_EXACT, "accounting of the NVIDIA driver", "the driver's high-water mark"},
    {GT_GPU_RAM_PEAK_BOUND, GT_DERIVED, "accounting of the NVIDIA driver",
     "sum of the driver's high-water marks of processes alive together"},
    {GT_THREADS_PEAK, GT_SAMPLED, "/proc/PID/task", "largest sample"},
    {GT_PROCESSES_PEAK, GT_SAMPLED, "/proc/PID/task/TID/children", "largest sample"},
    {GT_PROCESSES_STARTED, GT_SAMPLED, "/proc/PID/task/TID/children",
     "processes seen; those that came and went between two looks are missing"},
};

const struct gt_origin *gt_combined_origin(enum gt_metric_id metric)
{
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++)
        if (origins[i].metric == metric)
            return &origins[i];
    return NULL;
}

/* Parts of a device's energy, the counter that each is taken from, and how. */
static const struct {
    enum gt_metric_id metric, whole;
    const char *note;
} energy_parts[] = {
    {GT_ENERGY, GT_CPU_ENERGY, "sum of the shares of the devices that were measured"},
    {GT_CPU_ENERGY_OTHER, GT_CPU_ENERGY, "the rest of the active energy"},
    {GT_DRAM_ENERGY_OTHER, GT_DRAM_ENERGY, "the rest of the memory in use"},
    {GT_GPU_ENERGY_OTHER, GT_GPU_ENERGY, "share of processes outside the job that can be seen from here"},
#define IDLE "time without a user; with another policy than share, the lowest power seen while idle"
    {GT_CPU_ENERGY_IDLE, GT_CPU_ENERGY, IDLE},
    {GT_GPU_ENERGY_IDLE, GT_GPU_ENERGY, IDLE},
#undef IDLE
    {GT_CPU_ENERGY_IDLE_CHARGED, GT_CPU_ENERGY, "the same, of the job's share"},
    {GT_GPU_ENERGY_IDLE_CHARGED, GT_GPU_ENERGY, "the same, of the job's share"},
    {GT_CPU_ENERGY_MISSING, GT_CPU_ENERGY, "while the counter could not be read, stood still or was set back"},
    {GT_DRAM_ENERGY_MISSING, GT_DRAM_ENERGY, "while the counter could not be read, stood still or was set back"},
    {GT_GPU_ENERGY_MISSING, GT_GPU_ENERGY, "while the counter could not be read, stood still or was set back"},
    {GT_CPU_ENERGY_UNATTRIBUTED, GT_CPU_ENERGY, "drawn while it was not known who used the device"},
    {GT_DRAM_ENERGY_UNATTRIBUTED, GT_DRAM_ENERGY, "drawn while it was not known who used the device"},
    {GT_GPU_ENERGY_UNATTRIBUTED, GT_GPU_ENERGY, "drawn while it was not known who used the device"},
    {GT_CPU_ENERGY_PLACEMENT_ERROR, GT_CPU_ENERGY,
     "if the CPU time of threads that moved between packages had all been where it costs most, or least"},
    {GT_CPU_ENERGY_SHARE_ERROR, GT_CPU_ENERGY,
     "two deviations of busy time counted in ticks; and, beside others, what changes of load and power together may come to"},
};
enum { ENERGY_PARTS = sizeof energy_parts / sizeof *energy_parts };

const char *gt_energy_note(enum gt_scope scope, enum gt_metric_id metric, bool by_package)
{
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        if (metric == gt_energy_metrics[i])
            return scope == GT_SCOPE_COMBINED ? gt_energy_method(i, by_package) : NULL;
    for (int i = 0; i < ENERGY_PARTS; i++)
        if (metric == energy_parts[i].metric)
            return energy_parts[i].note;
    return NULL;
}

enum gt_metric_id gt_energy_whole(enum gt_metric_id metric)
{
    for (int i = 0; i < ENERGY_PARTS; i++)
        if (metric == energy_parts[i].metric)
            return energy_parts[i].whole;
    return metric;
}

struct gt_process_rate {
    pid_t pid;
    uint64_t start;
    struct gt_rate rate;
    double cpu_time; /* at the last row, seconds */
    double energy[GT_ENERGY_DEVICES];
    double taken[GT_ENERGY_DEVICES]; /* of that by its rank */
};

void gt_combine_init(struct gt_combiner *combine, const struct gt_combine_options *options)
{
    *combine = (struct gt_combiner){
        .detail = options->detail, .core_count = options->core_count, .system_utilization = NAN};
    combine->shortest_ns = (int64_t)(options->period * 0.1e9);
    gt_attribution_init(&combine->attribution, options->idle, options->core_count, options->start_ns);
    gt_values_clear(combine->job);
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        combine->recorded_joules[i] = NAN;
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++) {
        gt_values_clear(combine->peak[scope]);
        combine->gpu_hwms[scope] = NAN;
    }
}

void gt_combine_release(struct gt_combiner *combine)
{
    gt_attribution_release(&combine->attribution);
    free(combine->row);
    free(combine->process_rate);
    *combine = (struct gt_combiner){0};
}

static void raise_to(double *peak, double value)
{
    if (!isnan(value) && !(*peak >= value))
        *peak = value;
}

/* An upper bound that is missing stays so. */
static void raise_known(double *bound, double value)
{
    if (!isnan(*bound))
        raise_to(bound, value);
}

static void raise_above_zero(double *peak, double value)
{
    if (value > 0)
        raise_to(peak, value);
}

/* By metric.def, states of processes that are summed. What the job used of a counter the account has. */
static void tally(struct gt_combiner *combine, const struct gt_sampler *sampler)
{
    combine->living = 0;
    for (size_t i = 0; i < sampler->tree.count; i++)
        combine->living += !sampler->tree.process[i]->is_zombie;
    for (int id = 0; id < GT_PROCESS_METRICS; id++) {
        double main = NAN, rest = NAN, all = NAN;
        for (size_t i = 0; gt_metric_is_summed(id) && i < sampler->tree.count; i++) {
            const struct gt_process *process = sampler->tree.process[i];
            if (process->is_zombie)
                continue;
            gt_add_known(process->is_main ? &main : &rest, process->value[id]);
            gt_add_known(&all, process->value[id]);
        }
        combine->sum[GT_SCOPE_MAIN][id] = main;
        combine->sum[GT_SCOPE_DESCENDANTS][id] = rest;
        combine->sum[GT_SCOPE_COMBINED][id] = all;
    }
}

static const struct gt_process *main_process(const struct gt_sampler *sampler)
{
    return sampler->tree.count && sampler->tree.process[0]->is_main ? sampler->tree.process[0] : NULL;
}

/* The main process's own. While its mark is from before tracking began, the peak lies between the largest look and the mark. */
static void keep_main_peak(struct gt_combiner *combine, const struct gt_sampler *sampler)
{
    double *peak = combine->peak[GT_SCOPE_MAIN];
    const struct gt_process *main = main_process(sampler);
    if (main) {
        raise_to(&peak[GT_RAM_PEAK], main->value[GT_RAM_PEAK]);
        raise_to(&peak[GT_RAM_PEAK_BOUND], main->hwm);
        combine->has_main_hwm |= main->hwm > main->hwm_before;
    }
    combine->has_main_hwm |= sampler->account.main_peak > 0;
    raise_above_zero(&peak[GT_RAM_PEAK], sampler->account.main_peak);
    raise_above_zero(&peak[GT_RAM_PEAK], sampler->account.main_about);
    if (!(sampler->account.main_peak > 0))
        raise_above_zero(&peak[GT_RAM_PEAK_BOUND], sampler->account.main_bound);
    raise_to(&peak[GT_RAM_PEAK_BOUND], peak[GT_RAM_PEAK]);
}

static void keep_tree_peak(struct gt_combiner *combine, const struct gt_sampler *sampler, enum gt_scope scope)
{
    const struct gt_job_peak *job = &sampler->finder.peak;
    int which = scope == GT_SCOPE_COMBINED ? GT_PEAK_COMBINED : GT_PEAK_DESCENDANTS;
    raise_to(&combine->peak[scope][GT_RAM_PEAK], gt_job_peak_best(job, which).best);
    combine->peak[scope][GT_RAM_PEAK_BOUND] = gt_job_peak_most(job, which);
}

/* Where every fork was heard of, the kernel's counts are right, also when they fall because a process turned out to be no part of
 * the job. */
static void keep_counts(struct gt_combiner *combine, const struct gt_sampler *sampler)
{
    double(*peak)[GT_METRIC_COUNT] = combine->peak;
    const struct gt_membership_counts *counts = &sampler->finder.members.counts;
    const double threads[] = {
        [GT_SCOPE_MAIN] = (double)counts->main_threads_peak,
        [GT_SCOPE_DESCENDANTS] = (double)counts->descendant_threads_peak,
        [GT_SCOPE_COMBINED] = (double)counts->threads_peak,
    };
    bool is_exact = counts->started && !counts->has_lost_forks;
    for (int scope = GT_SCOPE_MAIN; scope <= GT_SCOPE_COMBINED; scope++) {
        double seen = combine->sum[scope][GT_THREADS];
        if (is_exact)
            peak[scope][GT_THREADS_PEAK] = threads[scope];
        else
            raise_to(&peak[scope][GT_THREADS_PEAK], fmax(seen, threads[scope] > 0 ? threads[scope] : NAN));
    }
    double *processes = &peak[GT_SCOPE_COMBINED][GT_PROCESSES_PEAK];
    if (is_exact)
        *processes = (double)counts->processes_peak;
    else
        raise_to(processes, fmax((double)combine->living, (double)counts->processes_peak));
}

/* What all had together when that was most, the main process cannot have had alone. */
static void keep_rest(struct gt_combiner *combine)
{
    double *rest = combine->peak[GT_SCOPE_DESCENDANTS];
    raise_to(&rest[GT_RAM_PEAK],
             combine->peak[GT_SCOPE_COMBINED][GT_RAM_PEAK] - combine->peak[GT_SCOPE_MAIN][GT_RAM_PEAK_BOUND]);
    raise_known(&rest[GT_RAM_PEAK_BOUND], rest[GT_RAM_PEAK]);
}

static bool is_of(const struct gt_process *process, enum gt_scope scope)
{
    return process && (scope == GT_SCOPE_COMBINED || process->is_main == (scope == GT_SCOPE_MAIN));
}

/* The sum over the GPUs of what processes of a scope use of them. */
static double gpu_use_of(const struct gt_sampler *sampler, enum gt_metric_id id, enum gt_scope scope)
{
    const struct gt_snapshot *snapshot = &sampler->snapshot;
    double sum = snapshot->device_count ? 0 : NAN;
    for (size_t i = 0; i < snapshot->share_count; i++) {
        const struct gt_share *share = &snapshot->share[i];
        if (is_of(gt_tree_find(&sampler->tree, share->pid), scope) && !isnan(share->value[id]) &&
            (id == GT_GPU_RAM || snapshot->device[share->device].selected))
            sum += share->value[id];
    }
    return sum;
}

/* Does a process use a GPU of whose memory its driver has no mark? */
static bool lacks_gpu_hwm(const struct gt_sampler *sampler, enum gt_scope scope)
{
    const struct gt_snapshot *snapshot = &sampler->snapshot;
    for (size_t i = 0; i < snapshot->share_count; i++) {
        const struct gt_share *share = &snapshot->share[i];
        bool has = !is_of(gt_tree_find(&sampler->tree, share->pid), scope) || !(share->value[GT_GPU_RAM] > 0);
        for (size_t k = 0; k < snapshot->hwm_count && !has; k++)
            has = snapshot->hwm[k].pid == share->pid && snapshot->hwm[k].device == share->device;
        if (!has)
            return true;
    }
    return false;
}

/* Marks are of the job's processes alone, and those that have ended are not in the tree any more. All that were alive since the look
 * before are among those of which this one tells; those that no look met, which the last one tells of, can have been beside any. */
static void keep_gpu_scope(struct gt_combiner *combine, const struct gt_sampler *sampler, enum gt_scope scope)
{
    double sum = NAN, past = 0, *peak = combine->peak[scope], *met = &combine->gpu_hwms[scope];
    for (size_t i = 0; i < sampler->snapshot.hwm_count; i++) {
        const struct gt_gpu_hwm *hwm = &sampler->snapshot.hwm[i];
        if (scope == (hwm->pid == combine->main_pid ? GT_SCOPE_DESCENDANTS : GT_SCOPE_MAIN))
            continue;
        gt_add_known(hwm->is_past ? &past : &sum, hwm->bound);
        raise_to(&peak[GT_GPU_RAM_PEAK], hwm->bytes);
    }
    combine->lacks_gpu_hwms[scope] |= lacks_gpu_hwm(sampler, scope);
    if (isnan(sum) && !(past > 0) && isnan(peak[GT_GPU_RAM_PEAK]))
        return;
    double held = gpu_use_of(sampler, GT_GPU_RAM, scope);
    raise_to(&peak[GT_GPU_RAM_PEAK], held);
    raise_to(met, fmax(sum, held));
    raise_to(&peak[GT_GPU_RAM_PEAK_BOUND], isnan(*met) ? past : *met + past);
    raise_to(&peak[GT_GPU_RAM_PEAK_BOUND], peak[GT_GPU_RAM_PEAK]);
    if (combine->lacks_gpu_hwms[scope])
        peak[GT_GPU_RAM_PEAK_BOUND] = NAN;
}

static void keep_gpu_peaks(struct gt_combiner *combine, const struct gt_sampler *sampler)
{
    const struct gt_process *main = main_process(sampler);
    combine->main_pid = main ? main->pid : combine->main_pid;
    for (int scope = GT_SCOPE_MAIN; scope <= GT_SCOPE_COMBINED; scope++)
        keep_gpu_scope(combine, sampler, scope);
}

static void keep_peaks(struct gt_combiner *combine, const struct gt_sampler *sampler)
{
    double(*peak)[GT_METRIC_COUNT] = combine->peak;
    keep_main_peak(combine, sampler);
    keep_tree_peak(combine, sampler, GT_SCOPE_DESCENDANTS);
    keep_tree_peak(combine, sampler, GT_SCOPE_COMBINED);
    raise_to(&peak[GT_SCOPE_COMBINED][GT_RAM_PEAK], peak[GT_SCOPE_MAIN][GT_RAM_PEAK]);
    raise_known(&peak[GT_SCOPE_COMBINED][GT_RAM_PEAK_BOUND], peak[GT_SCOPE_MAIN][GT_RAM_PEAK_BOUND]);
    keep_counts(combine, sampler);
    keep_gpu_peaks(combine, sampler);
    if (peak[GT_SCOPE_COMBINED][GT_PROCESSES_PEAK] > 1)
        keep_rest(combine);
}

void gt_combine_look(struct gt_combiner *combine, const struct gt_sampler *sampler)
{
    tally(combine, sampler);
    keep_peaks(combine, sampler);
}

/* In a reading after the end of the last process there is no memory to compare: the ratio of the reading before stays. */
static int keep_energy(struct gt_combiner *combine, const struct gt_sampler *sampler)
{
    const struct gt_snapshot *snapshot = &sampler->snapshot;
    struct gt_cpu_use use = {.at_ns = snapshot->monotonic_ns,
                             .busy = snapshot->system[GT_CPU_TIME],
                             .job = combine->job[GT_CPU_TIME],
                             .late = snapshot->read_seconds};
    double memory = combine->living ? gt_job_memory_figures(sampler->memory)->scope[GT_SCOPE_COMBINED].ram : NAN;
    int status = 0;
    gt_attribution_cover(&combine->attribution, snapshot);
    if (snapshot->package_count)
        status = gt_attribute_packages(&combine->attribution, snapshot, &sampler->tree, combine->job[GT_CPU_TIME]);
    else
        gt_attribute_cpu(&combine->attribution, snapshot->system[GT_CPU_ENERGY], use);
    gt_attribute_memory(&combine->attribution, snapshot->system[GT_DRAM_ENERGY], memory, snapshot->system[GT_RAM]);
    return status < 0 ? status : gt_attribute_gpus(&combine->attribution, snapshot, &sampler->tree);
}

static struct gt_process_rate *rate_of(struct gt_combiner *combine, const struct gt_process *process)
{
    size_t before = combine->process_rate_capacity;
    if (GT_GROW_TO(combine->process_rate, combine->process_rate_capacity, process->slot + 1) < 0)
        return NULL;
    for (size_t i = before; i < combine->process_rate_capacity; i++)
        combine->process_rate[i] = (struct gt_process_rate){0};
    struct gt_process_rate *rate = &combine->process_rate[process->slot];
    if (rate->pid != process->pid || rate->start != process->start)
        *rate = (struct gt_process_rate){.pid = process->pid, .start = process->start};
    return rate;
}

double gt_combined_joules(const struct gt_combiner *combine, const struct gt_process *process,
                          enum gt_energy_device device)
{
    bool is_kept = process->slot < combine->process_rate_capacity;
    const struct gt_process_rate *rate = is_kept ? &combine->process_rate[process->slot] : NULL;
    return rate && rate->pid == process->pid && rate->start == process->start ? rate->energy[device] : 0;
}

/* CPU seconds of a process since they were last divided. */
static double used_seconds(const struct gt_process *process, const struct gt_process_rate *rate)
{
    return fmax(0, process->value[GT_CPU_TIME] - process->baseline.own_base - rate->cpu_time);
}

/* The part of the job's CPU energy that a process drew: by its CPU seconds, and with several packages by where it used them. */
static double weight_of(const struct gt_combiner *combine, const struct gt_process *process,
                        const struct gt_process_rate *rate)
{
    const struct gt_attribution *attribution = &combine->attribution;
    double joules = 0;
    if (!attribution->package_count)
        return used_seconds(process, rate);
    for (size_t i = 0; process->placement && i < attribution->package_count; i++) {
        const struct gt_package_share *package = &attribution->package[i];
        if (package->recent > 0)
            joules += package->cpu.joules * process->placement->recent[i] / package->recent;
    }
    return joules;
}

/* What processes used that have ended since belongs to none of the living. Energy waits for the job's CPU time to grow. */
static void divide_cpu_energy(struct gt_combiner *combine, const struct gt_sampler *sampler)
{
    const struct gt_attribution *attribution = &combine->attribution;
    double whole = combine->job[GT_CPU_TIME] - combine->divided_seconds, sum = 0;
    combine->cpu_joules += attribution->cpu_joules;
    if (attribution->package_count)
        whole = 0;
    for (size_t i = 0; i < attribution->package_count; i++)
        whole += attribution->package[i].recent > 0 ? attribution->package[i].cpu.joules : 0;
    if (!(whole > 0))
        return;
    for (size_t i = 0; i < sampler->tree.count; i++) {
        const struct gt_process_rate *rate = rate_of(combine, sampler->tree.process[i]);
        sum += rate ? weight_of(combine, sampler->tree.process[i], rate) : 0;
    }
    for (size_t i = 0; i < sampler->tree.count; i++) {
        const struct gt_process *process = sampler->tree.process[i];
        struct gt_process_rate *rate = rate_of(combine, process);
        if (!rate)
            continue;
        rate->energy[GT_ENERGY_CPU] += combine->cpu_joules * weight_of(combine, process, rate) / fmax(whole, sum);
        rate->cpu_time += used_seconds(process, rate);
    }
    combine->divided_seconds = combine->job[GT_CPU_TIME];
    combine->cpu_joules = 0;
}

/* The job's DRAM energy by resident memory. */
static void divide_memory_energy(struct gt_combiner *combine, const struct gt_sampler *sampler)
{
    double joules = combine->attribution.memory_joules, sum = combine->sum[GT_SCOPE_COMBINED][GT_RSS];
    for (size_t i = 0; sum > 0 && joules > 0 && i < sampler->tree.count; i++) {
        const struct gt_process *process = sampler->tree.process[i];
        struct gt_process_rate *rate = rate_of(combine, process);
        if (rate && !process->is_zombie && process->value[GT_RSS] > 0)
            rate->energy[GT_ENERGY_DRAM] += joules * process->value[GT_RSS] / sum;
    }
}

/* Each process's part of what the job was charged with since the last reading. */
static void keep_process_energy(struct gt_combiner *combine, const struct gt_sampler *sampler)
{
    const struct gt_attribution *attribution = &combine->attribution;
    divide_cpu_energy(combine, sampler);
    divide_memory_energy(combine, sampler);
    for (size_t k = 0; k < sampler->snapshot.share_count; k++) {
        const struct gt_process *process = gt_tree_find(&sampler->tree, sampler->snapshot.share[k].pid);
        struct gt_process_rate *rate = process ? rate_of(combine, process) : NULL;
        if (rate)
            rate->energy[GT_ENERGY_GPU] += attribution->share_joules[k];
    }
}

static void keep_ranks(struct gt_combiner *combine, const struct gt_sampler *sampler)
{
    gt_rank_finder_add(&sampler->ranks, &sampler->snapshot, &sampler->tree);
    for (size_t i = 0; i < sampler->tree.count; i++) {
        const struct gt_process *process = sampler->tree.process[i];
        struct gt_process_rate *rate = process->rank ? rate_of(combine, process) : NULL;
        for (int device = 0; device < GT_ENERGY_DEVICES && rate; device++) {
            if (combine->attribution.energy[device].is_measured)
                gt_add_known(&process->rank->figures.energy[device], rate->energy[device] - rate->taken[device]);
            rate->taken[device] = rate->energy[device];
        }
    }
}

int gt_combine_keep(struct gt_combiner *combine, const struct gt_sampler *sampler)
{
    gt_account_totals(&sampler->account, &sampler->tree, combine->job);
    gt_combine_look(combine, sampler);
    int status = keep_energy(combine, sampler);
    if (status >= 0 && (combine->detail || sampler->ranks.count))
        keep_process_energy(combine, sampler);
    if (status >= 0 && sampler->ranks.count)
        keep_ranks(combine, sampler);
    return status;
}

/* Drivers without samples of their own between two readings: the reading is the highest that is known. */
static double device_value(const struct gt_device *device, enum gt_metric_id id)
{
    enum gt_metric_id instead = id == GT_GPU_POWER_PEAK         ? GT_GPU_POWER
                                : id == GT_GPU_UTILIZATION_PEAK ? GT_GPU_UTILIZATION
                                                                : id;
    return isnan(device->value[id]) ? device->value[instead] : device->value[id];
}

static double combined_gpus(const struct gt_snapshot *snapshot, enum gt_metric_id id)
{
    double total = NAN;
    for (size_t i = 0; i < snapshot->device_count; i++) {
        const struct gt_device *device = &snapshot->device[i];
        bool counts = (id == GT_GPU_RAM || device->selected) && device->parent < 0; /* a slice is part of its board */
        double value = device_value(device, id);
        if (counts && !isnan(value))
            total = isnan(total) ? value : gt_metrics[id].combine == GT_MAX ? fmax(total, value) : total + value;
    }
    return total;
}

static void combine_gpus(const struct gt_sampler *sampler, struct gt_row *row)
{
    const struct gt_snapshot *snapshot = &sampler->snapshot;
    for (int scope = GT_SCOPE_MAIN; scope <= GT_SCOPE_COMBINED; scope++)
        row[scope].value[GT_GPU_RAM] = gpu_use_of(sampler, GT_GPU_RAM, scope);
    row[GT_SCOPE_COMBINED].value[GT_GPU_UTILIZATION] = gpu_use_of(sampler, GT_GPU_UTILIZATION, GT_SCOPE_COMBINED);
    if (!snapshot->device_count)
        return;
    for (int id = 0; id < GT_METRIC_COUNT; id++) {
        if (gt_metric_has(id, GT_SCOPE_GPU) && gt_metric_has(id, GT_SCOPE_SYSTEM))
            row[GT_SCOPE_SYSTEM].value[id] = combined_gpus(snapshot, id);
    }
}

static void combine_memory(const struct gt_sampler *sampler, struct gt_row *row)
{
    for (int scope = GT_SCOPE_MAIN; scope <= GT_SCOPE_COMBINED; scope++) {
        const struct gt_scope_memory *memory = &gt_job_memory_figures(sampler->memory)->scope[scope];
        if (scope == GT_SCOPE_MAIN && !main_process(sampler))
            continue;
        row[scope].value[GT_RAM] = memory->ram;
        row[scope].value[GT_RAM_PRIVATE] = memory->private_bytes;
        row[scope].value[GT_RAM_SHARED] = memory->shared_bytes;
        row[scope].value[GT_RSS] = memory->rss;
    }
    row[GT_SCOPE_COMBINED].value[GT_RAM_PRIVATE_ANONYMOUS] =
        gt_job_memory_figures(sampler->memory)->scope[GT_SCOPE_COMBINED].anonymous;
}

/* The machine's CPU time comes in clock ticks: an interval below some of them is noise, and the last value stays. */
static double system_utilization(struct gt_combiner *combine, const struct gt_sampler *sampler,
                                 const struct gt_row *row)
{
    int64_t shortest = combine->shortest_ns > GT_RATE_TICKS_NS ? combine->shortest_ns : GT_RATE_TICKS_NS;
    double utilization = gt_rate_next(&combine->cpu[GT_SCOPE_SYSTEM], row[GT_SCOPE_SYSTEM].value[GT_CPU_TIME],
                                      sampler->snapshot.monotonic_ns, shortest, combine->core_count);
    if (!isnan(utilization))
        combine->system_utilization = utilization;
    return combine->system_utilization;
}

static void combine_cpu(const struct gt_combiner *combine, const struct gt_sampler *sampler, struct gt_row *row)
{
    const double *job = combine->job;
    for (int k = 0; k < GT_ACCOUNTED; k++)
        row[GT_SCOPE_COMBINED].value[gt_accounted[k]] = job[gt_accounted[k]];
    double main = sampler->account.main_own_cpu;
    row[GT_SCOPE_MAIN].value[GT_CPU_TIME] = main;
    row[GT_SCOPE_DESCENDANTS].value[GT_CPU_TIME] = fmax(0, job[GT_CPU_TIME] - main);
}

static void combine_rates(struct gt_combiner *combine, const struct gt_sampler *sampler, struct gt_row *row)
{
    row[GT_SCOPE_SYSTEM].value[GT_CPU_UTILIZATION] = system_utilization(combine, sampler, row);
    for (int scope = GT_SCOPE_MAIN; scope < GT_FIXED_ROWS; scope++)
        row[scope].value[GT_CPU_UTILIZATION] = gt_rate_next(&combine->cpu[scope], row[scope].value[GT_CPU_TIME],
                                                            sampler->snapshot.monotonic_ns, combine->shortest_ns,
                                                            combine->core_count);
}

static void combine_processes(const struct gt_combiner *combine, const struct gt_sampler *sampler, struct gt_row *row)
{
    for (int scope = GT_SCOPE_MAIN; scope <= GT_SCOPE_COMBINED; scope++)
        for (int id = 0; id < GT_PROCESS_METRICS; id++)
            if (gt_metric_is_summed(id) && gt_metric_has(id, scope))
                row[scope].value[id] = combine->sum[scope][id];
    uint64_t heard = sampler->finder.members.counts.started;
    double *threads = &row[GT_SCOPE_DESCENDANTS].value[GT_THREADS];
    *threads = isnan(*threads) ? 0 : *threads;
    row[GT_SCOPE_COMBINED].value[GT_PROCESSES] = (double)combine->living;
    row[GT_SCOPE_COMBINED].value[GT_PROCESSES_STARTED] = (double)(heard ? heard : sampler->tree.started);
}

static void clear_row(struct gt_row *row, enum gt_scope scope)
{
    *row = (struct gt_row){.scope = scope, .device = -1};
    gt_values_clear(row->value);
}

/* A counter that could not be read this time is missing in this row; its next value covers the gap. */
static void hide(struct gt_row *row, struct gt_energy_reading *energy, enum gt_energy_device device)
{
    enum gt_metric_id counter = gt_energy_metrics[device];
    row[GT_SCOPE_SYSTEM].value[counter] = row[GT_SCOPE_COMBINED].value[counter] = NAN;
    energy->device[device].total = energy->device[device].job = NAN;
}

void gt_combine_hide_old(struct gt_combiner *combine, struct gt_sample *sample)
{
    const struct gt_attribution *attribution = &combine->attribution;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        double joules = sample->energy.device[i].total;
        bool is_old = joules <= combine->recorded_joules[i] &&
                      gt_coverage_is_waiting(gt_attribution_coverage(attribution, i), attribution->now_ns);
        if (is_old)
            hide(combine->row, &sample->energy, i);
        else if (!isnan(joules))
            combine->recorded_joules[i] = joules;
    }
}

static void combine_energy(const struct gt_combiner *combine, struct gt_row *row, struct gt_energy_reading *ret)
{
    gt_attribution_read(&combine->attribution, ret);
    ret->cpu_time = row[GT_SCOPE_COMBINED].value[GT_CPU_TIME];
    ret->platform = row[GT_SCOPE_SYSTEM].value[GT_PLATFORM_ENERGY];
    ret->wall = row[GT_SCOPE_SYSTEM].value[GT_WALL_ENERGY];
    gt_energy_reading_show(ret, row[GT_SCOPE_SYSTEM].value, row[GT_SCOPE_COMBINED].value);
}

static const enum gt_metric_id peaks[] = {
#define OF_GAUGE(symbol)
#define OF_COUNTER(symbol)
#define OF_PEAK(symbol) GT_##symbol,
#define METRIC(symbol, name, unit, kind, combine, job, scopes, help) OF_##kind(symbol)
#include "schema/metric.def"
#undef METRIC
};

void gt_combine_fixed(const struct gt_combiner *combine, const struct gt_sampler *sampler,
                      struct gt_row row[GT_FIXED_ROWS], struct gt_energy_reading *energy)
{
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
        clear_row(&row[scope], scope);
    memcpy(row[GT_SCOPE_SYSTEM].value, sampler->snapshot.system, sizeof sampler->snapshot.system);
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        if (!isnan(sampler->snapshot.job[id]))
            row[GT_SCOPE_COMBINED].value[id] = sampler->snapshot.job[id];
    combine_processes(combine, sampler, row);
    combine_memory(sampler, row);
    combine_cpu(combine, sampler, row);
    combine_gpus(sampler, row);
    combine_energy(combine, row, energy);
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
        for (size_t i = 0; i < sizeof peaks / sizeof *peaks; i++)
            if (!isnan(combine->peak[scope][peaks[i]]))
                row[scope].value[peaks[i]] = combine->peak[scope][peaks[i]];
}

static void show_process_energy(const struct gt_combiner *combine, const struct gt_process_rate *rate,
                                double values[GT_METRIC_COUNT])
{
    for (int device = 0; device < GT_ENERGY_DEVICES; device++) {
        if (!combine->attribution.energy[device].is_measured)
            continue;
        values[gt_energy_metrics[device]] = rate->energy[device];
        gt_add_known(&values[GT_ENERGY], rate->energy[device]);
    }
}

static void process_row(struct gt_combiner *combine, const struct gt_sampler *sampler, const struct gt_process *process,
                        struct gt_row *row)
{
    clear_row(row, GT_SCOPE_PROCESS);
    row->pid = process->pid;
    row->parent = process->parent;
    row->start = process->start;
    row->rank = process->rank ? process->rank->figures.rank + 1 : 0;
    memcpy(row->value, process->value, sizeof process->value);
    row->value[GT_CPU_TIME] -= process->baseline.own_base;
    struct gt_process_rate *rate = rate_of(combine, process);
    if (rate) {
        show_process_energy(combine, rate, row->value);
        row->value[GT_CPU_UTILIZATION] = gt_rate_next(&rate->rate, row->value[GT_CPU_TIME],
                                                      sampler->snapshot.monotonic_ns, combine->shortest_ns,
                                                      combine->core_count);
    }
    for (size_t i = 0; i < sampler->snapshot.share_count; i++) {
        const struct gt_share *share = &sampler->snapshot.share[i];
        if (share->pid != process->pid)
            continue;
        for (int id = 0; id < GT_METRIC_COUNT; id++)
            gt_add_known(&row->value[id], share->value[id]);
    }
}

static size_t gpu_rows(const struct gt_sampler *sampler, struct gt_row *row)
{
    for (size_t i = 0; i < sampler->snapshot.device_count; i++) {
        clear_row(&row[i], GT_SCOPE_GPU);
        row[i].device = (int)i;
        for (int id = 0; id < GT_METRIC_COUNT; id++)
            row[i].value[id] = device_value(&sampler->snapshot.device[i], id);
    }
    return sampler->snapshot.device_count;
}

int gt_combine(struct gt_combiner *combine, const struct gt_sampler *sampler, struct gt_sample *ret)
{
    size_t processes = combine->detail ? sampler->tree.count : 0;
    size_t rows = GT_FIXED_ROWS + sampler->snapshot.device_count + processes;
    int status = GT_GROW_TO(combine->row, combine->row_capacity, rows);
    if (status < 0)
        return status;
    status = gt_combine_keep(combine, sampler);
    if (status < 0)
        return status;
    *ret = (struct gt_sample){
        .real_ns = sampler->snapshot.real_ns, .monotonic_ns = sampler->snapshot.monotonic_ns, .row = combine->row};
    gt_combine_fixed(combine, sampler, combine->row, &ret->energy);
    combine_rates(combine, sampler, combine->row);
    for (int i = 0; i < GT_ENERGY_GPU; i++)
        if (isnan(sampler->snapshot.system[gt_energy_metrics[i]]))
            hide(combine->row, &ret->energy, i);
    size_t count = GT_FIXED_ROWS;
    count += gpu_rows(sampler, combine->row + count);
    for (size_t i = 0; i < processes; i++)
        process_row(combine, sampler, sampler->tree.process[i], &combine->row[count++]);
    ret->row_count = count;
    return 0;
}
