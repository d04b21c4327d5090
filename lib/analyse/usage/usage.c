#include "analyse/usage/usage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "analyse/display.h"
#include "analyse/energy.h"
#include "sample/sample.h"
#include "schema/unit.h"

/* ---- the sections of the original's report ---- */

static const struct {
    enum gt_scope scope;
    const char *key, *title;
} scopes[] = {
    {GT_SCOPE_SYSTEM, "system", "System"},
    {GT_SCOPE_MAIN, "main", "Main"},
    {GT_SCOPE_DESCENDANTS, "descendants", "Descendants"},
    {GT_SCOPE_COMBINED, "combined", "Combined"},
};

enum { SCOPES = sizeof scopes / sizeof *scopes };

static double largest(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric)
{
    return usage->summary->of[scope][metric].max;
}

/* Bytes of a section that tells the unit. */
static struct gt_node *add_memory(const struct gt_usage *usage, struct gt_node *section, const char *key,
                                  const char *title, double bytes)
{
    struct gt_node *number = gt_report_number(section, key, title, bytes / usage->ram_unit, NULL);
    gt_node_measure(number, usage->machine->ram_unit);
    return number;
}

/* Pages have it in each figure. */
static void add_unit(struct gt_node *section, const char *unit)
{
    gt_node_flags(gt_report_text(section, "unit", "Unit", unit), GT_NOT_ON_PAGE);
}

static void add_rss(const struct gt_usage *usage, struct gt_node *section, enum gt_scope scope)
{
    double total = gt_usage_scope_peak(usage, scope);
    /* A job of one process has what that has, at the same moment. */
    bool is_lone = scope == GT_SCOPE_COMBINED && usage->outcome->value[scope][GT_PROCESSES_PEAK] == 1;
    enum gt_scope from = is_lone ? GT_SCOPE_MAIN : scope;
    double alone = usage->outcome->peak[from].private_bytes;
    double at_peak = isnan(alone) ? usage->summary->shared_at_peak[from] : total - alone;
    double shared = isnan(at_peak) ? NAN : fmin(fmax(at_peak, 0), total);
    add_memory(usage, section, "total_rss", "Total RSS", total);
    add_memory(usage, section, "private_rss", "Private RSS", total - shared);
    add_memory(usage, section, "shared_rss", "Shared RSS", shared);
}

static void add_max_ram(const struct gt_usage *usage, struct gt_node *root)
{
    struct gt_node *section = gt_report_section(root, "max_ram", "Max RAM");
    add_unit(section, usage->machine->ram_unit);
    add_memory(usage, section, "system_capacity", "System capacity", usage->machine->ram_capacity);
    add_memory(usage, section, "system", "System", largest(usage, GT_SCOPE_SYSTEM, GT_RAM));
    for (int i = 1; i < SCOPES; i++)
        add_rss(usage, gt_report_section(section, scopes[i].key, scopes[i].title), scopes[i].scope);
}

/* The original has 0.0 for everything about GPUs on a machine without one. */
static struct gt_node *add_gpu_number(const struct gt_usage *usage, struct gt_node *section, const char *key,
                                      const char *title, double value)
{
    bool is_absent = usage->machine->gpu_count == 0 && !(value > 0);
    struct gt_node *number = gt_report_number(section, key, title, is_absent ? 0 : value, NULL);
    gt_node_flags(number, is_absent ? GT_NO_DEVICE : 0);
    return number;
}

static void add_gpu_memory(const struct gt_usage *usage, struct gt_node *section, const char *key, const char *title,
                           double bytes)
{
    gt_node_measure(add_gpu_number(usage, section, key, title, bytes / usage->gpu_ram_unit),
                    usage->machine->gpu_ram_unit);
}

static void add_max_gpu_ram(const struct gt_usage *usage, struct gt_node *root)
{
    struct gt_node *section = gt_report_section(root, "max_gpu_ram", "Max GPU RAM");
    add_unit(section, usage->machine->gpu_ram_unit);
    add_gpu_memory(usage, section, "system_capacity", "System capacity", usage->machine->gpu_ram_capacity);
    for (int i = 0; i < SCOPES; i++)
        add_gpu_memory(usage, section, scopes[i].key, scopes[i].title, largest(usage, scopes[i].scope, GT_GPU_RAM));
}

/* A job may use more than is expected of it; its expected hardware is then in full use. */
static double hardware_percent(double use, int units)
{
    double percent = use * 100 / (units > 0 ? units : 1);
    return percent > 100 ? 100 : percent;
}

/* Of CPUs, or of GPUs, which may be absent. */
static void add_percentages(const struct gt_usage *usage, struct gt_node *section, double max, double mean, int units,
                            bool is_of_gpus)
{
    const struct {
        const char *key, *title;
        double value;
    } percentages[] = {{"max_sum_percent", "Max sum percent", max * 100},
                       {"max_hardware_percent", "Max hardware percent", hardware_percent(max, units)},
                       {"mean_sum_percent", "Mean sum percent", mean * 100},
                       {"mean_hardware_percent", "Mean hardware percent", hardware_percent(mean, units)}};
    for (int i = 0; i < 4; i++)
        if (is_of_gpus)
            add_gpu_number(usage, section, percentages[i].key, percentages[i].title, percentages[i].value);
        else
            gt_report_number(section, percentages[i].key, percentages[i].title, percentages[i].value, NULL);
}

static void add_cpu(const struct gt_usage *usage, struct gt_node *root)
{
    const struct gt_machine *machine = usage->machine;
    struct gt_node *section = gt_report_section(root, "cpu_utilization", "CPU utilization");
    gt_report_integer(section, "system_core_count", "System core count", machine->core_count, NULL);
    gt_report_integer(section, "n_expected_cores", "Number of expected cores", machine->expected_cores, NULL);
    for (int i = 0; i < SCOPES; i++) {
        double mean = gt_usage_cores(usage, scopes[i].scope);
        double max = fmax(largest(usage, scopes[i].scope, GT_CPU_UTILIZATION), mean);
        int cores = scopes[i].scope == GT_SCOPE_SYSTEM ? machine->core_count : machine->expected_cores;
        add_percentages(usage, gt_report_section(section, scopes[i].key, scopes[i].title), max, mean, cores, false);
    }
    for (int i = 1; i < SCOPES; i++) {
        double peak = usage->outcome->value[scopes[i].scope][GT_THREADS_PEAK];
        char key[40], title[40];
        snprintf(key, sizeof key, "%s_n_threads", scopes[i].key);
        snprintf(title, sizeof title, "%s number of threads", scopes[i].title);
        gt_report_count(section, key, title, isnan(peak) ? largest(usage, scopes[i].scope, GT_THREADS) : peak, NULL);
    }
}

static void add_gpu(const struct gt_usage *usage, struct gt_node *root)
{
    const struct gt_machine *machine = usage->machine;
    struct gt_node *section = gt_report_section(root, "gpu_utilization", "GPU utilization");
    gt_report_integer(section, "system_gpu_count", "System GPU count", machine->gpu_count, NULL);
    gt_report_integer(section, "n_expected_gpus", "Number of expected GPUs", machine->expected_gpus, NULL);
    double max = largest(usage, GT_SCOPE_SYSTEM, GT_GPU_UTILIZATION);
    double mean = gt_summary_mean(usage->summary, GT_SCOPE_SYSTEM, GT_GPU_UTILIZATION);
    add_percentages(usage, gt_report_section(section, "gpu_percentages", "GPU percentages"), max, mean,
                    machine->expected_gpus, true);
}

static void add_compute_time(const struct gt_usage *usage, struct gt_node *root)
{
    struct gt_node *section = gt_report_section(root, "compute_time", "Compute time");
    add_unit(section, usage->machine->time_unit);
    gt_node_measure(gt_report_number(section, "time", "Time", usage->outcome->elapsed / usage->time_unit, NULL),
                    usage->machine->time_unit);
}

/* ---- further sections, which are for programs only where nothing was measured ---- */

static const double NEGLIGIBLE = 0.05; /* part of the peak */

/* The peak lies between the two; where they are apart, the report says so. */
static bool add_bracket(const struct gt_usage *usage, struct gt_node *bracket, enum gt_scope scope)
{
    double peak = gt_usage_scope_peak(usage, scope), bound = usage->outcome->value[scope][GT_RAM_PEAK_BOUND];
    double upper = isnan(bound) ? NAN : fmax(peak, bound);
    add_memory(usage, bracket, "best", "Best estimate", peak);
    add_memory(usage, bracket, "upper", "At most", upper);
    return upper - peak > NEGLIGIBLE * upper;
}

/* In words, for people: what the values above rest on. */
static void explain_bracket(const struct gt_usage *usage, struct gt_node *section, bool is_bracket)
{
    double unknown = usage->outcome->peak_missing_hwm;
    gt_node_flags(gt_report_count(section, "untold_processes", "Processes without a high-water mark", unknown, NULL),
                  GT_ONLY_DATA);
    if (is_bracket)
        gt_report_text(
            section, "note", "Note",
            "\"At most\" is the high-water mark of the job's control group, page cache included, or the sum of the "
            "high-water marks of processes that lived together, whichever is less");
    else if (unknown > 0)
        gt_report_text(section, "note", "Note",
                       "The upper bound is missing because the high-water marks of some processes are unknown");
}

static void add_memory_peak(const struct gt_usage *usage, struct gt_node *root)
{
    const struct gt_statistic *combined = usage->summary->of[GT_SCOPE_COMBINED];
    double group = gt_usage_group_peak(usage);
    const char *method = usage->machine->ram_method;
    struct gt_node *section = gt_report_section(root, "memory_peak", "Memory peak");
    add_unit(section, usage->machine->ram_unit);
    bool is_bracket = false;
    for (int i = 1; i < SCOPES; i++)
        is_bracket |= add_bracket(usage, gt_report_section(section, scopes[i].key, scopes[i].title), scopes[i].scope);
    /* Each page counts at least once in a sum of RSS: samples that have less than the peak missed it. */
    bool is_missed = combined[GT_RSS].max < (1 - NEGLIGIBLE) * gt_usage_scope_peak(usage, GT_SCOPE_COMBINED);
    add_memory(usage, section, "largest_sample", "Largest sample", is_missed ? NAN : combined[GT_RAM].max);
    add_memory(usage, section, "rss_sum", "Sum of RSS", is_missed ? NAN : combined[GT_RSS].max);
    struct gt_node *control = add_memory(usage, section, "control_group", "Control group, with page cache", group);
    gt_node_flags(control, isnan(group) ? GT_ONLY_DATA : 0);
    gt_report_text(section, "method", "Memory counted by", *method ? method : NULL);
    explain_bracket(usage, section, is_bracket);
}

/* The driver's high-water marks, where it keeps them. */
static void add_gpu_memory_peak(const struct gt_usage *usage, struct gt_node *root)
{
    static const struct {
        const char *key, *title;
        enum gt_metric_id metric;
    } bounds[] = {{"at_least", "At least", GT_GPU_RAM_PEAK}, {"at_most", "At most", GT_GPU_RAM_PEAK_BOUND}};
    struct gt_node *section = gt_report_section(root, "gpu_memory_peak", "GPU memory peak");
    add_unit(section, usage->machine->gpu_ram_unit);
    for (int i = 1; i < SCOPES; i++) {
        struct gt_node *bracket = gt_report_section(section, scopes[i].key, scopes[i].title);
        const double *values = usage->outcome->value[scopes[i].scope];
        for (int k = 0; k < 2; k++)
            gt_node_measure(gt_report_number(bracket, bounds[k].key, bounds[k].title,
                                             values[bounds[k].metric] / usage->gpu_ram_unit, NULL),
                            usage->machine->gpu_ram_unit);
        gt_node_flags(bracket, isnan(values[GT_GPU_RAM_PEAK]) ? GT_ONLY_DATA : 0);
    }
    bool is_known = !isnan(usage->outcome->value[GT_SCOPE_COMBINED][GT_GPU_RAM_PEAK]);
    gt_node_flags(section, is_known ? 0 : GT_ONLY_DATA);
}

static void add_processes(const struct gt_usage *usage, struct gt_node *root)
{
    const double *last = usage->outcome->value[GT_SCOPE_COMBINED];
    const struct gt_statistic *samples = usage->summary->of[GT_SCOPE_COMBINED];
    struct gt_node *section = gt_report_section(root, "processes", "Processes");
    double peak = last[GT_PROCESSES_PEAK];
    gt_report_count(section, "max", "Most at one time", isnan(peak) ? samples[GT_PROCESSES].max : peak, NULL);
    gt_report_count(section, "started", "In all", last[GT_PROCESSES_STARTED], NULL);
}

static void add_kernel(const struct gt_usage *usage, struct gt_node *root)
{
    static const char *const sections[][2] = {{"swap", "Max swap"},
                                              {"page_faults", "Page faults"},
                                              {"context_switches", "Context switches"},
                                              {"input_output", "Input and output"},
                                              {"network_namespace", "Network (whole namespace)"},
                                              {"job_network", "Network (this job)"},
                                              {"pressure", "Pressure on the system"},
                                              {"gpu_totals", "All GPUs"}};
    enum gt_exactness known = gt_usage_exactness(usage, GT_SCOPE_COMBINED, GT_CPU_TIME);
    gt_report_text(gt_usage_section(usage, root, "cpu_time", "CPU time"), "known", "Known",
                   known == GT_MISSING ? NULL : gt_exactness_name(known));
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        gt_usage_section(usage, root, sections[i][0], sections[i][1]);
}

/* The columns of the table of GPUs that are figures. */
static const struct gpu_column {
    const char *key, *title, *unit;
    enum gt_metric_id metric;
    enum { LARGEST, MEAN, LAST } which;
    double factor; /* 0: one over the GPU RAM unit */
} gpu_columns[] = {
    {"max_ram", "Max RAM", NULL, GT_GPU_RAM, LARGEST, 0},
    {"max_utilization_percent", "Max", "%", GT_GPU_UTILIZATION, LARGEST, 100},
    {"mean_utilization_percent", "Mean", "%", GT_GPU_UTILIZATION, MEAN, 100},
    {"peak_utilization_percent", "Peak", "%", GT_GPU_UTILIZATION_PEAK, LARGEST, 100},
    {"mean_memory_utilization_percent", "Mean memory", "%", GT_GPU_MEMORY_UTILIZATION, MEAN, 100},
    {"max_encoder_percent", "Encoder", "%", GT_GPU_ENCODER, LARGEST, 100},
    {"max_decoder_percent", "Decoder", "%", GT_GPU_DECODER, LARGEST, 100},
    {"max_temperature", "Max temperature", "celsius", GT_GPU_TEMPERATURE, LARGEST, 1},
    {"max_power", "Max power", "watts", GT_GPU_POWER, LARGEST, 1},
    {"energy", "Energy", "joules", GT_GPU_ENERGY, LAST, 1},
    {"mean_clock", "Mean clock", "MHz", GT_GPU_CLOCK, MEAN, 1e-6},
    {"xid", "Last XID", NULL, GT_GPU_XID, LAST, 1},
    {"ecc_uncorrected", "ECC errors", NULL, GT_GPU_ECC_UNCORRECTED, LAST, 1},
    {"lost", "Lost", NULL, GT_GPU_LOST, LAST, 1},
};

enum { GPU_COLUMNS = sizeof gpu_columns / sizeof *gpu_columns };

static double gpu_value(const struct gt_usage *usage, size_t gpu, const struct gpu_column *column)
{
    bool is_energy = column->metric == GT_GPU_ENERGY;
    if (gpu >= usage->summary->gpu_count || (is_energy && gt_usage_energy_is_unknown(usage, GT_GPU_ENERGY)))
        return NAN;
    const struct gt_statistic *s = &usage->summary->gpu[gpu][column->metric];
    double value = column->which == LARGEST ? s->max : column->which == LAST ? s->last : s->sum / (double)s->count;
    return column->factor > 0 ? value * column->factor : value / usage->gpu_ram_unit;
}

static void add_gpus(const struct gt_usage *usage, struct gt_node *root)
{
    const struct gt_machine *machine = usage->machine;
    if (machine->gpu_length == 0)
        return;
    struct gt_table *table = gt_report_table(root, "gpus", "GPUs");
    gt_table_column(table, "uuid", "UUID", GT_CELL_TEXT, NULL);
    gt_table_column(table, "name", "Name", GT_CELL_TEXT, NULL);
    gt_table_column(table, "brand", "Brand", GT_CELL_TEXT, NULL);
    gt_table_column(table, "selected", "Tracked", GT_CELL_TEXT, NULL);
    gt_table_column(table, "ram_capacity", "RAM", GT_CELL_NUMBER, machine->gpu_ram_unit);
    for (int i = 0; i < GPU_COLUMNS; i++)
        gt_table_column(table, gpu_columns[i].key, gpu_columns[i].title, GT_CELL_NUMBER,
                        gpu_columns[i].factor > 0 ? gpu_columns[i].unit : machine->gpu_ram_unit);
    for (size_t i = 0; i < machine->gpu_length; i++) {
        const struct gt_gpu *gpu = &machine->gpu[i];
        GT_CELLS(table, gpu->uuid, gpu->name, gpu->brand, gpu->selected ? "yes" : "no",
                 gpu->memory / usage->gpu_ram_unit);
        for (int column = 0; column < GPU_COLUMNS; column++)
            gt_table_number(table, gpu_value(usage, i, &gpu_columns[column]));
    }
}

static void add_energy(const struct gt_usage *usage, struct gt_node *root)
{
    struct gt_energy_reading end;
    gt_usage_energy(usage, &end);
    gt_energy_section(root, &(struct gt_energy_figures){
                                .machine = usage->machine,
                                .outcome = usage->outcome,
                                .end = &end,
                                .seconds = usage->outcome->elapsed,
                                .reason = gt_usage_reason_missing(usage, GT_SCOPE_SYSTEM, GT_CPU_ENERGY),
                            });
}

static void add_start(const struct gt_usage *usage, struct gt_node *section)
{
    char text[32];
    time_t seconds = (time_t)(usage->machine->start_real_ns / 1000000000);
    struct tm utc;
    bool known = seconds > 0 && gmtime_r(&seconds, &utc) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    gt_report_text(section, "start", "Start", known ? text : NULL);
}

static void add_ending(struct gt_node *section, enum gt_ending ending)
{
    const char *key = "ended_by_signal", *title = "Ended by a signal";
    gt_node_flags(ending == GT_ENDING_UNKNOWN ? gt_report_text(section, key, title, NULL)
                                              : gt_report_bool(section, key, title, ending == GT_ENDED_BY_SIGNAL),
                  GT_ONLY_DATA);
}

static void add_run(const struct gt_usage *usage, struct gt_node *root)
{
    const struct gt_machine *machine = usage->machine;
    const struct gt_outcome *outcome = usage->outcome;
    struct gt_node *section = gt_report_section(root, "run", "Run");
    gt_report_text(section, "command", "Command", *machine->command ? machine->command : NULL);
    gt_report_count(section, "exit_status", "Exit status", outcome->exit_status < 0 ? NAN : outcome->exit_status, NULL);
    add_ending(section, outcome->ending);
    gt_report_text(section, "host", "Host", *machine->host ? machine->host : NULL);
    gt_report_count(section, "process_id", "Process ID", machine->pid > 0 ? machine->pid : NAN, NULL);
    add_start(usage, section);
    gt_report_bool(section, "complete", "Tracked to its end", outcome->complete);
}

static void add_tracker(const struct gt_usage *usage, struct gt_node *root)
{
    const struct gt_outcome *outcome = usage->outcome;
    struct gt_node *section = gt_report_section(root, "tracker", "Tracker");
    double period = usage->machine->period > 0 ? usage->machine->period : NAN;
    double share = outcome->own_cpu_time / outcome->elapsed * 100;
    gt_node_flags(section, GT_ONLY_DATA);
    gt_report_text(section, "version", "Version", gt_version());
    gt_report_number(section, "sleep_time", "Seconds between samples", period, "seconds");
    gt_report_integer(section, "samples", "Samples", (int64_t)outcome->samples, NULL);
    gt_report_integer(section, "missed", "Missed ticks", (int64_t)outcome->missed, NULL);
    gt_report_integer(section, "dropped", "Samples lost in recording", (int64_t)outcome->dropped, NULL);
    gt_report_number(section, "cpu_time", "CPU time", outcome->own_cpu_time, "seconds");
    gt_report_number(section, "core_percent", "Share of one core", isfinite(share) ? share : NAN, "%");
    gt_report_number(section, "slowest_sample", "Slowest sample", outcome->slowest_sample, "seconds");
}

/* ---- the ranks that were started below the tracker ---- */

static void add_rank_columns(const struct gt_usage *usage, struct gt_table *table)
{
    gt_table_column(table, "rank", "Rank", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "local_rank", "Local rank", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "launcher", "Numbered by", GT_CELL_TEXT, NULL);
    gt_table_column(table, "pid", "PID", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "processes", "Processes", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "ram_peak", "Peak RAM", GT_CELL_NUMBER, usage->machine->ram_unit);
    gt_table_column(table, "cpu_time", "CPU time", GT_CELL_NUMBER, "seconds");
    gt_table_column(table, "gpu_ram_peak", "Peak GPU RAM", GT_CELL_NUMBER, usage->machine->gpu_ram_unit);
    gt_table_column(table, "gpu_percent", "GPU utilization", GT_CELL_NUMBER, "%");
    gt_table_column(table, "energy", "Energy", GT_CELL_NUMBER, "joules");
    gt_table_column(table, "gpu_energy", "GPU energy", GT_CELL_NUMBER, "joules");
    gt_table_column(table, "gpus", "GPUs", GT_CELL_TEXT, NULL);
}

static void add_rank(const struct gt_usage *usage, struct gt_table *table, const struct gt_local_rank *rank)
{
    gt_table_integer(table, rank->rank);
    gt_integer_if(table, rank->local > 0, rank->local - 1);
    GT_CELLS(table, rank->launcher, rank->pid, rank->processes, rank->ram_peak / usage->ram_unit, rank->cpu_time,
             rank->gpu_ram_peak / usage->gpu_ram_unit, rank->gpu_utilization * 100, gt_local_rank_energy(rank),
             rank->energy[GT_ENERGY_GPU], *rank->gpus ? rank->gpus : NULL);
}

static void add_ranks(const struct gt_usage *usage, struct gt_node *root)
{
    const struct gt_outcome *outcome = usage->outcome;
    if (!outcome->rank_count)
        return;
    struct gt_table *table = gt_report_table(root, "ranks", "Ranks below the tracker");
    add_rank_columns(usage, table);
    for (size_t i = 0; i < outcome->rank_count; i++)
        add_rank(usage, table, &outcome->rank[i]);
}

/* ---- each process, for data in the order in which they began, for people as a tree ---- */

enum { UNASKED_IN_TEXT = 40 }; /* lines that a long report shows of them without --detail */

static void add_process_columns(const struct gt_usage *usage, struct gt_table *table)
{
    gt_table_column(table, "pid", "PID", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "parent", "Parent", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "name", "Name", GT_CELL_TEXT, NULL);
    gt_table_column(table, "begin", "Begin", GT_CELL_NUMBER, "seconds");
    gt_table_column(table, "end", "End", GT_CELL_NUMBER, "seconds");
    gt_table_column(table, "ram_peak", "Peak RAM", GT_CELL_NUMBER, usage->machine->ram_unit);
    gt_table_column(table, "cpu_time", "CPU time", GT_CELL_NUMBER, "seconds");
    gt_table_column(table, "command", "Command", GT_CELL_TEXT, NULL);
}

static void add_process(const struct gt_usage *usage, struct gt_table *table, const struct gt_process_record *record,
                        const char *branch)
{
    char name[GT_PROCESS_TREE_BRANCH_SIZE + GT_PROCESS_RECORD_NAME];
    snprintf(name, sizeof name, "%s%s", branch, *record->name ? record->name : "?");
    gt_table_integer(table, record->pid);
    gt_integer_if(table, record->parent, record->parent);
    GT_CELLS(table, *record->name || *branch ? name : NULL, record->begin, record->end,
             record->ram_peak / usage->ram_unit, record->cpu_time, *record->command ? record->command : NULL);
}

/* People see whose child each is. */
static int add_process_tree(const struct gt_usage *usage, struct gt_node *root, const struct gt_process_records *sorted)
{
    struct gt_process_tree_row *place;
    char branch[GT_PROCESS_TREE_BRANCH_SIZE];
    int status = gt_process_tree(&place, sorted);
    if (status < 0)
        return status;
    struct gt_table *table = gt_report_table(root, "process_tree", "Each process");
    bool is_long = !usage->outcome->has_detail && sorted->count > UNASKED_IN_TEXT;
    gt_table_flags(table, GT_ONLY_PEOPLE | (is_long ? GT_NOT_IN_TEXT : 0));
    add_process_columns(usage, table);
    for (size_t i = 0; i < sorted->count; i++) {
        gt_process_tree_branch(branch, &place[i]);
        add_process(usage, table, &sorted->record[place[i].record], branch);
    }
    free(place);
    return 0;
}

static int add_process_list(const struct gt_usage *usage, struct gt_node *root)
{
    struct gt_process_records sorted = {0};
    const struct gt_process_records *records = &usage->outcome->records;
    int status = 0;
    if (!records->count)
        return 0;
    for (size_t i = 0; !status && i < records->count; i++)
        status = gt_process_records_add(&sorted, &records->record[i]);
    gt_process_records_sort(&sorted);
    struct gt_table *table = gt_report_table(root, "process_list", "Each process");
    gt_table_flags(table, GT_ONLY_DATA);
    add_process_columns(usage, table);
    for (size_t i = 0; !status && i < sorted.count; i++)
        add_process(usage, table, &sorted.record[i], "");
    status = status < 0 ? status : add_process_tree(usage, root, &sorted);
    if (usage->outcome->processes_not_listed)
        gt_report_integer(root, "processes_not_listed", "Further processes",
                          (int64_t)usage->outcome->processes_not_listed, NULL);
    gt_process_records_release(&sorted);
    return status;
}

/* ---- the report ---- */

/* All that is behind the summary. */
static int add_all(const struct gt_usage *usage, struct gt_report *report)
{
    struct gt_node *root = &report->root;
    gt_over_time_add(&(struct gt_over_time){.course = &usage->summary->course,
                                            .machine = usage->machine,
                                            .memory_limit = gt_usage_given(usage, GT_LIMIT_GROUP_MEMORY),
                                            .memory_peak = gt_usage_peak(usage)},
                     &report->page);
    gt_process_lanes_add(usage, &report->page);
    add_max_ram(usage, root);
    add_max_gpu_ram(usage, root);
    add_cpu(usage, root);
    add_gpu(usage, root);
    add_compute_time(usage, root);
    add_processes(usage, root);
    add_memory_peak(usage, root);
    add_gpu_memory_peak(usage, root);
    add_kernel(usage, root);
    add_gpus(usage, root);
    add_energy(usage, root);
    add_run(usage, root);
    add_tracker(usage, root);
    add_ranks(usage, root);
    int status = add_process_list(usage, root);
    gt_usage_limits_section(usage, root);
    gt_usage_warnings_table(usage, root);
    gt_next_time_section(usage, root);
    gt_usage_provenance(usage, root);
    return status;
}

static int build(struct gt_report **ret, const struct gt_usage *sources, bool is_summary, struct gt_error *error)
{
    struct gt_usage usage = *sources;
    struct gt_report *report;
    int status = gt_unit_memory(usage.machine->ram_unit, &usage.ram_unit, error);
    if (!status)
        status = gt_unit_memory(usage.machine->gpu_ram_unit, &usage.gpu_ram_unit, error);
    if (!status)
        status = gt_unit_time(usage.machine->time_unit, &usage.time_unit, error);
    if (!status)
        status = gt_report_new(&report, "resource_usage", error);
    if (status < 0)
        return status;
    gt_usage_brief(&usage, &report->root);
    if (!is_summary)
        status = add_all(&usage, report);
    return gt_display_end(ret, report, status, "tracking report", error);
}

int gt_usage_report(struct gt_report **ret, const struct gt_usage *usage, struct gt_error *error)
{
    return build(ret, usage, false, error);
}

int gt_usage_summary(struct gt_report **ret, const struct gt_usage *usage, struct gt_error *error)
{
    return build(ret, usage, true, error);
}
