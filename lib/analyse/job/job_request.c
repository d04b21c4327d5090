#include "analyse/job/job_report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/job/rank_scores.h"
#include "schema/human.h"

/* ---- Figures ----------------------------------------------------------------------------------------------------- */

/* A rank that waits in between needs the cores that it has while it works; below one core it needs one at most. */
static double cores_of(const struct gt_job *job, const struct gt_job_rank *rank)
{
    double mean = gt_job_figure(job, rank->whole, GT_JOB_CORES), cores = fmax(mean, rank->cores_p95);
    return mean < 1.1 ? fmin(cores, 1) : cores;
}

static size_t most_ranks(const struct gt_job *job)
{
    size_t most = 1;
    for (size_t i = 0; i < job->nodes; i++)
        most = job->node[i].count > most ? job->node[i].count : most;
    return most;
}

static bool ended_well(const struct gt_job *job)
{
    struct gt_buffer missing = {0};
    bool is_well = gt_job_missing(&missing, job) == 0;
    for (size_t i = 0; i < job->count; i++)
        is_well &= job->rank[i].complete && job->rank[i].exit_status <= 0;
    gt_buffer_release(&missing);
    return is_well;
}

static bool uses_gpus(const struct gt_job *job)
{
    for (size_t i = 0; i < job->count; i++)
        if (job->rank[i].gpu_ram > 0 || job->rank[i].gpu_use > 0)
            return true;
    return false;
}

static double gpus_of(const struct gt_job *job)
{
    if (!job->gpus)
        return 0;
    return !isnan(job->gpus_used) ? job->gpus_used : uses_gpus(job) ? (double)job->gpus : 0;
}

static double worst_memory(const struct gt_job *job, bool of_rank)
{
    double worst = NAN;
    for (size_t i = 0; i < job->nodes && !of_rank; i++)
        worst = fmax(worst, job->node[i].ram.most);
    for (size_t i = 0; i < job->count && of_rank; i++)
        worst = fmax(worst, job->rank[i].ram.most);
    return worst;
}

/* Memory and GPUs are counted for each of so many: nodes, or ranks. */
void gt_job_next_time(struct gt_next_time *ret, const struct gt_job *job, const char *kind)
{
    bool by_rank = !strcmp(kind, "k8s") || !strcmp(kind, "docker"), is_slurm = !strcmp(kind, "slurm");
    size_t ranks = most_ranks(job), parts = by_rank ? job->count : job->nodes;
    const struct gt_machine *machine = &job->rank[0].machine;
    gt_next_time_init(ret);
    gt_next_time_expect(ret, worst_memory(job, by_rank), ended_well(job) ? job->end - job->begin : NAN);
    for (size_t i = 0; i < job->count; i++) {
        ret->cores = fmax(ret->cores, cores_of(job, &job->rank[i]));
        ret->is_unfinished |= !job->rank[i].complete;
        gt_next_time_kill(ret, job->rank[i].killed_at);
        if (job->rank[i].complete && job->rank[i].exit_status > 0)
            ret->failed_with = job->rank[i].exit_status;
    }
    ret->runs = job->count;
    ret->nodes = by_rank || is_slurm ? 1 : job->nodes;
    ret->tasks = is_slurm ? (int)ranks : 1;
    ret->cores *= by_rank ? 1 : (double)ranks;
    ret->gpus = is_slurm ? gpus_of(job) : ceil(gpus_of(job) / (double)parts);
    ret->is_by_core = is_slurm && !strcmp(machine->limit[GT_LIMIT_MEMORY].source, "SLURM_MEM_PER_CPU");
}

int gt_job_request(struct gt_buffer *out, const struct gt_job *job, const char *kind)
{
    struct gt_next_time next;
    gt_job_next_time(&next, job, kind);
    return gt_next_time_request(out, &next, kind);
}

/* ---- Reasons ----------------------------------------------------------------------------------------------------- */

/* 0: not known. */
static double asked(const struct gt_job *job, enum gt_limit_kind kind)
{
    double most = 0;
    for (size_t i = 0; i < job->count; i++)
        most = fmax(most, job->rank[i].machine.limit[kind].value);
    return most;
}

static double busiest(const struct gt_job *job)
{
    double most = NAN;
    for (size_t i = 0; i < job->count; i++)
        most = fmax(most, cores_of(job, &job->rank[i]));
    return most;
}

static double least_memory(const struct gt_job *job)
{
    double worst = NAN;
    for (size_t i = 0; i < job->nodes; i++)
        worst = fmax(worst, job->node[i].ram.least);
    return worst;
}

static void put_memory(struct gt_buffer *out, const struct gt_job *job)
{
    char text[GT_HUMAN_SIZE], least[GT_HUMAN_SIZE], most[GT_HUMAN_SIZE];
    double limit = asked(job, GT_LIMIT_MEMORY);
    if (limit > 0)
        gt_buffer_printf(out, "of %s of memory ", gt_human_bytes(text, limit));
    gt_buffer_printf(out, "a node used %s, at most %s", gt_human_bytes(least, least_memory(job)),
                     gt_human_bytes(most, worst_memory(job, false)));
}

static void put_rest(struct gt_buffer *out, const struct gt_job *job)
{
    char text[GT_HUMAN_SIZE], used[GT_HUMAN_SIZE];
    double cores = asked(job, GT_LIMIT_CORES), time = asked(job, GT_LIMIT_TIME);
    if (cores > 0)
        gt_buffer_printf(out, "; of %s %s the busiest rank %s", gt_human_round_number(text, cores),
                         cores == 1 ? "core" : "cores", gt_human_number(used, busiest(job)));
    else
        gt_buffer_printf(out, "; the busiest rank %s cores", gt_human_number(used, busiest(job)));
    if (job->gpus && !isnan(job->gpus_used))
        gt_buffer_printf(out, "; of %zu GPUs %.0f never worked", job->gpus, (double)job->gpus - job->gpus_used);
    if (time > 0)
        gt_buffer_printf(out, "; of %s it ran %s", gt_human_seconds(text, time),
                         gt_human_seconds(used, job->end - job->begin));
}

void gt_job_request_reasons(struct gt_buffer *out, const struct gt_job *job)
{
    put_memory(out, job);
    put_rest(out, job);
}

/* ---- The section ------------------------------------------------------------------------------------------------- */

static void add_asked(struct gt_node *section, const char *key, const char *title, double value, const char *unit)
{
    gt_report_number(section, key, title, value > 0 ? value : NAN, unit);
}

void gt_job_request_section(struct gt_node *root, const struct gt_job *job)
{
    const char *own = job->rank[0].machine.scheduler;
    struct gt_next_time next;
    struct gt_node *section = gt_report_section(root, "next_time", "Next time: memory of a node, cores of a rank");
    gt_job_next_time(&next, job, "slurm");
    gt_report_number(section, "memory", "Memory of a node", next.memory, "bytes");
    gt_report_number(section, "cores", "Cores of a rank", busiest(job), NULL);
    gt_report_count(section, "gpus", "GPUs", next.gpus, NULL);
    gt_report_number(section, "time", "Time", next.seconds, "seconds");
    add_asked(section, "memory_asked", "Memory asked for", asked(job, GT_LIMIT_MEMORY), "bytes");
    add_asked(section, "cores_asked", "Cores asked for", asked(job, GT_LIMIT_CORES), NULL);
    add_asked(section, "time_asked", "Time asked for", asked(job, GT_LIMIT_TIME), "seconds");
    for (size_t i = 0; gt_request_kinds[i]; i++) {
        const char *kind = gt_request_kinds[i];
        struct gt_buffer line = {0};
        gt_job_request(&line, job, kind);
        struct gt_node *text = gt_report_text(section, kind, kind, line.data);
        gt_node_flags(text, strcmp(kind, *own ? own : "slurm") ? GT_ONLY_DATA : 0);
        gt_buffer_release(&line);
    }
    gt_node_hide_missing(section);
}
