
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analyse/usage/usage.h"
#include "schema/human.h"

static const double MIB = 1048576, GIB = 1073741824;
static const double SPARE = 1.2, LEAST_SPARE_MIB = 256, FINE_BELOW_GIB = 8;
static const double SPARE_SECONDS = 300, ROUND_SECONDS = 300;
static const double USED = 0.05;             /* of the time, at which a GPU is counted */
static const double CORES_EXACTNESS = 1.011; /* of steps in aggregate/summary.h */

void gt_next_time_init(struct gt_next_time *next)
{
    *next = (struct gt_next_time){.memory = NAN,
                                  .cores = NAN,
                                  .gpus = NAN,
                                  .gpu_ram = NAN,
                                  .seconds = NAN,
                                  .killed_at = NAN,
                                  .throttled_at = NAN};
}

/* ---- What a run tells -------------------------------------------------------------------------------------------- */

static double round_up(double value, double step)
{
    return ceil(value / step - 1e-9) * step;
}

static double round_memory(double bytes)
{
    return round_up(bytes, bytes < FINE_BELOW_GIB * GIB ? LEAST_SPARE_MIB * MIB : GIB);
}

static double memory_for(double used)
{
    return round_memory(fmax(used * SPARE, used + LEAST_SPARE_MIB * MIB));
}

static double seconds_for(double elapsed)
{
    return round_up(elapsed * SPARE + SPARE_SECONDS, ROUND_SECONDS);
}

/* The peak, with what the kernel cannot give up beside it: swapped pages, and tmpfs that no process maps. That may have been mapped later,
 * and is part of the peak then: all of it together is no more than the group was charged with. */
static double memory_of(const struct gt_usage *usage)
{
    double swap = usage->summary->of[GT_SCOPE_COMBINED][GT_SWAP].max;
    double peak = gt_usage_peak(usage), all = peak + gt_usage_unmapped(usage), charged = gt_usage_group_peak(usage);
    return memory_for(fmin(all, isnan(charged) ? all : fmax(peak, charged)) + (swap > 0 ? swap : 0));
}

static double killed_at(const struct gt_usage *usage)
{
    if (gt_usage_out_of_memory(usage) == GT_MEMORY_SUFFICED)
        return NAN;
    double limit = gt_usage_memory_limit_met(usage);
    return isnan(limit) ? gt_usage_peak(usage) : limit;
}

static double cores_of(const struct gt_usage *usage)
{
    double mean = gt_usage_cores(usage, GT_SCOPE_COMBINED);
    double busy = gt_utilization_cores(&usage->summary->utilization, 0.95) / CORES_EXACTNESS;
    return mean < 1.1 ? fmin(fmax(mean, isnan(busy) ? 0 : busy), 1) : isnan(busy) ? mean : fmax(mean, busy);
}

/* A recording without detail tells only that some were used: then all that there are count. */
static double gpus_of(const struct gt_usage *usage)
{
    const struct gt_utilization *utilization = &usage->summary->utilization;
    double count = 0, given = gt_usage_given(usage, GT_LIMIT_GPUS);
    if (!usage->machine->gpu_count)
        return 0;
    for (size_t i = 0; i < utilization->gpus && i < usage->machine->gpu_length; i++) {
        const struct gt_gpu_use_time *time = &utilization->gpu[i];
        count += usage->machine->gpu[i].selected && (time->known - time->idle) / time->known > USED;
    }
    const struct gt_gpu_use_time *all = &utilization->all_gpus;
    bool are_some_used = all->known > 0 && (all->known - all->idle) / all->known > USED;
    if (!utilization->gpus && are_some_used)
        return isnan(given) ? usage->machine->expected_gpus : given;
    return count;
}

static double gpu_ram_of(const struct gt_usage *usage)
{
    double most = NAN;
    for (size_t i = 0; i < usage->summary->gpu_count && i < usage->machine->gpu_length; i++)
        if (usage->machine->gpu[i].selected)
            most = fmax(most, usage->summary->gpu[i][GT_GPU_RAM].max);
    return most;
}

/* A job that failed would have gone on, nobody knows how long. */
static double seconds_of(const struct gt_usage *usage)
{
    if (usage->outcome->exit_status != 0 || !usage->outcome->complete)
        return NAN;
    return seconds_for(usage->outcome->elapsed);
}

/* As it was asked for, or where each of several parts of a job has its own memory. */
static bool is_by_core(const struct gt_machine *machine)
{
    return machine->asks_by_core || !strcmp(machine->limit[GT_LIMIT_MEMORY].source, "SLURM_MEM_PER_CPU");
}

/* A quota of which others in the group took a part holds back below what was given. */
static double throttled_at(const struct gt_usage *usage)
{
    double given = gt_usage_given(usage, GT_LIMIT_CORES), share = usage->outcome->events.throttled_periods;
    if (!(share > GT_THROTTLED_SHARE))
        return NAN;
    return given > 0 ? given : gt_usage_cores(usage, GT_SCOPE_COMBINED);
}

void gt_next_time_add(struct gt_next_time *next, const struct gt_usage *usage)
{
    double quota = throttled_at(usage);
    double limit = killed_at(usage); /* fmax passes over NaN */
    int tasks = usage->machine->tasks > 1 ? usage->machine->tasks : 1;
    next->is_by_core = is_by_core(usage->machine) && (next->is_by_core || !next->runs);
    next->tasks = !next->runs || next->tasks == tasks ? tasks : 1;
    next->runs++;
    next->memory = fmax(next->memory, memory_of(usage));
    next->cores = fmax(next->cores, cores_of(usage));
    next->gpus = fmax(next->gpus, gpus_of(usage));
    next->gpu_ram = fmax(next->gpu_ram, gpu_ram_of(usage));
    next->seconds = fmax(next->seconds, seconds_of(usage));
    next->is_unfinished |= !usage->outcome->complete;
    gt_next_time_kill(next, limit);
    if (usage->outcome->complete && usage->outcome->exit_status > 0)
        next->failed_with = usage->outcome->exit_status;
    next->throttled_at = fmax(next->throttled_at, quota);
    if (!isnan(quota)) /* twice where it was held back all the time */
        next->cores = fmax(next->cores, quota * (1 + fmin(usage->outcome->events.throttled_periods, 1)));
}

void gt_next_time_kill(struct gt_next_time *next, double bytes)
{
    if (isnan(bytes))
        return;
    next->killed_at = fmax(next->killed_at, bytes);
    next->memory = fmax(next->memory, round_memory(2 * bytes));
}

void gt_next_time_expect(struct gt_next_time *next, double memory, double seconds)
{
    next->memory = memory_for(memory);
    next->seconds = seconds_for(seconds);
}

/* ---- In the words of schedulers ---------------------------------------------------------------------------------- */

/* NaN where it is not known, like the figures themselves. */
static double whole_cores(const struct gt_next_time *next)
{
    return isnan(next->cores) ? NAN : fmax(ceil(next->cores - 1e-9), 1);
}

static double gpus_used(const struct gt_next_time *next)
{
    return next->gpus > 0 ? next->gpus : NAN;
}

enum { JOINED = -1 }; /* as the beginning of a line: no blank parts an option from what is before it */

static void put_name(struct gt_buffer *out, long begin, const char *name)
{
    gt_buffer_printf(out, "%s%s", begin >= 0 && out->length > (size_t)begin ? " " : "", name);
}

/* An option whose value is known. */
static void put_number(struct gt_buffer *out, long begin, const char *name, double value)
{
    if (isnan(value))
        return;
    put_name(out, begin, name);
    gt_buffer_printf(out, "%.0f", value);
}

/* "--mem=16G", "--mem=768M", with the letters of the scheduler. */
static void put_memory(struct gt_buffer *out, long begin, const char *name, double bytes, const char *large,
                       const char *small)
{
    bool is_whole = fmod(bytes, GIB) == 0;
    if (isnan(bytes))
        return;
    put_name(out, begin, name);
    gt_buffer_printf(out, "%.0f%s", bytes / (is_whole ? GIB : MIB), is_whole ? large : small);
}

static void put_time(struct gt_buffer *out, long begin, const char *name, double seconds, const char *end)
{
    long minutes = lround(isnan(seconds) ? 0 : seconds / 60);
    if (isnan(seconds))
        return;
    put_name(out, begin, name);
    gt_buffer_printf(out, "%ld:%02ld%s", minutes / 60, minutes % 60, end);
}

/* Without the number of tasks, which says how the work is divided, and stays as it is. */
static void put_slurm(struct gt_buffer *out, const struct gt_next_time *next)
{
    long begin = (long)out->length;
    double tasks = fmax(next->tasks, 1), cores = ceil(whole_cores(next) / tasks);
    if (next->is_by_core && !isnan(next->memory) && !isnan(cores))
        put_memory(out, begin, "--mem-per-cpu=", round_memory(next->memory / (cores * tasks)), "G", "M");
    else
        put_memory(out, begin, "--mem=", next->memory, "G", "M");
    put_number(out, begin, "--cpus-per-task=", cores);
    put_number(out, begin, "--gpus=", gpus_used(next));
    put_time(out, begin, "--time=", next->seconds, ":00");
}

static void put_pbs(struct gt_buffer *out, const struct gt_next_time *next)
{
    gt_buffer_printf(out, "-l select=%zu", next->nodes > 1 ? next->nodes : 1);
    put_number(out, JOINED, ":ncpus=", whole_cores(next));
    put_memory(out, JOINED, ":mem=", next->memory, "gb", "mb");
    put_number(out, JOINED, ":ngpus=", gpus_used(next));
    put_time(out, JOINED, " -l walltime=", next->seconds, ":00");
}

/* The limit of bsub kills, what is reserved finds a host with as much. */
static void put_lsf(struct gt_buffer *out, const struct gt_next_time *next)
{
    double cores = fmax(whole_cores(next), 1); /* fmax passes over NaN */
    gt_buffer_printf(out, "-n %.0f", cores * (next->nodes > 1 ? (double)next->nodes : 1));
    if (!isnan(next->memory)) {
        put_memory(out, JOINED, " -M ", next->memory, "GB", "MB");
        if (next->nodes > 1)
            gt_buffer_printf(out, " -R \"span[ptile=%.0f] rusage[mem=", cores);
        else
            gt_buffer_text(out, " -R \"span[hosts=1] rusage[mem=");
        put_memory(out, JOINED, "", next->memory, "GB", "MB");
        gt_buffer_text(out, "]\"");
    }
    if (next->gpus > 0)
        gt_buffer_printf(out, " -gpu \"num=%.0f\"", next->gpus);
    put_time(out, JOINED, " -W ", next->seconds, "");
}

/* No limit on cores: it would only hold the job back. Inline, so that it is YAML on one line, too. */
static void put_k8s(struct gt_buffer *out, const struct gt_next_time *next)
{
    gt_buffer_printf(out, "resources: {requests: {cpu: %.0fm",
                     isnan(next->cores) ? 1000 : fmax(ceil(next->cores * 10 - 1e-9) * 100, 100));
    put_memory(out, JOINED, ", memory: ", next->memory, "Gi", "Mi");
    gt_buffer_text(out, "}, limits: {");
    put_memory(out, JOINED, "memory: ", next->memory, "Gi", "Mi");
    put_number(out, JOINED, isnan(next->memory) ? "nvidia.com/gpu: " : ", nvidia.com/gpu: ", gpus_used(next));
    gt_buffer_text(out, "}}");
}

static void put_docker(struct gt_buffer *out, const struct gt_next_time *next)
{
    long begin = (long)out->length;
    put_memory(out, begin, "--memory=", next->memory, "g", "m");
    put_number(out, begin, "--cpus=", whole_cores(next));
    put_number(out, begin, "--gpus=", gpus_used(next));
}

const char *const gt_request_kinds[] = {"slurm", "k8s", "pbs", "lsf", "docker", NULL};

int gt_next_time_request(struct gt_buffer *out, const struct gt_next_time *next, const char *kind)
{
    static void (*const put[])(struct gt_buffer *, const struct gt_next_time *) = {put_slurm, put_k8s, put_pbs, put_lsf,
                                                                                   put_docker};
    for (size_t i = 0; gt_request_kinds[i]; i++)
        if (!strcmp(gt_request_kinds[i], kind)) {
            put[i](out, next);
            return 0;
        }
    return -ENOENT;
}

void gt_next_time_doubt(struct gt_buffer *out, const struct gt_next_time *next)
{
    size_t begin = out->length;
    if (!isnan(next->killed_at))
        gt_buffer_printf(out, "more than %s; the limit ended %s before its peak", GT_HUMAN(bytes, next->killed_at),
                         next->runs > 1 ? "a run" : "the run");
    if (!isnan(next->throttled_at))
        gt_buffer_printf(out, "%smore than %s cores; the limit slowed %s", out->length > begin ? "; " : "",
                         GT_HUMAN(round_number, next->throttled_at), next->runs > 1 ? "a run" : "the run");
    if (next->failed_with && isnan(next->killed_at))
        gt_buffer_printf(out, "%s%s failed with status %d: a whole run may need more", out->length > begin ? "; " : "",
                         next->runs > 1 ? "a run" : "this run", next->failed_with);
    if (next->is_unfinished)
        gt_buffer_printf(out, "%s%s has no end: the job may have used more later", out->length > begin ? "; " : "",
                         next->runs > 1 ? "a recording" : "this recording");
}

void gt_next_time_try(struct gt_buffer *out, const struct gt_next_time *next)
{
    size_t begin = out->length;
    if (!isnan(next->killed_at))
        put_memory(out, JOINED, "", next->memory, "G", "M"); /* as schedulers take it */
    if (!isnan(next->throttled_at))
        gt_buffer_printf(out, "%s%s cores", out->length > begin ? ", " : "", GT_HUMAN(number, next->cores));
}

void gt_next_time_requests(struct gt_node *section, const struct gt_next_time *next)
{
    for (size_t i = 0; gt_request_kinds[i]; i++) {
        struct gt_buffer line = {0};
        gt_next_time_request(&line, next, gt_request_kinds[i]);
        gt_report_text(section, gt_request_kinds[i], gt_request_kinds[i], line.data);
        gt_buffer_release(&line);
    }
}

/* ---- For programs ------------------------------------------------------------------------------------------------ */

void gt_next_time_section(const struct gt_usage *usage, struct gt_node *root)
{
    struct gt_next_time next;
    struct gt_node *section = gt_report_section(root, "next_time", "Next time");
    gt_next_time_init(&next);
    gt_next_time_add(&next, usage);
    gt_node_flags(section, GT_ONLY_DATA);
    gt_report_number(section, "memory", "Memory", next.memory, "bytes");
    gt_report_number(section, "cores", "Cores", next.cores, NULL);
    gt_report_number(section, "gpus", "GPUs", next.gpus, NULL);
    gt_report_number(section, "time", "Time", next.seconds, "seconds");
    gt_report_number(section, "killed_at", "Killed at", next.killed_at, "bytes");
    gt_report_number(section, "throttled_at", "Throttled at", next.throttled_at, NULL);
    gt_next_time_requests(section, &next);
}
