#include "analyse/job/job_analysis.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyse/display.h"
#include "base/number.h"
#include "report/brief.h"
#include "schema/human.h"

/* ---- The job ---- */

static const char *first_text(const struct gt_job *job, size_t offset)
{
    for (size_t i = 0; i < job->count; i++) {
        const char *text = (const char *)&job->rank[i].machine + offset;
        if (*text)
            return text;
    }
    return NULL;
}

/* Two clocks differ at most by the sum of their errors. */
static double worst_clocks(const struct gt_job *job)
{
    double worst = 0, second = 0;
    for (size_t i = 0; i < job->nodes; i++) {
        double error = job->rank[job->node[i].first].machine.clock_error;
        if (!(error > 0))
            return NAN;
        second = fmax(second, fmin(error, worst));
        worst = fmax(worst, error);
    }
    return job->nodes > 1 ? worst + second : NAN;
}

static size_t count_failed(const struct gt_job *job, bool is_unfinished)
{
    size_t count = 0;
    for (size_t i = 0; i < job->count; i++)
        count += is_unfinished ? !job->rank[i].complete : job->rank[i].complete && job->rank[i].exit_status > 0;
    return count;
}

static void add_start(struct gt_node *section, const struct gt_job *job)
{
    char text[32];
    time_t seconds = (time_t)job->begin;
    struct tm utc;
    bool known = job->begin > 0 && gmtime_r(&seconds, &utc) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    gt_node_flags(gt_report_number(section, "start", "Start", job->begin, "seconds"), GT_ONLY_DATA);
    gt_node_flags(gt_report_text(section, "start", "Start", known ? text : NULL), GT_ONLY_PEOPLE);
}

static void add_job(struct gt_node *root, const struct gt_job *job)
{
    struct gt_node *section = gt_report_section(root, "job", "Job");
    struct gt_buffer names = {0};
    gt_job_names(&names, job);
    gt_report_text(section, "name", "Name", names.length ? names.data : NULL);
    gt_report_text(section, "command", "Command", first_text(job, offsetof(struct gt_machine, command)));
    gt_report_text(section, "launcher", "Launcher",
                   job->launcher ? job->launcher : first_text(job, offsetof(struct gt_machine, launcher)));
    gt_report_integer(section, "recordings", "Recordings", (int64_t)job->count, NULL);
    gt_report_count(section, "ranks", "Ranks", job->world ? (double)job->world : NAN, NULL);
    gt_report_integer(section, "missing", "Ranks without a recording", (int64_t)job->missing_count, NULL);
    gt_report_text(section, "missing_ranks", "They are", job->missing.data);
    gt_report_integer(section, "failed", "Failed", (int64_t)count_failed(job, false), NULL);
    gt_report_integer(section, "unfinished", "Recordings not finished", (int64_t)count_failed(job, true), NULL);
    gt_job_add_dropped(section, job);
    gt_report_integer(section, "nodes", "Nodes", (int64_t)job->nodes, NULL);
    add_start(section, job);
    gt_report_number(section, "elapsed", "Time", job->end - job->begin, "seconds");
    gt_report_number(section, "clock_difference", "Clocks differ by at most", worst_clocks(job), "seconds");
    gt_node_hide_missing(section);
    gt_buffer_release(&names);
}

/* ---- Totals ---- */

static void add_bounds(struct gt_node *root, const char *key, const char *title, struct gt_job_bounds bounds)
{
    struct gt_node *section = gt_report_section(root, key, title);
    gt_report_number(section, "at_least", "At least", bounds.least, "bytes");
    gt_report_number(section, "at_most", "At most", bounds.most, "bytes");
}

/* Returns a value of the spread of cores: of the most uneven step, or of all ranks where that is not known. */
static double cores_of_ranks(const struct gt_job_outliers *outliers, const char *of)
{
    const struct gt_rows *rows = outliers->uneven == GT_NO_KEY ? &outliers->all : &outliers->steps;
    const uint32_t *figure = gt_rows_keys(rows, "figure");
    for (size_t i = 0; i < rows->count; i++)
        if (figure[i] == GT_JOB_CORES &&
            (outliers->uneven == GT_NO_KEY || gt_rows_keys(rows, "job")[i] == outliers->uneven))
            return gt_rows_reals(rows, of)[i];
    return NAN;
}

static void add_totals(struct gt_node *root, const struct gt_job *job, const struct gt_job_outliers *outliers)
{
    struct gt_node *section = gt_report_section(root, "totals", "Totals");
    double cpu_time = gt_job_sum(job, GT_CPU_TIME);
    gt_report_number(section, "cpu_time", "CPU time", cpu_time, "seconds");
    gt_report_number(section, "cores", "Cores busy", cpu_time / (job->end - job->begin), NULL);
    gt_report_number(section, "imbalance",
                     job->launches > 1 ? "Imbalance of the most uneven step: the busiest rank over the mean, less 1"
                                       : "Imbalance: the busiest rank over the mean, less 1",
                     outliers->uneven == GT_NO_KEY ? NAN : cores_of_ranks(outliers, "imbalance"), NULL);
    add_bounds(section, "memory_peak", "Memory peak", job->ram);
    gt_report_number(section, "control_groups_peak", "Charged to control groups, at most", job->group_ram, "bytes");
    gt_report_integer(section, "gpus", "GPUs", (int64_t)job->gpus, NULL);
    if (job->gpus)
        add_bounds(section, "gpu_memory_peak", "GPU memory peak", job->gpu_ram);
    gt_report_number(section, "read_bytes", "Read from storage", gt_job_sum(job, GT_READ_BYTES), "bytes");
    gt_report_number(section, "written_bytes", "Written to storage", gt_job_sum(job, GT_WRITTEN_BYTES), "bytes");
    gt_report_number(section, "received", "Received by all programs in its network namespaces", job->received, "bytes");
    gt_report_number(section, "sent", "Sent by all programs in its network namespaces", job->sent, "bytes");
    gt_report_count(section, "processes", "Processes", gt_job_sum(job, GT_PROCESSES_STARTED), NULL);
    gt_node_hide_missing(section);
}

/* Add final values of all ranks, by the rule of each metric. */
static void add_metrics(struct gt_node *root, const struct gt_job *job)
{
    struct gt_table *table = gt_report_table(root, "metrics", "Own figures of all ranks");
    gt_table_flags(table, GT_KEYED | GT_ONLY_DATA);
    gt_table_column(table, "metric", "Metric", GT_CELL_TEXT, NULL);
    gt_table_column(table, "unit", "Unit", GT_CELL_TEXT, NULL);
    gt_table_column(table, "job", "Of several trackers", GT_CELL_TEXT, NULL);
    gt_table_column(table, "sum", "Sum", GT_CELL_NUMBER, NULL);
    gt_table_column(table, "largest", "Largest", GT_CELL_NUMBER, NULL);
    for (int id = 0; id < GT_METRIC_COUNT; id++) {
        const struct gt_metric *metric = &gt_metrics[id];
        double largest = NAN;
        for (size_t i = 0; i < job->count; i++)
            largest = fmax(largest, job->rank[i].own[id]);
        if (!gt_metric_has(id, GT_SCOPE_COMBINED) || metric->kind == GT_GAUGE || isnan(largest))
            continue;
        GT_CELLS(table, metric->name, gt_unit_name(metric->unit), gt_job_rule_name(metric->job),
                 metric->job == GT_JOB_GROUP ? job->group_ram : gt_job_sum(job, id), largest);
    }
}

static void add_energy(struct gt_node *root, const struct gt_job *job)
{
    static const char *const keys[GT_ENERGY_DEVICES] = {
        [GT_ENERGY_CPU] = "cpu", [GT_ENERGY_DRAM] = "dram", [GT_ENERGY_GPU] = "gpu"};
    static const char *const columns[][2] = {
        {"drawn", "Drawn"}, {"job_at_least", "Job, at least"}, {"job_at_most", "Job, at most"}, {"others", "Others"},
        {"idle", "Idle"},   {"unattributed", "Unattributed"},  {"error", "Error of shares"}};
    struct gt_table *table = NULL;
    for (int device = 0; device < GT_ENERGY_DEVICES; device++) {
        struct gt_job_energy energy;
        struct gt_buffer reason = {0};
        gt_job_energy(&energy, job, device);
        if (isnan(energy.drawn) && isnan(energy.job))
            continue;
        if (!table) {
            table = gt_report_table(root, "energy", "Energy, each machine once");
            gt_table_flags(table, GT_KEYED | GT_BRIEF);
            gt_table_column(table, "device", "Device", GT_CELL_TEXT, NULL);
            for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
                gt_display_column(table, columns[i][0], columns[i][1], GT_CELL_NUMBER, "joules", GT_COLUMN_SCALED);
            gt_table_column(table, "remark", "Remark", GT_CELL_TEXT, NULL);
        }
        for (size_t i = 0; i < job->nodes && !reason.length; i++)
            if (job->node[i].energy[device].is_exceeded)
                gt_job_energy_reason(&reason, &job->node[i]);
        GT_CELLS(table, keys[device], energy.drawn, energy.job_least, energy.job, energy.others, energy.idle,
                 energy.unattributed, energy.error, reason.length ? reason.data : "");
        gt_buffer_release(&reason);
    }
}

/* ---- Nodes and ranks ---- */

static double if_positive(double value)
{
    return value > 0 ? value : NAN;
}

static void add_nodes(struct gt_node *root, const struct gt_job *job, bool are_all)
{
    static const struct gt_job_column columns[] = {
        {"node", "Node", NULL, 0, NULL},
        {"id", "Id", NULL, GT_COLUMN_ONLY_DATA, NULL},
        {"ranks", "Ranks", NULL, 0, NULL},
        {"cpu_time", "CPU time", "seconds", 0, NULL},
        {"memory_at_least", "Memory, at least", "bytes", GT_COLUMN_SCALED, NULL},
        {"memory_at_most", "At most", "bytes", GT_COLUMN_SCALED, NULL},
        {"memory_capacity", "Of", "bytes", GT_COLUMN_SCALED, NULL},
        {"gpus", "GPUs", NULL, 0, NULL},
        {"energy", "Energy of the job", "joules", 0, NULL},
        {"clock_error", "Error of the clock", "seconds", 0, NULL},
        {"clock_shift", "Times corrected by", "seconds", 0, NULL},
        {NULL, NULL, NULL, 0, NULL}};
    struct gt_rows rows = gt_rows_new(job->query, job->nodes);
    const char **name = gt_job_add_texts(&rows, "node"), **id = gt_job_add_texts(&rows, "id");
    int64_t *ranks = gt_rows_add_wholes(&rows, "ranks"), *gpus = gt_rows_add_wholes(&rows, "gpus");
    double *cpu_time = gt_rows_add_reals(&rows, "cpu_time"), *energy = gt_rows_add_reals(&rows, "energy");
    double *least = gt_rows_add_reals(&rows, "memory_at_least"), *most = gt_rows_add_reals(&rows, "memory_at_most");
    double *capacity = gt_rows_add_reals(&rows, "memory_capacity"), *error = gt_rows_add_reals(&rows, "clock_error");
    double *shift = gt_rows_add_reals(&rows, "clock_shift");
    for (size_t i = 0; i < rows.count; i++) {
        const struct gt_job_node *node = &job->node[i];
        const struct gt_job_rank *first = &job->rank[node->first];
        name[i] = node->name;
        id[i] = node->id;
        ranks[i] = node->ranks;
        gpus[i] = (int64_t)node->gpus;
        cpu_time[i] = energy[i] = NAN;
        for (size_t k = 0; k < node->count; k++)
            gt_add_known(&cpu_time[i], first[k].own[GT_CPU_TIME]);
        for (int device = 0; device < GT_ENERGY_DEVICES; device++)
            gt_add_known(&energy[i], node->energy[device].job);
        least[i] = node->ram.least;
        most[i] = node->ram.most;
        capacity[i] = if_positive(first->machine.ram_capacity);
        error[i] = if_positive(first->machine.clock_error);
        shift[i] = fabs(first->clock_shift) > 0 ? first->clock_shift : NAN;
    }
    gt_job_list(
        root, job,
        &(struct gt_job_listing){.key = "nodes",
                                 .title = "Nodes",
                                 .few_title = "Nodes, the ten with the least CPU time and the ten with the most",
                                 .order = "cpu_time",
                                 .top = are_all ? -1 : 0},
        &rows, columns);
}

/* Add all ranks for programs and pages. Text shows the ranks of a small job, else both ends, failed ranks and
 * outliers. */
static void add_ranks(struct gt_node *root, const struct gt_job *job, const struct gt_job_outliers *outliers,
                      bool are_all)
{
    static const struct gt_job_column columns[] = {GT_JOB_RANK_COLUMNS,
                                                   {"cpu_time", "CPU time", "seconds", 0, NULL},
                                                   {"cores", "Cores busy", NULL, 0, NULL},
                                                   {"memory_peak", "Memory peak", "bytes", GT_COLUMN_SCALED, NULL},
                                                   {"gpus_busy", "GPUs busy", NULL, 0, NULL},
                                                   {"elapsed", "Time", "seconds", 0, NULL},
                                                   {"energy", "Energy", "joules", 0, NULL},
                                                   {"exit_status", "Exit", NULL, 0, NULL},
                                                   {"recording", "Recording", NULL, GT_COLUMN_ONLY_DATA, NULL},
                                                   {"remark", "Remark", NULL, 0, NULL},
                                                   {NULL, NULL, NULL, 0, NULL}};
    struct gt_rows rows = job->rows;
    rows.count = rows.count ? job->members : 0;
    double *cpu_time = gt_rows_add_reals(&rows, "cpu_time"), *energy = gt_rows_add_reals(&rows, "energy");
    int64_t *exit_status = gt_rows_add_wholes(&rows, "exit_status");
    const char **recording = gt_job_add_texts(&rows, "recording"), **remark = gt_job_add_texts(&rows, "remark");
    uint32_t *is_bad = gt_rows_add_keys(&rows, "is_bad", NULL);
    for (enum gt_job_figure figure = 0; figure < GT_JOB_FIGURES; figure++) {
        double *value = gt_rows_add_reals(&rows, gt_job_figure_infos[figure].key);
        for (size_t i = 0; i < rows.count; i++)
            value[i] = gt_job_figure(job, i, figure);
    }
    for (size_t i = 0; i < rows.count; i++) {
        const struct gt_job_rank *rank = &job->rank[job->member[i].rank];
        const struct gt_local_rank *below = job->member[i].below;
        struct gt_buffer text = {0};
        is_bad[i] = gt_job_remark(&text, outliers, job, i) > 0 || gt_job_is_late(outliers, job, i);
        cpu_time[i] = below ? below->cpu_time : rank->own[GT_CPU_TIME];
        energy[i] = below ? gt_local_rank_energy(below) : rank->own[GT_ENERGY];
        exit_status[i] = below || rank->exit_status < 0 ? GT_NO_WHOLE : rank->exit_status;
        recording[i] = rank->path;
        remark[i] = text.length ? gt_job_keep_text(job, &text) : "";
    }
    gt_job_list(root, job,
                &(struct gt_job_listing){.key = "ranks",
                                         .title = "Ranks",
                                         .few_title = "Ranks to look at, with the ten least and the ten most busy",
                                         .order = "cores",
                                         .shown = "is_bad",
                                         .top = are_all ? -1 : 0},
                &rows, columns);
}

/* Add the names of figures to the rows of their spread. */
static struct gt_rows name_figures(const struct gt_rows *spread)
{
    struct gt_rows rows = *spread;
    const uint32_t *figure = gt_rows_keys(&rows, "figure");
    const char **key = gt_job_add_texts(&rows, "key"), **title = gt_job_add_texts(&rows, "title"),
               **unit = gt_job_add_texts(&rows, "unit");
    for (size_t i = 0; i < rows.count; i++) {
        key[i] = gt_job_figure_infos[figure[i]].key;
        title[i] = gt_job_figure_infos[figure[i]].title;
        unit[i] = gt_job_figure_infos[figure[i]].unit;
    }
    return rows;
}

/* Text shows the spread of each step, if there are not too many. */
static void add_spread(struct gt_node *root, const struct gt_job *job, const struct gt_job_outliers *outliers)
{
    enum { STEPS_IN_TEXT = 32 };
    static const struct gt_job_column columns[] = {GT_JOB_STEP_COLUMN,
                                                   {"figure", "Figure", NULL, GT_COLUMN_ONLY_DATA, "key"},
                                                   {"figure", "Figure", NULL, GT_COLUMN_ONLY_PEOPLE, "title"},
                                                   {"unit", "Unit", NULL, GT_COLUMN_UNIT, NULL},
                                                   GT_JOB_SPREAD_COLUMNS(GT_COLUMN_SCALED),
                                                   {NULL, NULL, NULL, 0, NULL}};
    struct gt_rows all = name_figures(&outliers->all), steps = name_figures(&outliers->steps);
    bool has_steps = job->launches > 1;
    gt_job_table(root, job, "spread", "Over the ranks", GT_KEYED | GT_BRIEF | (has_steps ? GT_ONLY_DATA : 0), &all,
                 columns + 1);
    if (has_steps)
        gt_job_table(root, job, "spread_of_steps", "Over the ranks of each step",
                     GT_BRIEF | (job->launches > STEPS_IN_TEXT ? GT_NOT_IN_TEXT : 0), &steps, columns);
}

/* ---- Next time ---- */

/* The largest values of a job's ranks and nodes. 0: nothing was asked for; NaN: unknown. */
struct need {
    double memory_least, memory_most, rank_memory; /* of a node, and of a rank */
    double cores;                                  /* of a rank */
    double gpus;
    double asked[GT_LIMITS];
    size_t ranks; /* of a node */
};

/* A rank that waits sometimes needs the cores that it uses while it works. A rank that uses one core needs one. */
static double cores_of(const struct gt_job *job, const struct gt_job_rank *rank)
{
    double mean = gt_job_figure(job, rank->whole, GT_JOB_CORES), cores = fmax(mean, rank->cores_p95);
    return mean < 1.1 ? fmin(cores, 1) : cores;
}

static void find_need(struct need *ret, const struct gt_job *job)
{
    bool uses_gpus = false;
    *ret = (struct need){.memory_least = NAN, .memory_most = NAN, .rank_memory = NAN, .cores = NAN, .ranks = 1};
    for (size_t i = 0; i < job->nodes; i++) {
        ret->memory_least = fmax(ret->memory_least, job->node[i].ram.least);
        ret->memory_most = fmax(ret->memory_most, job->node[i].ram.most);
        ret->ranks = job->node[i].count > ret->ranks ? job->node[i].count : ret->ranks;
    }
    for (size_t i = 0; i < job->count; i++) {
        const struct gt_job_rank *rank = &job->rank[i];
        ret->rank_memory = fmax(ret->rank_memory, rank->ram.most);
        ret->cores = fmax(ret->cores, cores_of(job, rank));
        uses_gpus |= rank->gpu_ram > 0 || rank->gpu_use > 0;
        for (int kind = 0; kind < GT_LIMITS; kind++)
            ret->asked[kind] = fmax(ret->asked[kind], rank->machine.limit[kind].value);
    }
    ret->gpus = !job->gpus ? 0 : !isnan(job->gpus_used) ? job->gpus_used : uses_gpus ? (double)job->gpus : 0;
}

static bool ended_well(const struct gt_job *job)
{
    bool is_well = job->missing_count == 0;
    for (size_t i = 0; i < job->count; i++)
        is_well &= job->rank[i].complete && job->rank[i].exit_status <= 0;
    return is_well;
}

/* Containers count memory and GPUs by rank, schedulers by node. */
void gt_job_next_time(struct gt_next_time *ret, const struct gt_job *job, const char *kind)
{
    bool by_rank = !strcmp(kind, "k8s") || !strcmp(kind, "docker"), is_slurm = !strcmp(kind, "slurm");
    const struct gt_machine *machine = &job->rank[0].machine;
    struct need need;
    find_need(&need, job);
    gt_next_time_init(ret);
    gt_next_time_expect(ret, by_rank ? need.rank_memory : need.memory_most,
                        ended_well(job) ? job->end - job->begin : NAN);
    for (size_t i = 0; i < job->count; i++) {
        ret->is_unfinished |= !job->rank[i].complete;
        gt_next_time_kill(ret, job->rank[i].killed_at);
        if (job->rank[i].complete && job->rank[i].exit_status > 0)
            ret->failed_with = job->rank[i].exit_status;
    }
    ret->runs = job->count;
    ret->nodes = by_rank || is_slurm ? 1 : job->nodes;
    ret->tasks = is_slurm ? (int)need.ranks : 1;
    ret->cores = fmax(ret->cores, need.cores) * (by_rank ? 1 : (double)need.ranks);
    ret->gpus = is_slurm ? need.gpus : ceil(need.gpus / (double)(by_rank ? job->count : job->nodes));
    ret->is_by_core = is_slurm && !strcmp(machine->limit[GT_LIMIT_MEMORY].source, "SLURM_MEM_PER_CPU");
}

int gt_job_request(struct gt_buffer *out, const struct gt_job *job, const char *kind)
{
    struct gt_next_time next;
    gt_job_next_time(&next, job, kind);
    return gt_next_time_request(out, &next, kind);
}

void gt_job_request_reasons(struct gt_buffer *out, const struct gt_job *job)
{
    struct need need;
    find_need(&need, job);
    double cores = need.asked[GT_LIMIT_CORES], time = need.asked[GT_LIMIT_TIME];
    if (need.asked[GT_LIMIT_MEMORY] > 0)
        gt_buffer_printf(out, "of %s of memory ", GT_HUMAN(bytes, need.asked[GT_LIMIT_MEMORY]));
    gt_buffer_printf(out, "a node used %s, at most %s", GT_HUMAN(bytes, need.memory_least),
                     GT_HUMAN(bytes, need.memory_most));
    if (cores > 0)
        gt_buffer_printf(out, "; of %s %s the busiest rank %s", GT_HUMAN(round_number, cores),
                         cores == 1 ? "core" : "cores", GT_HUMAN(number, need.cores));
    else
        gt_buffer_printf(out, "; the busiest rank %s cores", GT_HUMAN(number, need.cores));
    if (job->gpus && !isnan(job->gpus_used))
        gt_buffer_printf(out, "; of %zu GPUs %.0f never worked", job->gpus, (double)job->gpus - job->gpus_used);
    if (time > 0)
        gt_buffer_printf(out, "; of %s it ran %s", GT_HUMAN(seconds, time), GT_HUMAN(seconds, job->end - job->begin));
}

static void add_next_time(struct gt_node *root, const struct gt_job *job)
{
    static const struct {
        const char *key, *title, *unit;
        enum gt_limit_kind kind;
    } asked[] = {{"memory_asked", "Memory asked for", "bytes", GT_LIMIT_MEMORY},
                 {"cores_asked", "Cores asked for", NULL, GT_LIMIT_CORES},
                 {"time_asked", "Time asked for", "seconds", GT_LIMIT_TIME}};
    const char *own = job->rank[0].machine.scheduler;
    struct gt_next_time next;
    struct need need;
    struct gt_node *section = gt_report_section(root, "next_time", "Next time: memory of a node, cores of a rank");
    gt_job_next_time(&next, job, "slurm");
    find_need(&need, job);
    gt_report_number(section, "memory", "Memory of a node", next.memory, "bytes");
    gt_report_number(section, "cores", "Cores of a rank", need.cores, NULL);
    gt_report_count(section, "gpus", "GPUs", next.gpus, NULL);
    gt_report_number(section, "time", "Time", next.seconds, "seconds");
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        double value = need.asked[asked[i].kind];
        gt_report_number(section, asked[i].key, asked[i].title, value > 0 ? value : NAN, asked[i].unit);
    }
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

static void add_left_out(struct gt_node *root, const struct gt_job *job)
{
    if (!job->left_out_count)
        return;
    struct gt_table *table = gt_report_table(root, "left_out", job->source->left_out);
    gt_table_column(table, "file", "Path", GT_CELL_TEXT, NULL);
    gt_table_column(table, "reason", "Reason", GT_CELL_TEXT, NULL);
    for (size_t i = 0; i < job->left_out_count; i++) {
        gt_table_text(table, job->left_out[i].path);
        gt_table_text(table, job->left_out[i].why);
    }
}

/* ---- The summary: how a job ended, totals in a few lines, and remarkable ranks ---- */

enum { TEXT = 300, NAMED = GT_BRIEF_WARNINGS };

static void put_count(struct gt_buffer *out, size_t count, const char *one, const char *several)
{
    gt_buffer_printf(out, "%s%zu %s", out->length ? ", " : "", count, count == 1 ? one : several);
}

/* "4 ranks on 2 nodes, 1 failed, 41 s" */
static struct gt_brief *add_brief_head(struct gt_node *root, const struct gt_job *job)
{
    struct gt_buffer outcome = {0}, title = {0};
    size_t failed = count_failed(job, false), unfinished = count_failed(job, true);
    size_t steps = job->steps, ranks = (size_t)job->ranks;
    gt_job_names(&title, job);
    gt_buffer_printf(&title, "%s%.200s", title.length ? "  " : "", job->rank[0].machine.command);
    put_count(&outcome, ranks, "rank", "ranks");
    if (steps > 1)
        gt_buffer_printf(&outcome, " of %zu steps", steps);
    if (job->members > ranks)
        gt_buffer_printf(&outcome, " in %zu recordings", job->count);
    gt_buffer_printf(&outcome, " on %zu %s", job->nodes, job->nodes == 1 ? "node" : "nodes");
    if (failed)
        put_count(&outcome, failed, "failed", "failed");
    if (unfinished)
        put_count(&outcome, unfinished, "not finished", "not finished");
    gt_buffer_printf(&outcome, ", %s", GT_HUMAN(seconds, job->end - job->begin));
    struct gt_brief *brief = gt_brief_add(root, title.data, outcome.data, failed > 0);
    gt_buffer_release(&title);
    gt_buffer_release(&outcome);
    return brief;
}

static void add_bounds_line(struct gt_brief *brief, const char *title, const struct gt_job_bounds *bounds)
{
    if (!isnan(bounds->least) && bounds->most > 0)
        gt_brief_line(brief, title, GT_HUMAN(bytes, bounds->least), NULL, "peak of all ranks, at least; at most %s",
                      GT_HUMAN(bytes, bounds->most));
}

static void add_cpu(struct gt_brief *brief, const struct gt_job *job, const struct gt_job_outliers *outliers)
{
    struct gt_buffer step = {0};
    double cpu_time = gt_job_sum(job, GT_CPU_TIME);
    if (isnan(cpu_time))
        return;
    gt_buffer_text(&step, "");
    if (outliers->uneven != GT_NO_KEY && job->launches > 1) {
        gt_job_put_launch(&step, job, outliers->uneven);
        gt_buffer_text(&step, ", the most uneven step");
    }
    gt_brief_line(brief, "cpu", GT_HUMAN(number, cpu_time / (job->end - job->begin)), NULL,
                  "cores busy, %s of CPU time; %s to %s of a rank%s", GT_HUMAN(seconds, cpu_time),
                  GT_HUMAN(number, cores_of_ranks(outliers, "least")),
                  GT_HUMAN(number, cores_of_ranks(outliers, "most")), step.data ? step.data : "");
    gt_buffer_release(&step);
}

static void add_gpus(struct gt_brief *brief, const struct gt_job *job)
{
    double busy = NAN;
    for (size_t i = 0; i < job->count; i++)
        gt_add_known(&busy, job->rank[i].gpu_use);
    if (!job->gpus)
        return;
    gt_brief_line(brief, "gpus", isnan(busy) ? "n/a" : GT_HUMAN(number, busy), NULL, "busy of %zu, each counted once",
                  job->gpus);
    add_bounds_line(brief, "gpu memory", &job->gpu_ram);
}

static void add_energy_line(struct gt_brief *brief, const struct gt_job *job)
{
    double most = NAN, least = NAN, drawn = NAN;
    for (int device = 0; device < GT_ENERGY_DEVICES; device++) {
        struct gt_job_energy energy;
        gt_job_energy(&energy, job, device);
        gt_add_known(&most, energy.job);
        gt_add_known(&least, energy.job_least);
        gt_add_known(&drawn, energy.drawn);
    }
    drawn = isnan(drawn) ? 0 : drawn;
    if (most > 0 && most > 1.01 * least)
        gt_brief_line(brief, "energy", GT_HUMAN(energy, most), NULL, "at most, and at least %s, of %s drawn",
                      GT_HUMAN(energy, least), GT_HUMAN(energy, drawn));
    else if (most > 0)
        gt_brief_line(brief, "energy", GT_HUMAN(energy, most), NULL, "of %s drawn, each node counted once",
                      GT_HUMAN(energy, drawn));
}

/* ---- What is remarkable ---- */

/* Name the node with the largest clock offset. */
static void warn_of_clocks(struct gt_brief *brief, const struct gt_job *job)
{
    char others[40] = "";
    const struct gt_job_node *worst = NULL;
    double shift = 0;
    size_t count = 0;
    for (size_t i = 0; i < job->nodes; i++) {
        double own = job->rank[job->node[i].first].clock_shift;
        count += own < 0 || own > 0;
        if (fabs(own) > fabs(shift)) {
            worst = &job->node[i];
            shift = own;
        }
    }
    if (count > 1)
        snprintf(others, sizeof others, ", and %zu more are off", count - 1);
    if (worst)
        gt_brief_warning(brief, "its times are corrected by that here", NULL,
                         "the clock of %.128s is %s %s that of the server%s", worst->name,
                         GT_HUMAN(seconds, fabs(shift)), shift > 0 ? "behind" : "ahead of", others);
}

static void warn_of_recordings(struct gt_brief *brief, const struct gt_job *job)
{
    double samples;
    size_t ranks = gt_job_dropped(&samples, job);
    if (job->missing_count)
        gt_brief_warning(brief, "totals are those of the others", NULL, "no recording of %zu %s: %.200s%s",
                         job->missing_count, job->missing_count == 1 ? "rank" : "ranks", job->missing.data,
                         job->missing.length > 200 ? "..." : "");
    if (ranks)
        gt_brief_warning(brief, "values over time do not include them", NULL,
                         "%zu %s lost %.0f samples: the disk was too slow, or the spool full", ranks,
                         ranks == 1 ? "recording" : "recordings", samples);
    warn_of_clocks(brief, job);
}

/* With several ranks below one tracker, the rank that failed is unknown. */
static void warn_of_trackers(struct gt_brief *brief, const struct gt_job *job)
{
    size_t named = 0;
    for (size_t i = 0; i < job->count && named < NAMED; i++) {
        const struct gt_job_rank *rank = &job->rank[i];
        struct gt_buffer remark = {0}, step = {0};
        gt_buffer_text(&step, "");
        gt_job_put_launch(&step, job, rank->launch);
        if (rank->below_count && (rank->complete || gt_job_is_silent(job, rank)) && gt_job_remark_end(&remark, rank)) {
            gt_brief_warning(brief, NULL, "ranks", "the command of %zu ranks%s on %s: %s", rank->below_count,
                             step.data ? step.data : "", job->node[rank->node].name, remark.data);
            named++;
        }
        gt_buffer_release(&remark);
        gt_buffer_release(&step);
    }
}

/* `more` is the number of outliers without a line. */
static void name_odd(struct gt_brief *brief, const struct gt_job *job, const struct gt_job_outliers *outliers,
                     size_t member, size_t more)
{
    struct gt_buffer name = {0}, remark = {0};
    char detail[TEXT] = "";
    if (gt_job_member_number(job, member) >= 0)
        gt_job_put_rank(&name, job, member);
    else
        gt_buffer_text(&name, job->rank[job->member[member].rank].path);
    if (more)
        snprintf(detail, sizeof detail, "%zu more %s in the whole report (-f text)", more, more == 1 ? "is" : "are");
    gt_job_remark(&remark, outliers, job, member);
    if (remark.length && name.data)
        gt_brief_warning(brief, detail, "ranks", "%s: %s", name.data, remark.data);
    gt_buffer_release(&name);
    gt_buffer_release(&remark);
}

/* Warn of failed ranks first, then of the largest outliers. */
static void warn_of_ranks(struct gt_brief *brief, const struct gt_job *job, const struct gt_job_outliers *outliers)
{
    struct gt_rows rows = job->rows;
    size_t named = NAMED;
    rows.count = rows.count ? job->members : 0;
    double *severity = gt_rows_add_reals(&rows, "severity");
    for (const struct gt_brief_item *item = brief ? brief->warnings.first : NULL; item; item = item->next)
        named -= named > 1; /* the limit of a summary */
    for (size_t i = 0; i < rows.count; i++) {
        struct gt_buffer remark = {0};
        severity[i] = gt_job_remark(&remark, outliers, job, i);
        gt_buffer_release(&remark);
    }
    rows = gt_rows_above(&rows, "severity", 0);
    gt_rows_sort(&rows, "-severity member");
    const uint32_t *member = gt_rows_keys(&rows, "member");
    for (size_t i = 0; i < rows.count && i < named; i++)
        name_odd(brief, job, outliers, member[i], i + 1 == named ? rows.count - named : 0);
}

/* Appends why the energy of the first node with a reason does not add up. */
static void put_energy_reason(struct gt_buffer *out, const struct gt_job *job)
{
    for (size_t i = 0; i < job->nodes && !out->length; i++)
        gt_job_energy_reason(out, &job->node[i]);
}

static void add_brief(struct gt_node *root, const struct gt_job *job, const struct gt_job_outliers *outliers)
{
    struct gt_brief *brief = add_brief_head(root, job);
    struct gt_buffer line = {0}, reason = {0}, heading = {0};
    const char *kind = job->rank[0].machine.scheduler;
    add_bounds_line(brief, "memory", &job->ram);
    add_cpu(brief, job, outliers);
    add_gpus(brief, job);
    add_energy_line(brief, job);
    warn_of_recordings(brief, job);
    warn_of_trackers(brief, job);
    warn_of_ranks(brief, job, outliers);
    put_energy_reason(&reason, job);
    if (reason.length)
        gt_brief_warning(brief, NULL, NULL, "%s", reason.data);
    if (job->left_out_count)
        gt_brief_warning(brief, job->left_out[0].why, "left_out", "%zu %s%s left out", job->left_out_count,
                         job->source->keeps, job->left_out_count == 1 ? " was" : "s were");
    gt_buffer_text(&heading, "next time: ");
    gt_job_request_reasons(&heading, job);
    if (*kind && gt_job_request(&line, job, kind) >= 0 && line.length)
        gt_brief_request(brief, heading.data, line.data);
    gt_buffer_release(&heading);
    gt_buffer_release(&reason);
    gt_buffer_release(&line);
}

/* ---- The report ---- */

int gt_job_report(struct gt_report **ret, const struct gt_job *job, const struct gt_job_report_options *options,
                  struct gt_error *error)
{
    const char *heat = options ? options->heat : NULL;
    bool are_all = options && options->all;
    struct gt_report *report;
    int status = gt_report_new(&report, "job", error);
    if (status < 0)
        return status;
    struct gt_node *root = &report->root;
    const struct gt_job_outliers outliers = gt_job_outliers_find(job);
    report->layout = GT_LAYOUT_AMOUNTS;
    add_brief(root, job, &outliers);
    add_job(root, job);
    if (heat || (options && options->page))
        status = gt_job_heat(root, job, &(struct gt_job_heat_options){heat, are_all, !heat}, error);
    add_totals(root, job, &outliers);
    add_energy(root, job);
    add_nodes(root, job, are_all);
    add_spread(root, job, &outliers);
    add_ranks(root, job, &outliers, are_all);
    add_left_out(root, job);
    add_metrics(root, job);
    add_next_time(root, job);
    return gt_job_report_end(ret, report, job, status, error);
}
